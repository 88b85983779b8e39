/**
 * JSON as a type. Objects from the wire are plain data: no prototypes to rely on, no dates. A bigint is an integer that a
 * number cannot hold exactly, within 64 bits: nothing smaller ever is one. JSON.stringify knows none: `jsonText` writes
 * them, `parseJson` of the server's codec reads them.
 */
export type JsonValue = null | boolean | number | bigint | string | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue | undefined };
