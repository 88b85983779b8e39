/** A mutation that cannot be made; the failure policy says what follows. */
export class MutationError extends Error {
  override readonly name = 'MutationError';
}
