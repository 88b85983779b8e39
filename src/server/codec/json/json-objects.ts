/** The small moves on JSON values, where the rooms of the server look for them. */
export { cloneJson, isObject, jsonEqual, ownValue, setKey } from '../../../api/json-objects.ts';
