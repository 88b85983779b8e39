/**
 * Tells in the status of a FlowSchema whether its priority level exists: the condition `Dangling`.
 *
 * Always true: written only where it says something else than it should, and at most six times a minute for one schema;
 * what is left then is written with the next look, which comes at least once a minute. Others' parts of the status stay.
 */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import { applySteps } from '../../managed-fields/index.ts';
import { nowInSeconds, type Rest } from '../../rest/rest.ts';
import { ignoredFields, prepareUpdate } from '../../rest/writing/prepare.ts';
import type { StoredObject } from '../../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import { FLOW_CONTROL_GROUP } from '../configuration/flow-objects.ts';

export type DanglingCondition = { type: string; status: string; reason: string; message: string };

const CONSUMER = 'api-priority-and-fairness-config-consumer-v1';
const WRITES_PER_MINUTE = 6;
const MINUTE_MS = 60_000;

export function danglingCondition(levelName: string, isThere: boolean): DanglingCondition {
  const about = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(levelName)}`;
  return isThere
    ? { type: 'Dangling', status: 'False', reason: 'Found', message: `${about} and it exists` }
    : { type: 'Dangling', status: 'True', reason: 'NotFound', message: `${about} but there is no such object` };
}

/** Whether the schema says so already. */
export function saysSo(schema: KubeObject, { type, status, reason, message }: DanglingCondition): boolean {
  const { conditions } = (schema.status ?? {}) as { conditions?: readonly DanglingCondition[] };
  const said = conditions?.find((condition) => condition.type === type);
  return said?.status === status && said.reason === reason && said.message === message;
}

export class DanglingStatus {
  readonly #rest: Rest;
  readonly #writtenAt = new Map<string, number[]>();

  constructor(rest: Rest) {
    this.#rest = rest;
  }

  /** False: not now, it was written too often. Lost to another server, it wanted the same. */
  async write(cached: StoredObject, condition: DanglingCondition): Promise<boolean> {
    const now = performance.now();
    const recent = (this.#writtenAt.get(cached.name) ?? []).filter((at) => now - at < MINUTE_MS);
    if (recent.length >= WRITES_PER_MINUTE) return false;
    this.#writtenAt.set(cached.name, [...recent, now]);
    const storage = this.#rest.storages.storageOf(FLOW_CONTROL_GROUP, 'flowschemas');
    const stored = storage.toObject(cached);
    const object = await applied(storage, stored, condition);
    const context = this.#rest.ownContext('status');
    const prepared = await prepareUpdate(storage, stored, object, { manager: CONSUMER, isTracked: true }, context);
    await storage.update(cached, prepared);
    return true;
  }

  forget(name: string): void {
    this.#writtenAt.delete(name);
  }
}

async function applied(
  storage: ResourceStorage,
  stored: KubeObject,
  condition: DanglingCondition,
): Promise<KubeObject> {
  const { schema, groupVersion, kind } = storage.resource;
  const now = nowInSeconds();
  const body: JsonObject = {
    apiVersion: groupVersion,
    kind,
    metadata: { name: stored.metadata.name! },
    status: { conditions: [{ ...condition, lastTransitionTime: now }] },
  };
  const steps = applySteps({
    body,
    schema,
    manager: CONSUMER,
    apiVersion: groupVersion,
    subresource: 'status',
    force: true,
    now,
    ignored: ignoredFields(storage, 'status'),
    live: stored as unknown as JsonObject,
  });
  const object = (await new WorkSlices().run(steps)) as unknown as KubeObject;
  object.metadata.resourceVersion = stored.metadata.resourceVersion!;
  return object;
}
