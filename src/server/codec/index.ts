/** Request bodies to objects, objects to bytes. */
export { checkObject, TypeMismatchError } from './check-object.ts';
export { type BodyType, checkDecoded, type DecodedBody, decodeBody, mediaTypeOf, mediaTypes } from './decode-body.ts';
export { type EncodeOptions, encodeObject, encodeYaml, goJson } from './encode.ts';
export { applyFieldValidation, type FieldFaults, type FieldValidation } from './field-validation.ts';
export { JsonSyntaxError, readJson } from './json-reader.ts';
export { readYaml, YamlSyntaxError } from './yaml-reader.ts';
