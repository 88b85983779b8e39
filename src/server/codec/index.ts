/** Request bodies to objects, objects to bytes. */
export { checkObject, jsonWord } from './check-object.ts';
export {
  type BodyType,
  checkDecoded,
  decodeBody,
  mediaTypeOf,
  noType,
  otherCustomType,
  parseBody,
  typeFault,
} from './decode-body.ts';
export { encodeObject, encodeYaml, goJson } from './encode.ts';
export { applyFieldValidation, type FieldValidation } from './field-validation.ts';
export { cloneJson, jsonEqual } from './json/json-objects.ts';
export { leastBytes } from './json/json-size.ts';
export { jsonListEncoder, yamlListEncoder } from './list-encoder.ts';
export { encodeItem, encodeProtobuf, listParts } from './protobuf/protobuf-writer.ts';
export { withNulls, withoutNulls } from './written-nulls.ts';
export { readYamlAside, readYamlBytes } from './yaml/yaml-aside.ts';
export { YamlSyntaxError } from './yaml/yaml-reader.ts';
