/**
 * Reads fields of parsed YAML whose scalars are all text, and knows where it is: every complaint names the file and the
 * path of the field, such as `users[0].user.exec.command`. What is empty or null counts as absent, as kubectl has it.
 */
import { ConfigError } from '../errors.ts';

export type Fields = { readonly [name: string]: unknown };

export class FieldReader {
  readonly origin: string;
  readonly path: string;
  readonly #fields: Fields;

  constructor(fields: Fields, origin: string, path: string) {
    this.#fields = fields;
    this.origin = origin;
    this.path = path;
  }

  error(name: string, complaint: string): ConfigError {
    return new ConfigError(`Cannot use kubeconfig "${this.origin}": ${this.#at(name)} ${complaint}`);
  }

  text(name: string): string | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === 'string') return value;
    throw this.error(name, 'must be text');
  }

  required(name: string): string {
    const value = this.text(name);
    if (value === undefined) throw this.error(name, 'must be set');
    return value;
  }

  flag(name: string): boolean {
    const value = this.text(name);
    if (value === undefined || value === 'false') return false;
    if (value === 'true') return true;
    throw this.error(name, `must be true or false, found "${value}"`);
  }

  /** Text that was written as base64. */
  base64(name: string): string | undefined {
    const value = this.text(name)?.replace(/\s+/g, '');
    if (value === undefined) return undefined;
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(value) || value.length % 4 !== 0) throw this.error(name, 'is no base64');
    return Buffer.from(value, 'base64').toString('utf8');
  }

  texts(name: string): string[] | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value as string[];
    throw this.error(name, 'must be a list of texts');
  }

  /** A mapping from names to lists of texts. */
  textLists(name: string): Record<string, string[]> | undefined {
    const reader = this.optionalChild(name);
    return reader && Object.fromEntries(Object.keys(reader.#fields).map((key) => [key, reader.texts(key) ?? []]));
  }

  /** One reader for each item; none if the list is absent. */
  list(name: string): FieldReader[] {
    const value = this.#value(name);
    if (value === undefined) return [];
    if (!Array.isArray(value)) throw this.error(name, 'must be a list');
    return value.map((item, i) => {
      if (!isFields(item)) throw this.error(`${name}[${i}]`, 'must be a mapping of fields');
      return new FieldReader(item, this.origin, this.#at(`${name}[${i}]`));
    });
  }

  child(name: string): FieldReader {
    return this.optionalChild(name) ?? new FieldReader({}, this.origin, this.#at(name));
  }

  optionalChild(name: string): FieldReader | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (!isFields(value)) throw this.error(name, 'must be a mapping of fields');
    return new FieldReader(value, this.origin, this.#at(name));
  }

  #value(name: string): unknown {
    const value = Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined;
    return value === '' || value === null || value === 'null' || value === '~' ? undefined : value;
  }

  #at(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
