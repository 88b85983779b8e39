/**
 * An informer's side of its checkpoint: what goes into the file, and how the store begins with what is in it.
 *
 * The code for files is loaded when it is opened, and `node:zlib` and `node:crypto` with it: most informers have no
 * checkpoint, and an import of the client is to be cheap. A selection that cannot be written as text throws at once all
 * the same.
 */
import { untilAborted, wallNow } from '../../api/index.ts';
import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import type { CheckpointOptions } from '../checkpoint/checkpoint-options.ts';
import type { Resource } from '../objects/define-resource.ts';
import type { AnyObject } from '../objects/objects.ts';
import type { CheckpointMetrics } from '../observing/informer-metrics.ts';
import { historyIn, historyText } from '../reflector/server-history.ts';
import { fieldSelectorText, labelSelectorText } from '../resources/selectors.ts';
import { Slices } from '../slices.ts';
import type { Transport } from '../transport/transport.ts';
import type { Listeners } from './handling/listeners.ts';
import type { InformerOptions } from './informer-options.ts';
import type { InformerStore } from './informer-store.ts';
import type { Source } from './source.ts';
import type { TransformStep } from './transform-step.ts';

type InformerCheckpointContext<T extends AnyObject> = {
  readonly transport: Transport;
  readonly resource: Resource<T>;
  readonly options: Pick<InformerOptions<T>, 'labelSelector' | 'fieldSelector' | 'shardSelector' | 'transform'>;
  readonly sources: readonly Source<T>[];
  readonly store: InformerStore<T>;
  readonly transformStep: TransformStep<T>;
  readonly listeners: Listeners<T>;
  /** Since the server was last heard. */
  readonly lagMs: () => number | undefined;
  readonly report: (error: unknown) => void;
};

const UNOPENED: CheckpointMetrics = {
  bytes: 0,
  restored: 0,
  commits: 0,
  rewrites: 0,
  failures: 0,
  savedAt: undefined,
};

export class InformerCheckpoint<T extends AnyObject> {
  readonly #options: CheckpointOptions;
  readonly #context: InformerCheckpointContext<T>;
  readonly #selection: { readonly labelSelector: string | undefined; readonly fieldSelector: string | undefined };
  /** Undefined until it is opened. */
  #checkpoint: Checkpoint<T> | undefined;

  constructor(given: string | CheckpointOptions, context: InformerCheckpointContext<T>) {
    this.#options = typeof given === 'string' ? { file: given } : given;
    this.#context = context;
    if (context.options.transform && this.#options.transformId === undefined)
      throw new TypeError(
        `Cannot keep a checkpoint of ${context.resource.plural}: it has a transform, and no transformId that says which`,
      );
    const { labelSelector, fieldSelector } = context.options;
    this.#selection = {
      labelSelector: labelSelectorText(labelSelector),
      fieldSelector: fieldSelectorText(fieldSelector),
    };
  }

  get metrics(): CheckpointMetrics {
    return this.#checkpoint?.metrics ?? UNOPENED;
  }

  /** Begins with what it has. After it the sources may run. */
  async restore(signal: AbortSignal): Promise<void> {
    const { transport, sources, transformStep } = this.#context;
    const checkpoint = await this.#load();
    signal.throwIfAborted();
    this.#checkpoint = checkpoint;
    const saved = await checkpoint.open(signal);
    if (!saved || signal.aborted) return;
    const lastContact = transport.clock.now() - Math.max(0, wallNow() - saved.at);
    const slices = new Slices();
    for (const object of saved.objects.values()) {
      if (slices.isOver) await slices.pause();
      transformStep.freeze(object);
    }
    for (const source of sources) {
      const version = saved.versions[source.scope];
      const history = historyIn(saved.histories?.[source.scope]);
      if (version !== undefined) await source.restore(saved.objects, version, lastContact, history);
    }
    // Reads are answered meanwhile. Versions of another cluster mean nothing: then the whole state is fetched.
    if (!(await checkpoint.isOfThisCluster(signal))) for (const { reflector } of sources) reflector.forget();
  }

  /** What is in the store under a key from now on; undefined is nothing. */
  note(key: string, object: T | undefined): void {
    this.#checkpoint?.note(key, object);
  }

  /** The next moment that is written is the whole store. */
  noteAll(): void {
    this.#checkpoint?.noteAll();
  }

  /** Once the store is synced, and so after `restore`: resolves when the state of this moment is written. */
  async saved(signal: AbortSignal | undefined): Promise<void> {
    await untilAborted(this.#checkpoint!.saved(), signal);
  }

  /** Writes what gathers, until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#checkpoint?.run(signal);
  }

  /** After `run` has ended and the watches have stopped: writes the last state, if handlers are through with it. */
  async close(isHandled: boolean): Promise<void> {
    await this.#checkpoint?.close(isHandled);
  }

  async #load(): Promise<Checkpoint<T>> {
    const { transport, resource, options, sources, store, listeners, lagMs, report } = this.#context;
    const [{ Checkpoint }, { clusterIdOf, headerOf }] = await Promise.all([
      import('../checkpoint/checkpoint.ts'),
      import('../checkpoint/checkpoint-header.ts'),
    ]);
    const { shardSelector, transform } = options;
    const scopes = sources.map(({ scope }) => scope);
    const selected = { resource, scopes, ...this.#selection, shardSelector, transform };
    return new Checkpoint<T>(this.#options, {
      clock: transport.clock,
      header: headerOf(transport.access.server, selected, this.#options),
      clusterId: () => clusterIdOf(transport),
      snapshot: () => store.snapshot(),
      commit: () => {
        const known = sources.filter(({ version }) => version !== undefined);
        const versions = Object.fromEntries(known.map(({ scope, version }) => [scope, version!]));
        const histories = Object.fromEntries(
          known.flatMap(({ scope, reflector: { history } }) => (history ? [[scope, historyText(history)]] : [])),
        );
        return { at: wallNow() - (lagMs() ?? 0), versions, histories };
      },
      handled: (signal) => listeners.handled(signal),
      report,
    });
  }
}
