/** What an object history looks like, for discovery and `kubectl explain`. */
import { anything, count, flag, group, groups, type LiveKind, text, texts, time } from '../live-kind.ts';

export const historyKind: LiveKind = {
  kind: 'ObjectHistory',
  plural: 'objecthistories',
  shortName: 'oh',
  isNamespaced: true,
  verbs: ['get'],
  description:
    'The kept revisions of one object. Its name is RESOURCE:NAME, as in deployments.apps:web; the right to get the object itself is needed too. ' +
    'Of the URL: ?limit=N, ?revision=R for the object as it was, ?diff=A,B for what differs between two revisions.',
  fields: {
    spec: group('Whose history it is.', {
      group: text('The API group; empty for the core group.'),
      version: text('The API version in which objects are shown.'),
      resource: text('The resource, in its plural.'),
      kind: text('The kind.'),
      namespace: text('The namespace; absent: the object has none.'),
      name: text('The name.'),
    }),
    status: group('What is kept of it.', {
      exists: flag('Whether it is there now.'),
      currentRevision: count('The revision of the store.'),
      compactedRevision: count('The oldest revision that can be read; absent: all can.'),
      isComplete: flag('Whether the oldest of the revisions is its creation.'),
      revisions: groups('The newest first.', {
        revision: count('The revision of the store that made it.'),
        change: text('Created, Updated, Deleted; Kept: the oldest that is left, what it changed is not known.'),
        time: time('When it was; absent where nobody knows.'),
        manager: text('The field manager that wrote it.'),
        operation: text('Apply or Update.'),
        subresource: text('The subresource it was written through.'),
        user: text('Who wrote it, if through this server and lately.'),
        changed: texts('Paths of the fields that differ from the revision before; at most 50.'),
        changedCount: count('How many fields differ.'),
        bytes: count('How large the object was.'),
      }),
    }),
    diff: group('What differs between two revisions; only if asked for.', {
      from: count('The first of them.'),
      to: count('The second.'),
      changes: groups('The fields that differ; at most 1000.', {
        path: text('Where.'),
        from: anything('The value at the first; absent: there was none.'),
        to: anything('The value at the second; absent: there was none.'),
      }),
      isTruncated: flag('Whether there are more.'),
    }),
    object: { type: 'object', ...anything('The object as it was; only if asked for.') },
  },
  columns: [],
};
