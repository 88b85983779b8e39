/**
 * Custom kinds: defined from schemas, installed, checked before they are sent. A door of its own, `longwatch/client/crd`,
 * because a program that only uses kinds needs none of it; what `longwatch generate types` writes imports its validator.
 */
export {
  type CrdDefinition,
  type CrdOptions,
  defineCrd,
  type JsonSchema,
  type SchemaSource,
} from './definitions/define-crd.ts';
export { fromJsonSchema } from './definitions/from-json-schema.ts';
export {
  CrdError,
  type InstallableCrd,
  type InstallCrdOptions,
  installCrd,
  readCrds,
} from './definitions/install-crd.ts';
export { schemaValidator } from './definitions/schema-validator.ts';
export type { StructuralSchema } from './objects/structural-schema.ts';
