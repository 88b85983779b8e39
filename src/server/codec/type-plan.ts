/**
 * How a value of a schema is read: one plan per schema, made when first needed and kept as long as the schema lives.
 *
 * A plan adds to the schema what Go does with the type behind it: which zeros are left out of the JSON (not those
 * behind a pointer, nor those the type always writes), which structs are always written, and the name of the type
 * in error texts. Types that Go does not have (hand-made or custom) keep their zeros.
 */

import { isEmptyTold } from '../../api/given-empty.ts';
import type { Schema } from '../schema/schema.ts';
import { type MessageField, messageOfSchema } from './protobuf/message-tables.ts';

export type PlanKind =
  | 'struct'
  | 'map'
  | 'list'
  | 'string'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'time'
  | 'micro-time'
  | 'bytes'
  | 'quantity'
  | 'int-or-string'
  | 'any';

export type FieldPlan = {
  readonly schema: Schema;
  /** Of its schema; made when first asked for, since types may contain themselves. */
  readonly plan: Plan;
  /** A zero here is the same as nothing. */
  readonly dropsZero: boolean;
  /** Written even when nobody set it: a struct that is no pointer, a scalar without omitempty. */
  readonly isAlwaysWritten: boolean;
  /** Written as null when it is empty: a list without omitempty, a time that is no pointer. */
  readonly isNullWhenEmpty: boolean;
  /** A list or map that is left out when it is empty, but not unnoticed. */
  readonly isEmptyTold: boolean;
};

export type Plan = {
  readonly kind: PlanKind;
  readonly schema: Schema;
  /** As Go names the type: `string`, `[]v1.Container`. */
  readonly goType: string;
  /** `Container`, for a struct. */
  readonly structName: string;
  readonly fields: ReadonlyMap<string, FieldPlan>;
  readonly alwaysWritten: readonly string[];
  readonly nullWhenEmpty: readonly string[];
  /** The types through which a field comes in that Go declares in another struct: Go names them in errors. */
  readonly inlinedBy: ReadonlyMap<string, readonly string[]> | undefined;
  /** Of a map or a list. */
  readonly element: Schema | undefined;
  /** Of the element; made when first asked for. */
  readonly elementPlan: Plan | undefined;
};

class LazyFieldPlan implements FieldPlan {
  readonly schema: Schema;
  readonly dropsZero: boolean;
  readonly isAlwaysWritten: boolean;
  readonly isNullWhenEmpty: boolean;
  readonly isEmptyTold: boolean;
  #plan: Plan | undefined;

  constructor({ schema, dropsZero, isAlwaysWritten, isNullWhenEmpty, isEmptyTold }: Omit<FieldPlan, 'plan'>) {
    this.schema = schema;
    this.dropsZero = dropsZero;
    this.isAlwaysWritten = isAlwaysWritten;
    this.isNullWhenEmpty = isNullWhenEmpty;
    this.isEmptyTold = isEmptyTold;
  }

  get plan(): Plan {
    this.#plan ??= planOf(this.schema);
    return this.#plan;
  }
}

const plans = new WeakMap<Schema, Plan>();

export function planOf(schema: Schema): Plan {
  let plan = plans.get(schema);
  if (!plan) {
    plan = makePlan(schema);
    plans.set(schema, plan);
  }
  return plan;
}

/** What Go has in a variable nobody wrote to, as JSON. */
export function zeroOf(schema: Schema): '' | '0' | 0 | false | null | undefined {
  switch (planOf(schema).kind) {
    case 'string':
    case 'bytes':
      return '';
    case 'integer':
    case 'number':
    case 'int-or-string':
      return 0;
    case 'boolean':
      return false;
    case 'quantity':
      return '0';
    case 'struct':
      return undefined; // an empty one: the caller makes it
    default:
      return null;
  }
}

function makePlan(schema: Schema): Plan {
  const kind = kindOf(schema);
  const fields = new Map<string, FieldPlan>();
  const alwaysWritten: string[] = [];
  const nullWhenEmpty: string[] = [];
  let inlinedBy: Plan['inlinedBy'];
  if (kind === 'struct') {
    const message = schema.name === undefined ? undefined : messageOfSchema(schema.name);
    if (message && message.inlinedBy.size > 0) inlinedBy = message.inlinedBy;
    for (const [name, field] of schema.properties!) {
      const known = message?.byName.get(name);
      const isTyped = known !== undefined || (message !== undefined && isTypeMeta(name));
      const struct = message?.inlinedBy.get(name)?.at(-1) ?? lastPart(schema);
      const isWritten = isZeroDefault(field.default) && !isNameOfReference(struct, name);
      const isAlwaysWritten = known !== undefined && (isWritten || isQuantityByValue(known));
      const isNull = known !== undefined && isNullWhenEmpty(schema, name, field, known);
      const isEmptyKept =
        isNull || schema.required?.includes(name) === true || known?.hasPresence === true || name === 'managedFields';
      const dropsZero = isTyped && !isWritten && !isEmptyKept;
      fields.set(
        name,
        new LazyFieldPlan({
          schema: field,
          dropsZero,
          isAlwaysWritten,
          isNullWhenEmpty: isNull,
          isEmptyTold: dropsZero && isEmptyTold(struct, name),
        }),
      );
      if (isAlwaysWritten) alwaysWritten.push(name);
      if (isNull) nullWhenEmpty.push(name);
    }
  }
  const element = kind === 'list' ? schema.items : kind === 'map' ? elementOf(schema) : undefined;
  const goType = goTypeOf(schema, kind);
  let elementPlan: Plan | undefined;
  return {
    kind,
    schema,
    goType,
    structName: lastPart(schema),
    fields,
    alwaysWritten,
    nullWhenEmpty,
    inlinedBy,
    element,
    get elementPlan() {
      if (element) elementPlan ??= planOf(element);
      return elementPlan;
    },
  };
}

function kindOf(schema: Schema): PlanKind {
  const { type, format, name = '' } = schema;
  if (schema.intOrString || format === 'int-or-string') return 'int-or-string';
  if (format === 'quantity' || name.endsWith('.resource.Quantity')) return 'quantity';
  switch (type) {
    case 'string':
      if (format === 'byte') return 'bytes';
      if (format === 'micro-time') return 'micro-time';
      if (format !== 'date-time') return 'string';
      return name.endsWith('.MicroTime') ? 'micro-time' : 'time';
    case 'object':
      if (schema.properties) return 'struct';
      return schema.additional !== undefined && schema.additional !== true ? 'map' : 'any';
    case 'array':
      return 'list';
    default:
      return type;
  }
}

function elementOf(schema: Schema): Schema | undefined {
  return schema.additional === true ? undefined : schema.additional;
}

function goTypeOf(schema: Schema, kind: PlanKind): string {
  switch (kind) {
    case 'struct': {
      const parts = (schema.name ?? '').split('.');
      return parts.length < 2 ? 'struct' : parts.slice(-2).join('.');
    }
    case 'list':
      return `[]${schema.items ? elementType(schema.items) : 'interface {}'}`;
    case 'map':
      return `map[string]${elementType(elementOf(schema)!)}`;
    case 'integer':
      return schema.format === 'int32' ? 'int32' : 'int64';
    case 'number':
      return 'float64';
    case 'boolean':
      return 'bool';
    case 'bytes':
      return '[]uint8';
    case 'quantity':
      return 'resource.Quantity';
    case 'any':
      return 'map[string]interface {}';
    default:
      return 'string';
  }
}

/** Not by plan: the element may be the type itself. */
function elementType(schema: Schema): string {
  return goTypeOf(schema, kindOf(schema));
}

function lastPart({ name = '' }: Schema): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

function isZeroDefault(value: Schema['default']): boolean {
  if (value === '' || value === 0 || value === false) return true;
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

/** In Go a struct, so that `omitempty` does not apply to it; OpenAPI has no default for it. */
function isQuantityByValue({ type, shape, hasPresence }: MessageField): boolean {
  return type === 'resource.Quantity' && shape === 'single' && !hasPresence;
}

/** Without omitempty, though OpenAPI calls them optional; and the other way round. */
const optionalYetWritten: ReadonlySet<string> = new Set([
  'autoscaling.v2.HorizontalPodAutoscalerStatus.currentMetrics',
  'core.v1.ContainerImage.names',
  'core.v1.ProjectedVolumeSource.sources',
  'core.v1.TypedLocalObjectReference.apiGroup',
  'core.v1.TypedObjectReference.apiGroup',
  'discovery.v1.EndpointSlice.endpoints',
  'discovery.v1.EndpointSlice.ports',
  'flowcontrol.v1.ResourcePolicyRule.namespaces',
  'rbac.v1.ClusterRole.rules',
  'rbac.v1.Role.rules',
  'resource.v1.DeviceClaim.requests',
  'v1.CustomResourceDefinitionStatus.conditions',
  'v1.CustomResourceDefinitionStatus.storedVersions',
]);
const requiredYetOmitted: ReadonlySet<string> = new Set([
  'admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec.validationActions',
  'meta.v1.ObjectMeta.creationTimestamp',
]);

function isNullWhenEmpty(owner: Schema, name: string, field: Schema, { shape, hasPresence }: MessageField): boolean {
  const path = `${(owner.name ?? '').split('.').slice(-3).join('.')}.${name}`;
  if (optionalYetWritten.has(path) || optionalYetWritten.has(path.slice(path.indexOf('.') + 1))) return true;
  if (requiredYetOmitted.has(path)) return false;
  const kind = kindOf(field);
  if (kind === 'time' || kind === 'micro-time') return shape === 'single' && !hasPresence;
  return (kind === 'list' || kind === 'map') && owner.required?.includes(name) === true;
}

/** The schema says that it is empty if absent; Go leaves it out all the same. */
function isNameOfReference(struct: string, field: string): boolean {
  return field === 'name' && struct === 'LocalObjectReference';
}

function isTypeMeta(name: string): boolean {
  return name === 'kind' || name === 'apiVersion';
}
