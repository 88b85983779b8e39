/** A revision as etcd's key of a record: main and sub, 8 bytes each around an underscore; a `t` behind them is a delete. */
const SUB_AT = 9;
const LENGTH = 17;
const UNDERSCORE = 0x5f;
const TOMBSTONE = 0x74;

export type RevisionKey = { readonly revision: number; readonly sub: number; readonly isDelete: boolean };

export function encodeRevisionKey({ revision, sub, isDelete }: RevisionKey): Buffer {
  const key = Buffer.alloc(isDelete ? LENGTH + 1 : LENGTH);
  key.writeBigInt64BE(BigInt(revision), 0);
  key[SUB_AT - 1] = UNDERSCORE;
  key.writeBigInt64BE(BigInt(sub), SUB_AT);
  if (isDelete) key[LENGTH] = TOMBSTONE;
  return key;
}

/** Undefined if it is none. */
export function decodeRevisionKey(key: Buffer): RevisionKey | undefined {
  const isDelete = key.length === LENGTH + 1 && key[LENGTH] === TOMBSTONE;
  if ((key.length !== LENGTH && !isDelete) || key[SUB_AT - 1] !== UNDERSCORE) return undefined;
  return { revision: Number(key.readBigInt64BE(0)), sub: Number(key.readBigInt64BE(SUB_AT)), isDelete };
}
