/**
 * Pods that come and go: controllers delete the oldest and create another, the scheduler binds it to a node, and if it is behind a
 * Service its slice is written twice. What nodes do about it is in hollow-node.ts.
 */

import {
  CHURN_PER_POD_SECOND,
  type ClusterShape,
  SERVED_SHARE,
  servicesOf,
  WARM_UP_SECONDS,
} from '../../lib/cluster-shape.ts';
import { newPod, nodeName, podName } from '../load/server-data.ts';
import type { ClusterConnection } from './cluster-connection.ts';
import { sentMark } from './cluster-connection.ts';
import * as objects from './hollow-objects.ts';
import type { Tally } from './tally.ts';

const { paths } = objects;
const [WORKLOADS, SCHEDULER, ENDPOINTS] = [1, 2, 3] as const;

export class PodChurn {
  readonly #controllers: readonly ClusterConnection[];
  readonly #shape: ClusterShape;
  readonly #tally: Tally;

  constructor(controllers: readonly ClusterConnection[], shape: ClusterShape, tally: Tally) {
    this.#controllers = controllers;
    this.#shape = shape;
    this.#tally = tally;
  }

  /** One after the other, after those of the load; a few at a time. */
  async lives(count: number, atOnce: number): Promise<void> {
    const { seconds, pods } = this.#shape;
    let next = Math.ceil((WARM_UP_SECONDS + seconds) * CHURN_PER_POD_SECOND * pods);
    const end = next + count;
    const lane = async () => {
      while (next < end) await this.#replace(next++);
    };
    await Promise.all(Array.from({ length: atOnce }, lane));
  }

  async slice(i: number): Promise<void> {
    await this.#writeSlice(i % servicesOf(this.#shape), i);
  }

  begin(): void {
    const { pods, seconds } = this.#shape;
    const perSecond = CHURN_PER_POD_SECOND * pods;
    const total = Math.floor((WARM_UP_SECONDS + seconds) * perSecond);
    for (let i = 0; i < total; i++)
      setTimeout(() => this.#tally.isPlaying && void this.#change(i), ((i + Math.random()) / perSecond) * 1000);
  }

  async #change(i: number): Promise<void> {
    const isServed = i % Math.round(1 / SERVED_SHARE) === 0;
    const service = i % servicesOf(this.#shape);
    await this.#replace(i, isServed ? () => this.#writeSlice(service, 2 * i + 1) : undefined);
    if (isServed) await this.#writeSlice(service, 2 * i + 2);
  }

  /** The oldest goes, another one comes. */
  async #replace(i: number, between?: () => Promise<void>): Promise<void> {
    const { nodes, pods } = this.#shape;
    const tally = this.#tally;
    const ask = (who: number, method: string, path: string, body?: object) =>
      tally.timed(tally.podWrites, () => this.#controllers[who]!.request(method, path, body));
    await ask(WORKLOADS, 'DELETE', `${paths.pods}/${podName(i % pods)}`);
    await between?.();
    const name = podName(pods + i);
    if (await ask(WORKLOADS, 'POST', paths.pods, unboundPod(name)))
      await ask(SCHEDULER, 'POST', `${paths.pods}/${name}/binding`, objects.binding(name, nodeName(i % nodes)));
  }

  async #writeSlice(i: number, turn: number): Promise<void> {
    const path = `${paths.slices}/${objects.serviceName(i)}`;
    await this.#tally.timed(this.#tally.sliceWrites, () =>
      this.#controllers[ENDPOINTS]!.request('PUT', path, objects.slice(i, turn)),
    );
  }
}

function unboundPod(name: string): object {
  const { spec, metadata, ...pod } = JSON.parse(newPod(name).toString());
  const { nodeName: _, ...unbound } = spec;
  return { ...pod, metadata: { ...metadata, annotations: { ...metadata.annotations, ...sentMark() } }, spec: unbound };
}
