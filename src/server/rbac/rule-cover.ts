/**
 * Do these rules give what those give? A rule gives every combination of its groups, resources, names and verbs, which
 * may be many more than fit into memory, so they are never spelled out. What is wanted is split only where the held
 * rules treat its parts differently:
 *
 *   resources ─► those for which the same held rules count ─► groups ─► names ─► verbs ─► no rule left: missing
 *
 * Always true: the search is a generator that yields after `SLICE` steps, and whoever drives it decides how long it may
 * go on. Missing pieces are spelled out up to a size: one is enough to refuse, and nobody reads a thousand.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { coversPath, has, isFilled, type PolicyRule, resourcePatterns, type Words, wordsOf } from './policy-rule.ts';

const SLICE = 20_000;
/** About a quarter of a second, between which others have their turn. */
const MOST_SLICES = 100;
const TOLD_BYTES = 64 * 1024;

export type Missing = {
  /** In the smallest pieces. */
  readonly pieces: PolicyRule[];
  /** There are more. */
  readonly isCut: boolean;
};

/** What of `wanted` no rule of `held` gives, all of it. */
export function missingFrom(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const search = findMissing(held, wanted, Number.POSITIVE_INFINITY);
  for (;;) {
    const { done, value } = search.next();
    if (done) return value.pieces;
  }
}

/** The same as far as it can be told, letting others have their turn; undefined if it would take too long. */
export async function missingFromInTurns(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): Promise<Missing | undefined> {
  const search = findMissing(held, wanted, TOLD_BYTES);
  for (let slice = 0; slice < MOST_SLICES; slice++) {
    const { done, value } = search.next();
    if (done) return value;
    await nextTurn();
  }
  return undefined;
}

type HeldRule = {
  readonly id: number;
  readonly verbs: Words;
  readonly apiGroups: Words;
  /** Undefined: under every name. */
  readonly names: Words | undefined;
  readonly urls: readonly string[];
};

/** Part of a rule that is wanted; without a name, under every name. */
type Box = {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly names: readonly (string | undefined)[];
  readonly urls: readonly string[];
};
type Dimension = Exclude<keyof Box, 'resources' | 'urls'>;

const OF_RESOURCES: readonly Dimension[] = ['apiGroups', 'names', 'verbs'];
const OF_PATHS: readonly Dimension[] = ['verbs'];

function* findMissing(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
  limitBytes: number,
): Generator<void, Missing> {
  const search = new Search(limitBytes);
  const byResource = new Map<string, HeldRule[]>();
  const onPaths: HeldRule[] = [];
  for (const [id, rule] of held.entries()) {
    const compiled = compile(rule, id);
    for (const resource of new Set(rule.resources)) {
      if (search.isSliceOver(1)) yield;
      const there = byResource.get(resource);
      if (there) there.push(compiled);
      else byResource.set(resource, [compiled]);
    }
    if (isFilled(rule.nonResourceURLs)) onPaths.push(compiled);
  }
  const naming = (resource: string) => {
    const [plural, part = ''] = splitResource(resource);
    return resourcePatterns(plural!, part).flatMap((pattern) => byResource.get(pattern) ?? []);
  };
  const patterns = onPaths.reduce((sum, { urls }) => sum + urls.length, 0);
  const forPath = (url: string) => onPaths.filter(({ urls }) => urls.some((pattern) => coversPath(pattern, url)));
  for (const rule of wanted) {
    const box = boxOf(rule);
    for (const { values, rules } of yield* search.alike(box.resources, naming))
      yield* search.missingIn({ ...box, resources: values, urls: [] }, rules, OF_RESOURCES);
    for (const { values, rules } of yield* search.alike(box.urls, forPath, patterns))
      yield* search.missingIn({ ...box, resources: [], urls: values }, rules, OF_PATHS);
    if (search.isCut) break;
  }
  return { pieces: search.pieces, isCut: search.isCut };
}

/** Values for which the same rules count. */
type Alike<T> = { readonly values: T[]; readonly rules: readonly HeldRule[] };

class Search {
  readonly pieces: PolicyRule[] = [];
  isCut = false;
  readonly #limitBytes: number;
  #bytes = 0;
  #steps = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  isSliceOver(steps: number): boolean {
    this.#steps += steps;
    if (this.#steps < SLICE) return false;
    this.#steps = 0;
    return true;
  }

  /** `cost`: what it takes to find the rules of a value, beyond their number. */
  *alike<T>(values: readonly T[], rulesFor: (value: T) => readonly HeldRule[], cost = 1): Generator<void, Alike<T>[]> {
    const found = new Map<string, Alike<T>>();
    for (const value of new Set(values)) {
      const rules = rulesFor(value);
      if (this.isSliceOver(cost + rules.length)) yield;
      const key = rules.map(({ id }) => id).join();
      const there = found.get(key);
      if (there) there.values.push(value);
      else found.set(key, { values: [value], rules });
    }
    return [...found.values()];
  }

  /** `rules`: those that count so far; `left`: what they have not been asked about. */
  *missingIn(box: Box, rules: readonly HeldRule[], left: readonly Dimension[]): Generator<void, void> {
    if (this.isCut) return;
    if (rules.length === 0) {
      yield* this.#tell(box);
      return;
    }
    const [dimension, ...others] = left;
    if (!dimension) return;
    const matching = (value: string | undefined) => rules.filter((rule) => gives(rule, dimension, value));
    for (const part of yield* this.alike<string | undefined>(box[dimension], matching, rules.length))
      yield* this.missingIn({ ...box, [dimension]: part.values }, part.rules, others);
  }

  *#tell({ apiGroups, resources, verbs, names, urls }: Box): Generator<void, void> {
    for (const url of urls)
      for (const verb of verbs) {
        if (this.isSliceOver(1)) yield;
        if (!this.#add({ verbs: [verb], nonResourceURLs: [url] }, verb.length + url.length)) return;
      }
    for (const group of apiGroups)
      for (const resource of resources)
        for (const verb of verbs)
          for (const name of names) {
            if (this.isSliceOver(1)) yield;
            const named = name === undefined ? {} : { resourceNames: [name] };
            const piece = { verbs: [verb], apiGroups: [group], resources: [resource], ...named };
            if (!this.#add(piece, group.length + resource.length + verb.length + (name ?? '').length)) return;
          }
  }

  #add(piece: PolicyRule, length: number): boolean {
    this.isCut = this.#bytes > this.#limitBytes;
    if (this.isCut) return false;
    this.pieces.push(piece);
    this.#bytes += length + 50; // the words around it
    return true;
  }
}

function gives(rule: HeldRule, dimension: Dimension, value: string | undefined): boolean {
  if (dimension !== 'names') return has(rule[dimension], value!);
  return rule.names === undefined || (value !== undefined && has(rule.names, value));
}

function compile({ verbs, apiGroups, resourceNames, nonResourceURLs }: PolicyRule, id: number): HeldRule {
  return {
    id,
    verbs: wordsOf(verbs, true),
    apiGroups: wordsOf(apiGroups, true),
    names: isFilled(resourceNames) ? wordsOf(resourceNames, false) : undefined,
    urls: nonResourceURLs ?? [],
  };
}

function boxOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): Box {
  return {
    verbs,
    apiGroups: apiGroups ?? [],
    resources: isFilled(apiGroups) ? (resources ?? []) : [],
    names: isFilled(resourceNames) ? resourceNames : [undefined],
    urls: nonResourceURLs ?? [],
  };
}

function splitResource(text: string): string[] {
  const slash = text.indexOf('/');
  return slash < 0 ? [text] : [text.slice(0, slash), text.slice(slash + 1)];
}
