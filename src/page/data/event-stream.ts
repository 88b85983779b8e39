/**
 * Follows one kind as any client would: the state, then every change, with what each changed.
 *
 * It holds the objects it has seen, `MAX_OBJECTS` at most, to tell what differs; of more it tells only that they changed. Of events it
 * keeps the last `MAX_EVENTS`. A 410 is shown like an event, and the state is read anew.
 */
import { diffObjects, showChange } from '../../api/object-diff.ts';
import { ReadError, readJson, readLines } from './reading.ts';

const MAX_OBJECTS = 5000;
const MAX_EVENTS = 500;
const PAGE = 500;
const RETRY_MS = 2000;

type KubeObject = {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly resourceVersion?: string;
    readonly managedFields?: readonly { readonly manager?: string; readonly time?: string }[];
  };
};
type List = {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: KubeObject[];
};
type Line = {
  readonly type: string;
  readonly object: KubeObject & { readonly code?: number; readonly message?: string };
};

export type StreamEvent = {
  readonly id: number;
  readonly type: string;
  readonly at: Date;
  readonly key: string;
  readonly version: string;
  readonly manager: string;
  readonly changes: readonly string[];
};

export class EventStream {
  events: readonly StreamEvent[] = [];
  problem = '';
  objects = 0;
  readonly #path: string;
  readonly #selectors: string;
  readonly #onChange: () => void;
  readonly #known = new Map<string, KubeObject>();
  #made = 0;

  constructor(path: string, selectors: string, onChange: () => void) {
    this.#path = path;
    this.#selectors = selectors;
    this.#onChange = onChange;
  }

  async run(signal: AbortSignal): Promise<void> {
    let version: string | undefined;
    while (!signal.aborted) {
      try {
        version ??= await this.#readState(signal);
        this.problem = '';
        this.#onChange();
        version = await this.#follow(version, signal);
      } catch (err) {
        if (signal.aborted) return;
        const isGone = err instanceof ReadError && err.code === 410;
        if (isGone) {
          version = undefined;
          this.#add({ type: '410', key: 'the stream', version: '', manager: '', changes: [err.message] });
        } else {
          this.problem = (err as Error).message;
          this.#onChange();
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        }
      }
    }
  }

  async #readState(signal: AbortSignal): Promise<string> {
    this.#known.clear();
    let next = '';
    for (;;) {
      const list: List = await readJson<List>(`${this.#path}?limit=${PAGE}${this.#selectors}${next}`, { signal });
      for (const item of list.items) this.#remember(item);
      const { resourceVersion } = list.metadata;
      if (!list.metadata.continue || this.#known.size >= MAX_OBJECTS) return resourceVersion;
      next = `&continue=${encodeURIComponent(list.metadata.continue)}`;
    }
  }

  /** Until the stream ends; where to go on. */
  async #follow(from: string, signal: AbortSignal): Promise<string> {
    let version = from;
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${version}${this.#selectors}`;
    for await (const { type, object } of readLines<Line>(`${this.#path}?${query}`, { signal })) {
      if (type === 'ERROR') throw new ReadError(object.code ?? 0, object.message ?? 'the stream has failed');
      version = object.metadata.resourceVersion ?? version;
      if (type !== 'BOOKMARK') this.#note(type, object);
    }
    return version;
  }

  #note(type: string, object: KubeObject): void {
    const key = keyOf(object);
    const before = this.#known.get(key);
    const changes = type === 'MODIFIED' && before ? diffObjects(before, object).map(showChange) : [];
    if (type === 'DELETED') this.#known.delete(key);
    else this.#remember(object);
    this.objects = this.#known.size;
    const version = object.metadata.resourceVersion ?? '';
    this.#add({ type, key, version, manager: latestManager(object), changes });
  }

  #remember(object: KubeObject): void {
    const key = keyOf(object);
    if (this.#known.size < MAX_OBJECTS || this.#known.has(key)) this.#known.set(key, object);
    this.objects = this.#known.size;
  }

  #add(event: Omit<StreamEvent, 'id' | 'at'>): void {
    this.events = [{ ...event, id: this.#made++, at: new Date() }, ...this.events].slice(0, MAX_EVENTS);
    this.#onChange();
  }
}

function keyOf({ metadata: { namespace, name } }: KubeObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function latestManager({ metadata: { managedFields = [] } }: KubeObject): string {
  const [latest] = [...managedFields].sort((a, b) => ((a.time ?? '') < (b.time ?? '') ? 1 : -1));
  return latest?.manager ?? '';
}
