/**
 * Shuffle sharding: which few of a level's queues a flow may wait in.
 *
 * Always true: the same flow gets the same hand from the same deck, in every process; a hand holds `handSize` different
 * queues, all below `queues`. Two loud flows share all their queues only by rare chance, so each leaves the other a way.
 */
import { createHash } from 'node:crypto';

/** 64 bits that stand for a flow. */
export function flowHash(schemaName: string, distinguisher: string): bigint {
  return createHash('sha256').update(`${schemaName}\0${distinguisher}`, 'utf8').digest().readBigUInt64LE(0);
}

/** Deals cards off the hash as off a number in a mixed base; each draw is from what the draws before have left. */
export function dealHand(hash: bigint, queues: number, handSize: number): number[] {
  const drawn: number[] = [];
  const hand: number[] = [];
  let rest = hash;
  for (let i = 0; i < Math.min(handSize, queues); i++) {
    const left = BigInt(queues - i);
    drawn.push(Number(rest % left));
    rest /= left;
    let card = drawn[i]!;
    for (let j = i - 1; j >= 0; j--) if (card >= drawn[j]!) card++;
    hand.push(card);
  }
  return hand;
}

/** Hands that were dealt, since a hash costs more than all the rest of a request. Forgets everything when it is full. */
export class HandMemory {
  readonly #queues: number;
  readonly #handSize: number;
  readonly #hands = new Map<string, Map<string, readonly number[]>>();
  #size = 0;

  constructor(queues: number, handSize: number) {
    this.#queues = queues;
    this.#handSize = handSize;
  }

  handOf(schemaName: string, distinguisher: string): readonly number[] {
    let ofSchema = this.#hands.get(schemaName);
    const known = ofSchema?.get(distinguisher);
    if (known) return known;
    if (this.#size >= MEMORY_LIMIT) {
      this.#hands.clear();
      this.#size = 0;
      ofSchema = undefined;
    }
    if (!ofSchema) {
      ofSchema = new Map();
      this.#hands.set(schemaName, ofSchema);
    }
    // With one queue there is nothing to spread, and every flow has the same hash.
    const hash = this.#queues > 1 ? flowHash(schemaName, distinguisher) : 0n;
    const hand = dealHand(hash, this.#queues, this.#handSize);
    ofSchema.set(distinguisher, hand);
    this.#size++;
    return hand;
  }
}

const MEMORY_LIMIT = 4096;
