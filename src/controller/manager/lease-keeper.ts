/**
 * The election of a manager: an elector over a real Lease, and a watch that tells it of every change to it.
 *
 * The watch makes hand-over quick: a lease that is given away is claimed at once instead of at the next look. Nothing
 * rests on it; where the process may not watch leases, the elector looks by itself every few seconds.
 */
import type { Clock } from '../../api/index.ts';
import { coordinationv1, type KubeClient } from '../../client/index.ts';
import { LeaderElector } from '../election/leader-elector.ts';
import type { Lease, LeaseClient } from '../election/lease.ts';
import type { ElectionOptions } from './manager-options.ts';

export type KeptLease = AsyncDisposable & { readonly elector: LeaderElector };

type Surroundings = {
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
  /** The election is over, by a bug. */
  readonly onFailure: (error: unknown) => void;
};

/** Campaigns at once. Disposing gives the lease away. */
export function keepLease(client: KubeClient, election: ElectionOptions, surroundings: Surroundings): KeptLease {
  const { clock, onError, onFailure } = surroundings;
  const { name, namespace = client.namespace, ...options } = election;
  const lease = { name, namespace };
  const elector = new LeaderElector({
    ...options,
    leases: leaseClient(client, lease),
    lease,
    clock,
    onError,
    onFailure,
  });
  const fieldSelector = { 'metadata.name': name };
  const watch = client.informer(coordinationv1.leases, { namespace, fieldSelector, onError });
  const subscription = watch.subscribe(() => elector.poke());
  return {
    elector,
    async [Symbol.asyncDispose]() {
      try {
        await elector.stop();
      } finally {
        await subscription[Symbol.asyncDispose]();
        await watch[Symbol.asyncDispose]();
      }
    },
  };
}

/** The calls of an election; what they throw carries the HTTP status as `code`. */
function leaseClient(client: KubeClient, { name, namespace }: { name: string; namespace: string }): LeaseClient {
  const resource = client.resource(coordinationv1.leases, namespace);
  const isUrgent = true; // a renewal that waits behind other requests comes too late
  // Two descriptions of one object: the client's tells what is read, the election's what may be written.
  const asOurs = (lease: unknown) => lease as Lease;
  const asTheirs = (lease: Lease) => lease as Parameters<typeof resource.update>[0];
  return {
    getLease: async (signal) => asOurs(await resource.get(name, { signal, isUrgent })),
    createLease: async (lease, signal) => asOurs(await resource.create(asTheirs(lease), { signal, isUrgent })),
    updateLease: async (lease, signal) => asOurs(await resource.update(asTheirs(lease), { signal, isUrgent })),
  };
}
