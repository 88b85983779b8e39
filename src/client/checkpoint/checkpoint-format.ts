/**
 * A checkpoint as text: one record a line, each with its checksum.
 *
 *   3b8e2f01 #{"format":1,...}                            whose it is: once, first
 *   91c04d7e +{"apiVersion":"v1","kind":"Pod",...}        an object that is there
 *   0d22af36 -"default/web-1"                             a key that is gone
 *   5e6b1c90 ={"at":1763222400000,"versions":{"*":"47"}}  everything above, as of these versions
 *
 * What is always true: only what a `=` follows counts, so objects and versions never disagree, wherever the file was cut.
 * A last line that is torn is what a crash leaves behind, and is left out. A line that is wrong with good ones after it
 * is damage: then nothing of the file is believed.
 */
import { crc32 } from 'node:zlib';
import { keyOf } from '../objects/object-key.ts';
import type { AnyObject } from '../objects/objects.ts';

/** Raised when a file of today could not be read by the code of yesterday, or the other way round. */
export const FORMAT = 1;

/** What a file is a copy of. Two that differ in anything but the last two are not exchangeable. */
export type CheckpointHeader = {
  readonly format: number;
  /** `apps/v1 deployments` */
  readonly resource: string;
  /** Sorted; `*` is all. */
  readonly namespaces: readonly string[];
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** Absent if there is none. */
  readonly shardSelector?: string;
  /** What is kept of an object. */
  readonly shape: string;
  readonly server: string;
  /** The uid of the cluster; undefined where it may not be asked for. */
  readonly cluster?: string;
};

export type Commit = {
  /** When the server was last heard: milliseconds since 1970. */
  readonly at: number;
  /** By namespace, or `*`. A part of the state that is not here was not complete. */
  readonly versions: Readonly<Record<string, string>>;
  /** Whose versions those are, where it is known. */
  readonly histories?: Readonly<Record<string, string>>;
};

export type SavedState<T extends AnyObject> = Commit & {
  readonly header: CheckpointHeader;
  readonly objects: Map<string, T>;
  /** Of the file, up to the last commit. */
  readonly bytes: number;
  /** How many of them a file without history would have, about. */
  readonly liveBytes: number;
};

export const headerLine = (header: CheckpointHeader): string => line(`#${JSON.stringify(header)}`);
export const putLine = (object: AnyObject): string => line(`+${JSON.stringify(object)}`);
export const deleteLine = (key: string): string => line(`-${JSON.stringify(key)}`);
export const commitLine = (commit: Commit): string => line(`=${JSON.stringify(commit)}`);

function line(record: string): string {
  return `${crc32(record).toString(16).padStart(8, '0')} ${record}\n`;
}

const NEWLINE = 10;
/** Of the checksum and the space after it. */
const PREFIX_BYTES = 9;

/** Takes a file in pieces of any size; `finish` tells what it holds, or throws what is wrong with it. */
export class CheckpointReader<T extends AnyObject> {
  #objects = new Map<string, T>();
  /** Since the last commit; undefined is gone. */
  #pending = new Map<string, T | undefined>();
  #hasDeletions = false;
  #header: CheckpointHeader | undefined;
  #commit: Commit | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #lines = 0;
  #bytes = 0;
  #committedBytes = 0;
  #torn: number | undefined;

  push(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      this.#take(bytes.subarray(from, end));
      from = end + 1;
    }
    this.#rest = bytes.subarray(from);
  }

  finish(): SavedState<T> {
    if (!this.#header) throw new Error(this.#lines === 0 ? 'it is empty' : 'its first line is damaged');
    if (!this.#commit) throw new Error('it holds no whole state');
    const live = this.#objects.size / Math.max(1, this.#lines - 2);
    return {
      ...this.#commit,
      header: this.#header,
      objects: this.#objects,
      bytes: this.#committedBytes,
      liveBytes: Math.ceil(this.#committedBytes * Math.min(1, live)),
    };
  }

  #take(bytes: Buffer): void {
    this.#lines++;
    const record = bytes.subarray(PREFIX_BYTES);
    const isIntact =
      bytes.length > PREFIX_BYTES + 1 &&
      bytes.toString('latin1', 0, PREFIX_BYTES) === `${crc32(record).toString(16).padStart(8, '0')} `;
    if (!isIntact) this.#torn ??= this.#lines;
    else if (this.#torn !== undefined) throw new Error(`its line ${this.#torn} is damaged`);
    else this.#apply(record.toString('latin1', 0, 1), JSON.parse(record.toString('utf8', 1)));
    this.#bytes += bytes.length + 1;
    if (isIntact && record[0] === '='.charCodeAt(0)) this.#committedBytes = this.#bytes;
  }

  #apply(sign: string, value: unknown): void {
    const isFirst = this.#header === undefined;
    if (isFirst !== (sign === '#')) throw new Error(`its line ${this.#lines} does not belong there`);
    if (sign === '#') {
      const header = value as CheckpointHeader;
      if (header.format !== FORMAT) throw new Error(`its format is ${header.format}, and not ${FORMAT}`);
      this.#header = header;
    } else if (sign === '+') this.#pending.set(keyOf(value as T), value as T);
    else if (sign === '-') {
      this.#pending.set(value as string, undefined);
      this.#hasDeletions = true;
    } else if (sign === '=') {
      this.#commitPending();
      this.#commit = value as Commit;
    } else throw new Error(`its line ${this.#lines} begins with ${JSON.stringify(sign)}`);
  }

  /** A file that was just written is one batch, of all there is. */
  #commitPending(): void {
    if (this.#objects.size === 0 && !this.#hasDeletions) {
      this.#objects = this.#pending as Map<string, T>;
      this.#pending = new Map();
      return;
    }
    for (const [key, object] of this.#pending)
      if (object) this.#objects.set(key, object);
      else this.#objects.delete(key);
    this.#pending.clear();
  }
}
