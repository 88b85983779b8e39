/**
 * JSON patch (RFC 6902) by hand: strict, copy-on-write, bounded.
 *
 * Pure: the document is never written to. A container is copied the first time an operation changes it and owned from
 * then on, so a patch of ten thousand operations copies each container once. Keys are data, `__proto__` too; list
 * indexes are plain decimals without leading zeros or signs.
 *
 * Bounded: by the number of operations, by the bytes that all copies add up to, by the elements that are moved in lists,
 * and by the depth of what comes out. A `test` that passes costs what its operand does, and one that fails ends the patch.
 *
 * Where kube-apiserver departs from the RFC, it is followed: `replace` of a member that is not there adds it.
 * A fault in an operation is the 422 that names nothing, caused by a PatchFault that says what it was for those who may
 * tell; a body that is no list of operations is a 400.
 */
import { badRequest, type StatusError, tooLarge, unprocessable } from '../../api/errors/status-error.ts';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { jsonWord } from '../codec/check-object.ts';
import { isObject, jsonEqual, ownValue, setKey } from '../codec/json/json-objects.ts';
import { maxDepth } from '../codec/json/json-reader.ts';
import { copyOf } from './merge-patch.ts';

const maxOperations = 10_000;
/** `copy` can double a document with every operation; what all of them add may have this much, as JSON. */
const maxCopiedBytes = 3 * 1024 * 1024;
/** Inserting and removing moves what comes after; this many elements may be moved in all. */
const maxMoved = 50_000_000;

type Container = JsonObject | JsonValue[];

/** What is wrong with an operation, in the words of the library that kube-apiserver patches with. */
export class PatchFault extends Error {
  override readonly name = 'PatchFault';
  /** It is no fault of the patch: a `test` has found something else. */
  readonly isFailedTest: boolean;

  constructor(message: string, isFailedTest = false) {
    super(message);
    this.isFailedTest = isFailedTest;
  }
}

/** What was wrong with a patch that was refused; undefined if it was refused for another reason. */
export function patchFaultOf(err: unknown): PatchFault | undefined {
  return err instanceof Error && err.cause instanceof PatchFault ? err.cause : undefined;
}

export function jsonPatch(document: JsonValue, patch: JsonValue): JsonValue {
  if (!Array.isArray(patch))
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${jsonWord(patch)} into Go value of type []handlers.jsonPatchOp`,
    );
  if (patch.length > maxOperations)
    throw tooLarge(`The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`);
  const run = new PatchRun(document);
  for (const operation of patch) run.apply(operation);
  checkDepth(run.document, 1);
  return run.document;
}

/** No operation makes anything deeper than twice the limit, so this may recurse. */
function checkDepth(value: JsonValue, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth > maxDepth) throw fault('the document is nested too deeply');
  for (const child of Object.values(value)) checkDepth(child!, depth + 1);
}

class PatchRun {
  document: JsonValue;
  readonly #owned = new Set<Container>();
  #copiedBytes = 0;
  #moved = 0;

  constructor(document: JsonValue) {
    this.document = document;
  }

  apply(operation: JsonValue): void {
    if (!isObject(operation)) throw fault('Unexpected kind: unknown');
    const path = pointerOf(operation, 'path');
    switch (operation.op) {
      case 'add':
        this.#within('add', operation.path, () => this.#add(path, operandOf(operation)));
        break;
      case 'replace':
        this.#within('replace', operation.path, () => this.#replace(path, operandOf(operation)));
        break;
      case 'remove':
        this.#within('remove', operation.path, () => this.#remove(path));
        break;
      case 'move': {
        const from = pointerOf(operation, 'from');
        if (isPrefix(from, path) && from.length < path.length) throw fault('move operation into itself');
        const moved = this.#within('move', operation.from, () => this.#remove(from), 'from path');
        this.#within('move', operation.path, () => this.#add(path, moved), 'destination path');
        break;
      }
      case 'copy': {
        const from = pointerOf(operation, 'from');
        const copied = this.#within('copy', operation.from, () => this.#copy(from), 'from path');
        this.#within('copy', operation.path, () => this.#add(path, copied), 'destination path');
        break;
      }
      case 'test':
        this.#test(path, String(operation.path), operandOf(operation));
        break;
      default:
        throw fault(`Unexpected kind: ${String(operation.op)}`);
    }
  }

  /** Says of a fault in which operation it was, and where, in the words of the library that kube-apiserver has. */
  #within<T>(op: string, pointer: JsonValue | undefined, run: () => T, what = 'path'): T {
    try {
      return run();
    } catch (err) {
      const why = patchFaultOf(err)?.message;
      if (why === undefined) throw err;
      const isPathMissing = why === MISSING_PATH;
      const shown = String(pointer);
      const isQuoted = op === 'add' || op === 'remove';
      throw fault(
        isPathMissing
          ? `${op} operation does not apply: doc is missing ${what}: ${isQuoted ? `"${shown}"` : shown}: missing value`
          : `error in ${op} for path: '${shown}': ${why}`,
      );
    }
  }

  #test(path: readonly string[], pointer: string, wanted: JsonValue): void {
    let found: JsonValue;
    try {
      found = this.#find(path, true);
    } catch (err) {
      const why = patchFaultOf(err)?.message;
      if (why === undefined) throw err;
      const isPathMissing = why === MISSING_PATH;
      throw fault(
        isPathMissing
          ? `test operation does not apply: is missing path: ${pointer}: missing value`
          : `error in test for path: '${pointer}': ${why}`,
      );
    }
    if (!jsonEqual(found, wanted)) throw fault(`testing value ${pointer} failed: test failed`, true);
  }

  /** Shared, not cloned: from now on neither place may write to it, so nobody owns it any more. */
  #copy(from: readonly string[]): JsonValue {
    const value = this.#find(from);
    this.#charge(value, 1);
    return value;
  }

  /** Counts a value as JSON, gives up what is owned of it, and stops when there was too much. */
  #charge(value: JsonValue, depth: number): void {
    if (depth > maxDepth) throw fault('the document is nested too deeply');
    if (typeof value === 'string') this.#copiedBytes += Buffer.byteLength(value) + 2;
    else if (typeof value !== 'object' || value === null) this.#copiedBytes += String(value).length;
    else this.#copiedBytes += 2;
    if (this.#copiedBytes > maxCopiedBytes)
      throw fault(
        `Unable to complete the copy, the accumulated size increase of copy is ${this.#copiedBytes}, exceeding the limit ${maxCopiedBytes}`,
      );
    if (typeof value !== 'object' || value === null) return;
    this.#owned.delete(value);
    if (Array.isArray(value)) {
      for (const item of value) {
        this.#copiedBytes++; // the comma
        this.#charge(item, depth + 1);
      }
      return;
    }
    for (const key of Object.keys(value)) {
      this.#copiedBytes += Buffer.byteLength(key) + 4;
      this.#charge(value[key]!, depth + 1);
    }
  }

  #add(path: readonly string[], value: JsonValue): void {
    if (path.length === 0) {
      this.document = value;
      return;
    }
    const parent = this.#own(path);
    const key = path.at(-1)!;
    if (Array.isArray(parent))
      this.#splice(parent, key === '-' ? parent.length : indexOf(key, parent.length), 0, value);
    else setKey(parent, key, value);
  }

  #replace(path: readonly string[], value: JsonValue): void {
    if (path.length === 0) {
      this.document = value;
      return;
    }
    const parent = this.#own(path);
    const key = path.at(-1)!;
    if (Array.isArray(parent)) parent[indexOf(key, parent.length - 1)] = value;
    else setKey(parent, key, value);
  }

  #remove(path: readonly string[]): JsonValue {
    if (path.length === 0) throw fault(MISSING_PATH);
    const key = path.at(-1)!;
    const holder = this.#find(path.slice(0, -1));
    if (isObject(holder) && ownValue(holder, key) === undefined)
      throw fault(`Unable to remove nonexistent key: ${key}: missing value`);
    const removed = this.#find(path);
    const parent = this.#own(path);
    if (Array.isArray(parent)) this.#splice(parent, indexOf(key, parent.length - 1), 1);
    else delete parent[key];
    return removed;
  }

  #splice(list: JsonValue[], at: number, removed: number, ...added: JsonValue[]): void {
    this.#moved += list.length - at;
    if (this.#moved > maxMoved) throw tooLarge('Cannot apply the JSON patch: it moves too much');
    list.splice(at, removed, ...added);
  }

  /** The value at a path. A member that is not there is a fault, or null where the caller says so. */
  #find(path: readonly string[], isAbsentNull = false): JsonValue {
    let value = this.document;
    for (let i = 0; i < path.length; i++) {
      const next = childOf(value, path[i]!);
      if (next === undefined) {
        if (isAbsentNull && i === path.length - 1 && isObject(value)) return null;
        throw fault(MISSING_PATH);
      }
      value = next;
    }
    return value;
  }

  /** The container that holds the last step of a path, copied with all above it unless that was done before. */
  #own(path: readonly string[]): Container {
    let container = this.#ownContainer(this.document);
    this.document = container;
    for (let i = 0; i < path.length - 1; i++) {
      const key = path[i]!;
      const child = this.#ownContainer(childOf(container, key));
      if (Array.isArray(container)) container[indexOf(key, container.length - 1)] = child;
      else setKey(container, key, child);
      container = child;
    }
    return container;
  }

  #ownContainer(value: JsonValue | undefined): Container {
    if (typeof value !== 'object' || value === null) throw fault(MISSING_PATH);
    if (this.#owned.has(value)) return value;
    const copy = Array.isArray(value) ? value.slice() : copyOf(value);
    this.#owned.add(copy);
    return copy;
  }
}

function childOf(value: JsonValue, key: string): JsonValue | undefined {
  if (Array.isArray(value)) return value[indexOf(key, value.length - 1)];
  return isObject(value) ? ownValue(value, key) : undefined;
}

function indexOf(key: string, last: number): number {
  if (!/^(?:0|[1-9][0-9]{0,9})$/.test(key)) throw fault(`value was not a proper array index: '${key}'`);
  const index = Number(key);
  if (index > last) throw fault(`Unable to access invalid index: ${index}: invalid index referenced`);
  return index;
}

function pointerOf(operation: JsonObject, field: 'path' | 'from'): readonly string[] {
  const pointer = ownValue(operation, field);
  const op = String(operation.op);
  if (typeof pointer !== 'string') throw fault(`${op} operation failed to decode ${field}: missing value`);
  if ((pointer !== '' && pointer[0] !== '/') || /~(?![01])/.test(pointer))
    throw fault(`${op} operation does not apply: doc is missing path: "${pointer}": missing value`);
  const steps = pointer.split('/').slice(1);
  if (steps.length > maxDepth)
    throw fault(`${op} operation does not apply: doc is missing path: "${pointer}": missing value`);
  return pointer.includes('~') ? steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')) : steps;
}

function operandOf(operation: JsonObject): JsonValue {
  const value = ownValue(operation, 'value');
  if (value === undefined) throw fault('operation has no value');
  return value;
}

function isPrefix(start: readonly string[], path: readonly string[]): boolean {
  return start.every((step, i) => step === path[i]);
}

const MISSING_PATH = 'missing path';

function fault(why: string, isFailedTest = false): StatusError {
  const err = unprocessable();
  err.cause = new PatchFault(why, isFailedTest);
  return err;
}
