/**
 * One version of a custom kind, ready to work: everything that its definition says, compiled once.
 *
 * A definition that changes makes new ones; what holds an old one goes on with it until it asks again. Only
 * `life.isTerminating` moves, for all versions of a definition together: whoever creates looks at it first.
 */
import type { KubeObject } from '../../api/index.ts';
import type { SchemaCheck } from '../../schemas/structural/schema-checks.ts';
import type { Structural } from '../../schemas/structural/structural.ts';
import type { CompiledRules } from '../structural-schema/cel/compile-rules.ts';
import type { Resource } from './resource.ts';

/** One of `additionalPrinterColumns`. */
export type PrinterColumn = {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
};

/** Where a custom kind keeps the numbers of its `scale` subresource, as its definition writes them: with a leading dot. */
export type ScalePaths = {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  /** To a text. Without it there is no selector at all, wherever the object may keep one. */
  readonly labelSelectorPath?: string;
};

/** Objects to another version of their kind, in their order; those that have it already stay as they are. */
export type ConvertObjects = (
  objects: readonly KubeObject[],
  apiVersion: string,
  signal: AbortSignal,
) => Promise<KubeObject[]>;

export type CustomKind = {
  readonly structural: Structural;
  readonly check: SchemaCheck;
  /** Absent where the schema has no rules. */
  readonly rules: CompiledRules | undefined;
  readonly printerColumns: readonly PrinterColumn[];
  readonly scale: ScalePaths | undefined;
  /** Told to everybody who uses this version. */
  readonly deprecation: string | undefined;
  /** The resource in whose form objects are stored, served or not. */
  readonly storedAs: () => Resource;
  /** Objects last written at or before this revision may not be what the schema says now. */
  readonly definedAt: number;
  readonly life: DefinitionLife;
  /** Where versions differ in more than their name. */
  readonly convert?: ConvertObjects;
  /** There may be stored objects in other versions than the one objects are stored in now. */
  readonly hasOtherVersions?: boolean;
};

export type DefinitionLife = { isTerminating: boolean };

/** The kind behind a custom resource; a fault of ours if it has none. */
export function kindOf({ custom, plural }: Pick<Resource, 'custom' | 'plural'>): CustomKind {
  if (!custom) throw new Error(`Cannot find the definition of custom resource "${plural}"`);
  return custom;
}
