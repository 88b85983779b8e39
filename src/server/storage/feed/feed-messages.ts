/**
 * What the thread that reads the store tells the caches of other threads, on the line beside the store:
 *
 *   follow · took · progress · leave   ─►   state, in parts · batch · packed · ended
 *
 * Objects are told by where their bytes lie in memory that all threads see: a piece of memory, a place in it, a length.
 * Nothing is copied, and nothing of an object is said that its bytes say.
 *
 * Always true: messages of one line arrive in the order in which they were said. Batches and moves that come between the
 * parts of a state are after it.
 */
import type { Revision } from '../../../store/index.ts';
import type { ObjectCodec } from '../objects/object-codec.ts';

export type FeedOrder =
  | { readonly kind: 'follow'; readonly id: number; readonly what: Followed }
  /** So much of what was sent has been taken in: there is room for as much again. */
  | { readonly kind: 'took'; readonly id: number; readonly weight: number }
  | { readonly kind: 'progress'; readonly id: number }
  | { readonly kind: 'leave'; readonly id: number };

/** The objects that are stored as this resource, in the form that its codec gives them. */
export type Followed = {
  readonly group: string;
  readonly plural: string;
  /** What the bytes of an object depend on beside what is stored: see `formOf`. */
  readonly form: string;
};

/** Numbers of each object, one after another. */
export type FeedReport =
  | {
      readonly kind: 'state';
      readonly id: number;
      readonly isFirst: boolean;
      readonly isLast: boolean;
      readonly revision: Revision;
      readonly weight: number;
      readonly memories: readonly Memory[];
      readonly keys: readonly string[];
      /** revision, memory, place, length, place of the version */
      readonly numbers: readonly number[];
    }
  | {
      readonly kind: 'batch';
      readonly id: number;
      readonly revision: Revision;
      readonly answersProgress: boolean | undefined;
      readonly weight: number;
      readonly memories: readonly Memory[];
      readonly keys: readonly string[];
      /** The same; memory -1: gone. And where what was before lies now: memory, place, length; memory -1: where it was. */
      readonly numbers: readonly number[];
    }
  | {
      readonly kind: 'packed';
      readonly id: number;
      readonly weight: number;
      readonly slab: SharedArrayBuffer;
      readonly keys: readonly string[];
      /** revision, place, length */
      readonly numbers: readonly number[];
    }
  /** The thread does not have them in this form, or not any more. */
  | { readonly kind: 'ended'; readonly id: number; readonly isUnknown: boolean };

export type Memory = { readonly bytes: SharedArrayBuffer; readonly isSlab: boolean };

export const STATE_NUMBERS = 5;
export const BATCH_NUMBERS = 8;
export const PACKED_NUMBERS = 3;

/** What may be on its way to one follower; one that is further behind is told the state anew when it has room. */
export const FEED_ROOM: number = 8 * 1024 * 1024;
/** What a message counts for each of its objects, beside bytes that nobody else keeps. */
export const OBJECT_WEIGHT = 150;

/** Two codecs of the same form make the same bytes of what is stored. */
export function formOf({ resource, type }: ObjectCodec): string {
  return JSON.stringify([type.kind, type.apiVersion, resource.isNamespaced, resource.custom?.definedAt ?? 0]);
}
