/**
 * A node without containers: a kubelet that watches its own pods, its Node, what its pods mount and the Services, renews its Lease,
 * writes its status, and takes on and lets go of pods; and beside it a proxy that watches Services and their endpoints.
 */

import { LEASE_SECONDS, NODE_STATUS_SECONDS } from '../../lib/cluster-shape.ts';
import type { Endpoint } from '../load/server-client.ts';
import { nodeName, versionIn } from '../load/server-data.ts';
import { ClusterConnection } from './cluster-connection.ts';
import * as objects from './hollow-objects.ts';
import type { Tally } from './tally.ts';

const { paths } = objects;
const MERGE = 'application/strategic-merge-patch+json';

export class HollowNode {
  readonly #i: number;
  readonly #kubelet: ClusterConnection;
  readonly #tally: Tally;
  #leaseVersion: string | undefined;
  /** Pods it is letting go of: more may happen to one until it is gone. */
  readonly #going = new Set<string>();

  private constructor(i: number, kubelet: ClusterConnection, tally: Tally) {
    this.#i = i;
    this.#kubelet = kubelet;
    this.#tally = tally;
  }

  /** `from`: a watch of that path from now on. */
  static async open(
    endpoint: Endpoint,
    i: number,
    from: (path: string) => string,
    tally: Tally,
    isListening: boolean,
  ): Promise<HollowNode> {
    const name = nodeName(i);
    const kubelet = await ClusterConnection.open(endpoint, { user: `system:node:${name}`, groups: ['system:nodes'] });
    const proxy = await ClusterConnection.open(endpoint, {
      user: 'system:kube-proxy',
      groups: ['system:authenticated'],
    });
    const node = new HollowNode(i, kubelet, tally);
    const named = (path: string, one: string) => `${from(path)}&fieldSelector=metadata.name%3D${one}`;
    const watch = async (connection: ClusterConnection, path: string, ears = tally.ears()) => {
      await connection.watch(path, ears);
      tally.openWatches++;
    };
    const onObject = (event: string) => void node.#see(event);
    await watch(
      kubelet,
      `${from(paths.pods)}&fieldSelector=spec.nodeName%3D${name}`,
      tally.ears({ isListening: true, onObject }),
    );
    await watch(kubelet, named(paths.nodes, name));
    await watch(kubelet, named(paths.configMaps, objects.configName(i)));
    await watch(kubelet, named(paths.secrets, objects.configName(i)));
    await watch(kubelet, from(paths.services));
    await watch(proxy, from(paths.services));
    await watch(proxy, from(paths.slices), tally.ears({ isListening }));
    return node;
  }

  /** Each at its own time: nodes did not start together. */
  begin(): void {
    this.#every(LEASE_SECONDS, () => this.renew());
    this.#every(NODE_STATUS_SECONDS, () => this.#writeStatus());
  }

  #every(everySeconds: number, work: () => Promise<void>): void {
    const again = async () => {
      if (!this.#tally.isPlaying) return;
      setTimeout(again, everySeconds * 1000).unref();
      await work();
    };
    setTimeout(again, Math.random() * everySeconds * 1000).unref();
  }

  async renew(): Promise<void> {
    const path = `${paths.leases}/${nodeName(this.#i)}`;
    this.#leaseVersion ??= await this.#versionOf(path);
    const body = await this.#tally.timed(this.#tally.leases, () =>
      this.#kubelet.request('PUT', path, objects.lease(this.#i, this.#leaseVersion)),
    );
    this.#leaseVersion = body && String(versionIn(Buffer.from(body)));
  }

  async #versionOf(path: string): Promise<string | undefined> {
    const body = await this.#tally.timed(this.#tally.reads, () => this.#kubelet.request('GET', path));
    return body && String(versionIn(Buffer.from(body)));
  }

  async #writeStatus(): Promise<void> {
    const path = `${paths.nodes}/${nodeName(this.#i)}/status`;
    await this.#tally.timed(this.#tally.otherWrites, () =>
      this.#kubelet.request('PATCH', path, { status: objects.nodeStatus() }, MERGE),
    );
  }

  /** Takes on a pod that was bound to it, lets go of one that is to go. */
  async #see(event: string): Promise<void> {
    const { type, object } = JSON.parse(event) as PodEvent;
    if (type === 'BOOKMARK' || type === 'DELETED' || !this.#tally.isRunning) return;
    const { name, deletionTimestamp } = object.metadata;
    const path = `${paths.pods}/${name}`;
    const { podWrites, reads } = this.#tally;
    if (deletionTimestamp) {
      if (type !== 'MODIFIED' || this.#going.has(name)) return;
      this.#going.add(name);
      await this.#tally.timed(podWrites, () =>
        this.#kubelet.request('DELETE', path, { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 }),
      );
    } else if (type === 'ADDED') {
      await this.#tally.timed(reads, () => this.#kubelet.request('GET', path));
      const status = objects.runningStatus;
      await this.#tally.timed(podWrites, () => this.#kubelet.request('PATCH', `${path}/status`, status(), MERGE));
    }
  }
}

type PodEvent = {
  readonly type: string;
  readonly object: { readonly metadata: { readonly name: string; readonly deletionTimestamp?: string } };
};
