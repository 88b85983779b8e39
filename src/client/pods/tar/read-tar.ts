/**
 * Reads a tar archive as it comes: an entry, then its content in the pieces in which it came. Whoever goes on to the next entry
 * without having read the content skips it.
 *
 * What is held is a block and one piece; headers that come as entries of their own (long names) are refused above 64 KiB.
 */
import { BLOCK_BYTES, decodeHeader, decodePax, padding, type TarEntry } from './tar-header.ts';

const LIMIT_HEADER_BYTES = 64 * 1024;
const LIMIT_FILLING_BYTES = 16 * 1024 * 1024;

export type TarContent = AsyncGenerator<Buffer, void, void>;

/** Throws an Error that says what is wrong with the archive, without saying whose it is. */
export async function* readTar(chunks: AsyncIterable<Buffer>): AsyncGenerator<[TarEntry, TarContent], void, void> {
  const bytes = new ByteReader(chunks);
  try {
    yield* entriesOf(bytes);
    await bytes.drain(); // the writer is not to find that nobody reads any more
  } finally {
    await bytes.stop();
  }
}

async function* entriesOf(bytes: ByteReader): AsyncGenerator<[TarEntry, TarContent], void, void> {
  let own = new Map<string, string>();
  const all = new Map<string, string>();
  for (;;) {
    const head = await bytes.exactly(BLOCK_BYTES, 'a header');
    const raw = head && decodeHeader(head);
    if (!raw) return;
    const { type, size } = raw;
    if (type === 'x' || type === 'g' || type === 'L' || type === 'K') {
      if (size > LIMIT_HEADER_BYTES) throw new Error(`a header of it is over ${LIMIT_HEADER_BYTES} bytes`);
      const content = (await bytes.exactly(size, 'a long header')) ?? Buffer.alloc(0);
      await bytes.skip(padding(size).length);
      if (type === 'x') own = decodePax(content);
      else if (type === 'g') for (const [key, value] of decodePax(content)) all.set(key, value);
      else own.set(type === 'L' ? 'path' : 'linkpath', content.toString('utf8').split('\0', 1)[0]!);
      continue;
    }
    const entry = withRecords(raw, new Map([...all, ...own]));
    own = new Map();
    const hasContent = entry.kind === 'file' || entry.kind === 'other';
    const left = { bytes: hasContent ? entry.size : 0 };
    yield [hasContent ? entry : { ...entry, size: 0 }, contentOf(bytes, left)];
    await bytes.skip(left.bytes + padding(hasContent ? entry.size : 0).length);
  }
}

async function* contentOf(bytes: ByteReader, left: { bytes: number }): TarContent {
  while (left.bytes > 0) {
    const piece = await bytes.some(left.bytes);
    if (!piece) throw new Error('it ends in the middle of a file');
    left.bytes -= piece.length;
    yield piece;
  }
}

function withRecords(entry: TarEntry, records: ReadonlyMap<string, string>): TarEntry {
  const size = records.get('size');
  if (size !== undefined && !/^\d{1,15}$/.test(size)) throw new Error('its pax header is damaged');
  return {
    ...entry,
    name: records.get('path') ?? entry.name,
    linkName: records.get('linkpath') ?? entry.linkName,
    size: size === undefined ? entry.size : Number(size),
  };
}

/** Chunks as they came, taken in pieces of the reader's choice. */
class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #left: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** So much at most, and at least a byte; undefined at the end. */
  async some(limit: number): Promise<Buffer | undefined> {
    while (this.#left.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done) return undefined;
      this.#left = value;
    }
    const piece = this.#left.subarray(0, limit);
    this.#left = this.#left.subarray(piece.length);
    return piece;
  }

  /** Undefined if there is nothing at all. */
  async exactly(size: number, what: string): Promise<Buffer | undefined> {
    const pieces: Buffer[] = [];
    let bytes = 0;
    while (bytes < size) {
      const piece = await this.some(size - bytes);
      if (!piece && bytes === 0) return undefined;
      if (!piece) throw new Error(`it ends in the middle of ${what}`);
      pieces.push(piece);
      bytes += piece.length;
    }
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  /** Where it ends before, whoever reads on says so. */
  async skip(size: number): Promise<void> {
    for (let left = size; left > 0; ) {
      const piece = await this.some(left);
      if (!piece) return;
      left -= piece.length;
    }
  }

  /** Nothing more is wanted. */
  async stop(): Promise<void> {
    await this.#chunks.return?.();
  }

  /** Archives are filled up with zeros, to ten or a hundred blocks. */
  async drain(): Promise<void> {
    let bytes = 0;
    for (let piece = await this.some(LIMIT_FILLING_BYTES); piece; piece = await this.some(LIMIT_FILLING_BYTES)) {
      bytes += piece.length;
      if (bytes > LIMIT_FILLING_BYTES) throw new Error('it goes on after its end');
    }
  }
}
