/**
 * JSON as values of CEL of which nothing is declared: whole numbers are ints, objects are maps.
 *
 * Nothing is made before it is asked for: an expression that looks at one field of a large object costs as much as that
 * field. No part is made twice, and the JSON must not change meanwhile.
 */
import type { JsonObject, JsonValue } from '../../../api/json.ts';
import type { Value } from './values.ts';

export function jsonValue(json: JsonValue | undefined): Value {
  if (typeof json === 'number') return Number.isInteger(json) ? BigInt(json) : json;
  if (typeof json !== 'object' || json === null) return json ?? null;
  return Array.isArray(json) ? json.map(jsonValue) : new JsonMap(json);
}

/** A map whose members become values when somebody asks for them. */
class JsonMap extends Map<string, Value> {
  readonly #json: JsonObject;
  #isWhole = false;

  constructor(json: JsonObject) {
    super();
    this.#json = json;
  }

  override get(name: string): Value {
    const known = super.get(name);
    if (known !== undefined || this.#isWhole || !this.has(name)) return known;
    const made = jsonValue(this.#json[name]);
    super.set(name, made);
    return made;
  }

  override has(name: string): boolean {
    return Object.hasOwn(this.#json, name) && this.#json[name] !== undefined;
  }

  override get size(): number {
    this.#makeAll();
    return super.size;
  }

  override entries(): MapIterator<[string, Value]> {
    this.#makeAll();
    return super.entries();
  }

  override keys(): MapIterator<string> {
    this.#makeAll();
    return super.keys();
  }

  override values(): MapIterator<Value> {
    this.#makeAll();
    return super.values();
  }

  override forEach(told: (value: Value, key: string, map: Map<string, Value>) => void): void {
    this.#makeAll();
    super.forEach(told);
  }

  override [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }

  /** In the order of the object, whatever was asked for before. */
  #makeAll(): void {
    if (this.#isWhole) return;
    const made = Object.keys(this.#json)
      .filter((name) => this.has(name))
      .map((name) => [name, this.get(name)] as const);
    this.clear();
    for (const [name, value] of made) super.set(name, value);
    this.#isWhole = true;
  }
}
