/**
 * A definition held against the rules of the server, before there is one: by the same code, so that what passes here is
 * taken there. Rules in CEL and the paths of columns are left to the server, and to `checkCrd` of `longwatch/testing`.
 *
 * Places are told as whoever defines a kind knows them: `spec.parts[].name` in a schema, `plural` of the options.
 */
import type { FieldError, JsonObject } from '../../api/index.ts';
import { columnFaults, groupFaults, labelFaults, nameFaults, scaleFaults } from '../../schemas/definition-rules.ts';
import { checkStructural } from '../../schemas/structural/structural-schema.ts';
import { Validation, ValidationEnd } from '../../schemas/structural/validation.ts';

export type DefinedKind = {
  readonly group: string;
  readonly version: string;
  readonly names: Parameters<typeof nameFaults>[0];
  readonly schema: JsonObject;
  readonly columns: readonly Parameters<typeof columnFaults>[0][];
  readonly scale: Parameters<typeof scaleFaults>[0] | undefined;
};

/** A sentence for each; none if it is a good one. */
export function definitionFaults({ group, version, names, schema, columns, scale }: DefinedKind): string[] {
  const ofOptions = [
    ...groupFaults(group),
    ...labelFaults('version', version, false),
    ...nameFaults(names),
    ...(scale ? scaleFaults(scale, 'scale') : []),
    ...columns.flatMap((column, index) => columnFaults(column, `columns[${index}]`)),
  ];
  return [
    ...ofOptions.map(({ field, message }) => `${field.replace(/^spec\.(names\.)?/, '')}: ${message}`),
    ...schemaFaults(schema).map(({ field, message }) => `${placeOf(field)}: ${message}`),
  ];
}

function schemaFaults(schema: JsonObject): readonly FieldError[] {
  const validation = new Validation();
  try {
    const steps = checkStructural(schema, '', validation);
    while (!steps.next().done);
  } catch (err) {
    if (!(err instanceof ValidationEnd)) throw err;
  }
  return validation.faults;
}

/** From `.properties[spec].properties[parts].items.pattern` to `spec.parts[], pattern`. */
function placeOf(path: string): string {
  let rest = path;
  let place = '';
  for (;;) {
    const [step, name] = /^\.(?:properties\[([^\]]*)\]|items|additionalProperties)(?=\.)/.exec(rest) ?? [];
    if (step === undefined) break;
    if (name !== undefined) place += place === '' ? name : `.${name}`;
    else place += step === '.items' ? '[]' : '.*';
    rest = rest.slice(step.length);
  }
  const word = rest.replace(/^\./, '');
  if (place === '') return word;
  return word === '' ? place : `${place}, ${word}`;
}
