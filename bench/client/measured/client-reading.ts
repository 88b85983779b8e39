/**
 * What those who are measured look at in an object, the same for both clients: nothing, a label, what most handlers look
 * at, or all of it, which is put into text.
 */
import type { Job } from '../client-jobs.ts';

type Read = {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string };
};

/** Throws at what is not there: what is read is looked at. */
export function readerOf({ reads }: Job): (object: unknown) => void {
  switch (reads) {
    case 'label':
      return (object) => {
        if (!(object as Read).metadata?.labels?.app) throw new Error('Cannot read a label of a pod');
      };
    case 'usual':
      return (object) => {
        const { metadata, spec, status } = object as Read;
        if (!metadata?.labels?.app || !spec?.nodeName || !status?.phase) throw new Error('Cannot read a pod');
      };
    case 'all':
      return (object) => {
        if (!JSON.stringify(object).includes('managedFields')) throw new Error('Cannot read all of a pod');
      };
    default:
      return () => {};
  }
}
