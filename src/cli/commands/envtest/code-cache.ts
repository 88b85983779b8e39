/**
 * A program in one file, with its compiled code beside it: reading and compiling three megabytes is half of what the start
 * of a server costs, and a suite of tests starts many.
 *
 * What is always true: a cache that is missing, damaged, or that V8 does not take (another Node, other flags) costs time and
 * nothing else. V8 believes what it reads, so a sum of the whole stands at the end; and of the program it compares no more than the length,
 * so a cache must go with one file whose name changes with its content.
 */
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { Script } from 'node:vm';

const SUM_BYTES = 32;

export type LoadedProgram<T> = {
  readonly exports: T;
  /** Writes what has been compiled until now. */
  keepCode(): void;
};

/** `file` holds the function that a module of CommonJS is, in ASCII. It calls no `import()`: a script from a cache cannot. */
export function loadProgram<T>(file: string, cacheFile: string): LoadedProgram<T> {
  const cachedData = readWhole(cacheFile);
  const script = new Script(readFileSync(file, 'latin1'), { filename: file, ...(cachedData && { cachedData }) });
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(file), module, file, dirname(file));
  const keepCode = () => {
    const written = `${cacheFile}.${process.pid}`;
    const code = script.createCachedData();
    writeFileSync(written, Buffer.concat([code, sumOf(code)]), { mode: 0o600 });
    renameSync(written, cacheFile); // whoever starts meanwhile finds all of it or nothing
  };
  return { exports: module.exports as T, keepCode };
}

function readWhole(file: string): Buffer | undefined {
  try {
    const bytes = readFileSync(file);
    const code = bytes.subarray(0, -SUM_BYTES);
    return sumOf(code).equals(bytes.subarray(-SUM_BYTES)) ? code : undefined;
  } catch {
    return undefined; // there is none
  }
}

function sumOf(code: Buffer): Buffer {
  return createHash('sha256').update(code).digest();
}
