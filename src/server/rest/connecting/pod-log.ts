/**
 * `pods/log`: what a container has written. Nothing runs behind this server, so there is one line at most, of the moment
 * when a container on a pretended node "began", that says so. A Pod that has no node yet has written nothing: 204.
 *
 * What a kubelet refuses is refused here in its words: a container that waits to start, one before it that never was. The
 * log ends at once, also for those who follow it: there is nothing to wait for.
 */
import { badRequest, notFound, quote, wallNow } from '../../../api/index.ts';
import { negotiate } from '../../encodings/negotiation.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import type { Rest } from '../rest.ts';
import { mustRead, type Place } from '../writing/write.ts';
import { chooseContainer, mustBePretended, type PodObject } from './pod-location.ts';
import { type LogOptions, readLogOptions } from './pod-options.ts';

type ContainerState = {
  readonly waiting?: { readonly reason?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: { readonly startedAt?: string };
};
type ContainerStatus = { readonly name?: string; readonly state?: ContainerState };
type StatusOfPod = {
  readonly startTime?: string;
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly ephemeralContainerStatuses?: readonly ContainerStatus[];
};

const TEXT = 'text/plain';
const NOTHING = Buffer.alloc(0);

export async function handleLog(
  rest: Rest,
  context: RequestContext,
  storage: ResourceStorage,
  place: Place,
): Promise<void> {
  negotiate(context.headers, storage.resource);
  const options = readLogOptions(context.query, place.name, wallNow());
  const pod = storage.toObject(await mustRead(storage, place)) as PodObject;
  const container = chooseContainer(pod, options.container);
  const { nodeName } = pod.spec ?? {};
  if (!nodeName) return context.send(204, '', NOTHING);
  await mustBePretended(rest, nodeName);
  if (options.previous)
    throw badRequest(`previous terminated container ${quote(container)} in pod ${quote(place.name)} not found`);
  const startedAt = startOf(pod, container);
  context.send(200, TEXT, Buffer.from(shownLines(startedAt, nodeName, options)));
}

/** A container that a pretended kubelet says nothing of (an init container) began with its Pod. */
function startOf({ metadata, status }: PodObject, container: string): string {
  const { name = '' } = metadata;
  const { startTime, ...lists } = (status ?? {}) as StatusOfPod;
  const all = [lists.containerStatuses, lists.initContainerStatuses, lists.ephemeralContainerStatuses].flat();
  const { waiting, running, terminated } = all.find((one) => one?.name === container)?.state ?? {};
  if (waiting) {
    const reason = WAITING[waiting.reason ?? ''] ?? waiting.reason ?? '';
    throw badRequest(`container ${quote(container)} in pod ${quote(name)} is waiting to start: ${reason}`);
  }
  const startedAt = running?.startedAt ?? terminated?.startedAt ?? startTime;
  if (!startedAt) throw notFound({ group: '', plural: 'pods/log' }, name);
  return startedAt;
}

/** What a kubelet calls the reasons why an image is not there. */
const WAITING: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
  InvalidImageName: 'image name is not valid',
};

function shownLines(startedAt: string, nodeName: string, options: LogOptions): string {
  const { sinceMs, tailLines, limitBytes, timestamps } = options;
  if (tailLines === 0 || (sinceMs !== undefined && Date.parse(startedAt) < sinceMs)) return '';
  const line = `Nothing runs here: node ${quote(nodeName)} is only pretended, and its containers write no logs.\n`;
  return `${timestamps ? `${startedAt} ` : ''}${line}`.slice(0, limitBytes);
}
