/**
 * Keeps the flow-control objects every cluster has: makes what is missing, sets right what nobody may change, follows
 * the server's own version where the owner lets it, and takes away what an older server left. At start, and once a minute.
 *
 * `upkept` is the whole decision, pure. Always true: an owner who says `false` in the annotation is left alone, but not
 * with the mandatory objects; who changes an object without saying anything keeps his change. Another server may be
 * faster: then there is nothing left to do until the next time.
 */
import type { Clock, JsonObject, JsonValue, KubeObject } from '../../../api/index.ts';
import { cloneJson, jsonEqual } from '../../codec/index.ts';
import { strategyOf } from '../../kinds/strategy-of.ts';
import { type BootstrapObject, bootstrapObjects, FLOW_AUTO_UPDATE } from '../../rbac/bootstrap-objects.ts';
import type { Rest } from '../../rest/rest.ts';
import { createAsServer } from '../../rest/writing/create-as-server.ts';
import { prepareUpdate } from '../../rest/writing/prepare.ts';
import type { Cacher } from '../../storage/cacher/cacher.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import { FLOW_CONTROL_GROUP } from '../configuration/flow-objects.ts';
import { CATCH_ALL, EXEMPT } from '../configuration/mandatory.ts';

export const FLOW_PRODUCER = 'api-priority-and-fairness-config-producer-v1';
const UPKEEP_MS = 60_000;

/** What is to be stored instead; undefined: it is as it should be. Both specs have their defaults. */
export function upkept(stored: KubeObject, wanted: KubeObject): KubeObject | undefined {
  const { annotations = {}, generation = 0, name = '' } = stored.metadata;
  const isMandatory = name === EXEMPT || name === CATCH_ALL;
  const said = parseBool(annotations[FLOW_AUTO_UPDATE]);
  const isOurs = isMandatory || (said ?? generation === 1);
  const spec = wantedSpec(stored, wanted);
  const isSame = !isOurs || jsonEqual(stored.spec as JsonValue, spec as JsonValue);
  if (isSame && said === isOurs) return undefined;
  const marked = said === isOurs ? annotations : { ...annotations, [FLOW_AUTO_UPDATE]: String(isOurs) };
  return { ...stored, metadata: { ...stored.metadata, annotations: marked }, ...(!isSame && { spec }) };
}

/** Left by a server that had an object of this name, and by nobody else. */
export function isLeftOver({ metadata }: KubeObject, names: ReadonlySet<string>): boolean {
  return !names.has(metadata.name ?? '') && parseBool(metadata.annotations?.[FLOW_AUTO_UPDATE]) === true;
}

export class FlowUpkeep {
  readonly #rest: Rest;
  readonly #log: (message: string) => void;
  readonly #afterwards: () => Promise<void>;
  readonly #wanted: readonly BootstrapObject[];
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  /** `afterwards`: what else is looked at once a minute. */
  constructor(rest: Rest, log: (message: string) => void, afterwards: () => Promise<void>) {
    this.#rest = rest;
    this.#log = log;
    this.#afterwards = afterwards;
    this.#wanted = bootstrapObjects()
      .filter(({ group }) => group === FLOW_CONTROL_GROUP)
      .map(cloneJson);
    for (const { plural, object } of this.#wanted)
      strategyOf(rest.storages.storageOf(FLOW_CONTROL_GROUP, plural).resource).setDefaults?.(object);
  }

  /** Once a minute, until it is closed. */
  start(clock: Clock): void {
    this.#running ??= this.#run(clock);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Everything as it should be, once. */
  async keep(): Promise<void> {
    const names = new Map<string, Set<string>>();
    for (const { plural, object } of this.#wanted) {
      const ofKind = names.get(plural) ?? new Set();
      names.set(plural, ofKind.add(object.metadata.name!));
    }
    await Promise.all(this.#wanted.map(({ plural, object }) => this.#keepOne(this.#storage(plural), object)));
    for (const [plural, known] of names) {
      const storage = this.#storage(plural);
      for (const cached of storage.objects.objects.values())
        if (isLeftOver(storage.toObject(cached), known)) await storage.delete(cached);
    }
  }

  async #run(clock: Clock): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await clock.sleep(UPKEEP_MS, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        await this.keep();
        await this.#afterwards();
      } catch (err) {
        this.#log(`cannot keep the objects of flow control: ${(err as Error).message}`);
      }
    }
  }

  async #keepOne(storage: ResourceStorage, wanted: KubeObject): Promise<void> {
    const cached = storage.objects.peek('', wanted.metadata.name!);
    if (!cached) {
      await createAsServer(this.#rest, storage, cloneJson(wanted), FLOW_PRODUCER);
      return;
    }
    const stored = storage.toObject(cached);
    const better = upkept(stored, wanted);
    if (!better) return;
    const context = this.#rest.ownContext('');
    await storage.update(cached, await prepareUpdate(storage, stored, better, { manager: FLOW_PRODUCER }, context));
  }

  #storage(plural: string): ResourceStorage<Cacher> {
    return this.#rest.storages.followedStorageOf(FLOW_CONTROL_GROUP, plural);
  }
}

/** How many seats exempt requests count for, and may be lent, is the administrator's to say. */
function wantedSpec(stored: KubeObject, wanted: KubeObject): JsonObject {
  const spec = cloneJson(wanted.spec as JsonObject);
  const own = (stored.spec as JsonObject | undefined)?.exempt;
  return spec.type === 'Exempt' && own !== undefined ? { ...spec, exempt: own } : spec;
}

/** As Go reads it. */
function parseBool(text: string | undefined): boolean | undefined {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text ?? '')) return true;
  return ['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text ?? '') ? false : undefined;
}
