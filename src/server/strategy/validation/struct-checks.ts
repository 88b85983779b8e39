/**
 * Rules of one struct as rows of a field and its checks, for structs that stand in many places (containers, volumes,
 * selectors) and so have no one path from the root as those of `field-table.ts` do.
 *
 * Rows are compiled once. A field that is absent costs one look unless a check of it asks for a value. The first
 * refusal of a field is its only one; refusals of different fields are all told, in the order of the rows.
 */
import type { FieldError, JsonObject } from '../../../api/index.ts';
import { appendAll, mostFaults } from './append-all.ts';
import { seesAbsent } from './checks.ts';
import type { Check } from './field-table.ts';
import { objectAt, objectsAt } from './fields.ts';

/** `[field, ...checks]`, the field directly in the struct. */
export type StructRow = readonly [field: string, ...checks: Check[]];

/** Adds what is wrong with `owner`, which stands at `path`, to `errors`. */
export type StructCheck = (owner: JsonObject, path: string, errors: FieldError[]) => void;

export function structChecks(rows: readonly StructRow[]): StructCheck {
  const compiled = rows.map(([field, ...checks]) => ({ field, checks, asks: checks.some(seesAbsent) }));
  return (owner, path, errors) => {
    for (const { field, checks, asks } of compiled) {
      const value = owner[field] ?? undefined;
      if (value === undefined && !asks) continue;
      const found = errors.length;
      for (const check of checks) {
        appendAll(errors, check(value, `${path}.${field}`, owner));
        if (errors.length > found) break;
      }
    }
  };
}

/** One after the other. */
export function allOf(...checks: readonly StructCheck[]): StructCheck {
  return (owner, path, errors) => {
    for (const check of checks) check(owner, path, errors);
  };
}

/** The struct in a field, if there is one. */
export function checkStruct(
  check: StructCheck,
  owner: JsonObject | undefined,
  field: string,
  path: string,
  errors: FieldError[],
): void {
  const value = objectAt(owner, field);
  if (value) check(value, `${path}.${field}`, errors);
}

/** The structs in the list of a field, if there is one. */
export function checkStructs(
  check: StructCheck,
  owner: JsonObject | undefined,
  field: string,
  path: string,
  errors: FieldError[],
): void {
  if (!owner?.[field]) return;
  for (const [index, one] of objectsAt(owner, field).entries()) {
    check(one, `${path}.${field}[${index}]`, errors);
    if (errors.length > mostFaults) return;
  }
}
