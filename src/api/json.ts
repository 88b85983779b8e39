/** JSON as a type. Objects from the wire are plain data: no prototypes to rely on, no dates, no bigint. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue | undefined };
