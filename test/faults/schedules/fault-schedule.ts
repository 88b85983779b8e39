/**
 * What will go wrong, decided by a seed: a list of steps, each a write, a fault, a change of who watches, or a quiet moment
 * in which everything must be true. The same seed is always the same list. In a simulated world it is also the same run;
 * with a real server, what the machine makes of it is its own.
 */
import { randomFrom } from '../../support/random.ts';
import { CALLBACKS, type Callback, MISBEHAVIOURS, type Misbehaviour } from './fault-operator.ts';

/** All watches, or one of those that are open. */
export type Whom = 'all' | number;

export type Step =
  /** Goes on beside the steps that follow. */
  | { readonly do: 'write'; readonly writes: number; readonly seed: number }
  | { readonly do: 'cut' | 'stall' | 'end' | 'truncate' | 'garble'; readonly whom: Whom }
  | { readonly do: 'error'; readonly code: number; readonly whom: Whom }
  | {
      readonly do: 'answer';
      readonly code: number;
      readonly to: 'watch' | 'list' | 'any';
      readonly times: number;
      readonly retryAfterSeconds?: number;
      /** Not a Status, but the page of somebody in between. */
      readonly isText: boolean;
    }
  | { readonly do: 'delay'; readonly ms: number }
  | { readonly do: 'drip'; readonly bytes: number }
  | { readonly do: 'refuse' | 'heal' }
  | { readonly do: 'restart' | 'compact' }
  /** All data. The new history may pass the old one before anybody looks. */
  | { readonly do: 'lose'; readonly isOvertaking: boolean }
  /** To a backup; what was written after it is gone. With a bump, versions jump ahead, as they should. */
  | { readonly do: 'set back'; readonly writes: number; readonly seed: number; readonly bump: number }
  /** Another server, of another history, answers under the same address; those who are connected may stay. */
  | { readonly do: 'flip'; readonly isCut: boolean }
  /** Old tokens are not taken any more; clients find the new one a while later. */
  | { readonly do: 'rotate token' }
  /** The wall clock of one operator is set, or the date of everybody else. */
  | { readonly do: 'set clock'; readonly whom: number; readonly ms: number }
  /** The machine sleeps. */
  | { readonly do: 'suspend'; readonly ms: number }
  /** A process with a checkpoint ends, or is killed, and another one goes on from it some steps later. */
  | { readonly do: 'restart client'; readonly isKilled: boolean; readonly downFor: number }
  /** The disk of the checkpoint has so many bytes left, until all is quiet. */
  | { readonly do: 'fill disk'; readonly room: number }
  /** A function of the user's, for some calls. */
  | {
      readonly do: 'misbehave';
      readonly whom: Whom;
      readonly callback: Callback;
      readonly how: Misbehaviour;
      readonly times: number;
    }
  | { readonly do: 'handler'; readonly action: 'slow' | 'throwing' | 'hung' | 'remove' }
  | { readonly do: 'informer'; readonly action: 'open' | 'close' }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'quiet' };

export type Schedule = { readonly seed: number; readonly steps: readonly Step[] };

/** What a server can do besides being restarted. */
export type Abilities = { readonly loses: boolean; readonly isSetBack: boolean; readonly isSimulated: boolean };

/** Of a hundred; what comes first is likely. */
const likely: readonly (readonly [Step['do'], number])[] = [
  ['write', 20],
  ['cut', 8],
  ['stall', 5],
  ['end', 4],
  ['truncate', 4],
  ['garble', 4],
  ['error', 5],
  ['answer', 9],
  ['delay', 3],
  ['drip', 3],
  ['refuse', 3],
  ['heal', 3],
  ['wait', 6],
  ['restart', 3],
  ['compact', 2],
  ['lose', 1],
  ['set back', 1],
  ['handler', 4],
  ['informer', 2],
  ['misbehave', 7],
  ['set clock', 2],
];

/** In a simulated world a restart costs nothing, and much is possible. */
const likelyInSimulation: readonly (readonly [Step['do'], number])[] = [
  ['write', 17],
  ['cut', 6],
  ['stall', 4],
  ['end', 3],
  ['truncate', 3],
  ['garble', 3],
  ['error', 4],
  ['answer', 7],
  ['delay', 3],
  ['drip', 2],
  ['refuse', 3],
  ['heal', 3],
  ['wait', 7],
  ['restart', 3],
  ['compact', 3],
  ['lose', 3],
  ['set back', 3],
  ['flip', 2],
  ['rotate token', 3],
  ['set clock', 2],
  ['suspend', 1],
  ['restart client', 4],
  ['fill disk', 2],
  ['misbehave', 6],
  ['handler', 3],
];

export function scheduleOf(seed: number, abilities: Abilities): Schedule {
  const random = randomFrom(seed * 7919 + 13);
  const below = (limit: number) => Math.floor(random() * limit);
  const oneOf = <T>(values: readonly T[]): T => values[below(values.length)]!;
  const steps: Step[] = [];
  const rounds = 1 + below(abilities.isSimulated ? 2 : 3);
  for (let round = 0; round < rounds; round++) {
    const count = 2 + below(6);
    for (let i = 0; i < count; i++)
      steps.push(makeStep(pick(below(100), abilities), { random, below, oneOf, abilities }));
    steps.push({ do: 'quiet' });
  }
  return { seed, steps };
}

type Dice = {
  readonly random: () => number;
  readonly below: (limit: number) => number;
  readonly oneOf: <T>(values: readonly T[]) => T;
  readonly abilities: Abilities;
};

function pick(hundredth: number, { isSimulated }: Abilities): Step['do'] {
  let left = hundredth;
  for (const [kind, weight] of isSimulated ? likelyInSimulation : likely) {
    if (left < weight) return kind;
    left -= weight;
  }
  return 'write';
}

function makeStep(kind: Step['do'], { random, below, oneOf, abilities }: Dice): Step {
  const whom = (): Whom => (random() < 0.5 ? 'all' : below(8));
  const seed = below(1e6);
  switch (kind) {
    case 'write':
      return { do: kind, writes: 1 + below(25), seed };
    case 'cut':
    case 'stall':
    case 'end':
    case 'truncate':
    case 'garble':
      return { do: kind, whom: whom() };
    case 'error':
      return { do: kind, code: oneOf([410, 410, 429, 500, 503]), whom: whom() };
    case 'answer': {
      const [code, to, times] = [
        oneOf([410, 429, 500, 503, 504]),
        oneOf(['watch', 'list', 'any'] as const),
        1 + below(6),
      ];
      const retryAfterSeconds = code === 429 || code === 503 ? below(4) : 0;
      return { do: kind, code, to, times, isText: random() < 0.3, ...(retryAfterSeconds > 0 && { retryAfterSeconds }) };
    }
    case 'delay':
      return { do: kind, ms: oneOf([1, 5, 20, Number.POSITIVE_INFINITY]) };
    case 'drip':
      return { do: kind, bytes: 1 + below(200) };
    case 'wait': // some are longer than all that may take long without being named
      return { do: kind, ms: below(30) * (abilities.isSimulated && random() < 0.3 ? 8 : 1) };
    case 'lose':
      return abilities.loses ? { do: kind, isOvertaking: random() < 0.5 } : { do: 'restart' };
    case 'flip':
      return { do: kind, isCut: random() < 0.5 };
    case 'set clock':
      return {
        do: kind,
        whom: below(abilities.isSimulated ? 3 : 2),
        ms: oneOf([-86_400_000, -60_000, 60_000, 86_400_000]),
      };
    case 'suspend':
      return { do: kind, ms: oneOf([20_000, 200_000, 2_000_000]) };
    case 'restart client':
      return { do: kind, isKilled: random() < 0.6, downFor: below(4) };
    case 'fill disk':
      return { do: kind, room: oneOf([0, 100, 1_000, 5_000]) };
    case 'misbehave': {
      // a reconcile more often than others, and in both where that costs nothing: only one of them leads
      const whom = abilities.isSimulated ? oneOf([0, 1, 'all', 'all'] as const) : below(2);
      const callback = oneOf([...CALLBACKS, 'reconcile', 'reconcile', 'reconcile'] as const);
      return { do: kind, whom, callback, how: oneOf(MISBEHAVIOURS), times: 1 + below(6) };
    }
    case 'set back':
      if (!abilities.isSetBack) return { do: 'compact' };
      return { do: kind, writes: 1 + below(25), seed, bump: oneOf([0, 1_000_000]) };
    case 'handler':
      return { do: kind, action: oneOf(['slow', 'throwing', 'hung', 'remove'] as const) };
    case 'informer':
      return { do: kind, action: oneOf(['open', 'open', 'close'] as const) };
    default:
      return { do: kind };
  }
}

export function tellStep({ do: kind, ...rest }: Step): string {
  const details = Object.entries(rest).map(([name, value]) => `${name}=${value}`);
  return [kind, ...details].join(' ');
}
