/**
 * An expression of a stored policy or webhook, compiled when it is first run and kept. It compiled when it was written;
 * one that does not any more (another server wrote it) is an error each time it is run, never a pass.
 */
import type { Program } from '../../cel/program.ts';
import type { CelType } from '../../cel/values/types.ts';
import { compileAdmission, type Surroundings } from '../../kinds/admissionregistration/expressions.ts';

export class StoredExpression {
  readonly text: string;
  readonly #surroundings: () => Surroundings;
  readonly #wanted: readonly CelType[];
  #compiled: Program | string | undefined;

  /** `wanted`: the types it may have; nothing if it may have any. */
  constructor(text: string, surroundings: () => Surroundings, wanted: readonly CelType[] = []) {
    this.text = text;
    this.#surroundings = surroundings;
    this.#wanted = wanted;
  }

  get isCompiled(): boolean {
    return this.#compiled !== undefined;
  }

  /** A text is why there is none. */
  get program(): Program | string {
    this.#compiled ??= compileAdmission(this.text, this.#surroundings(), this.#wanted);
    return this.#compiled;
  }
}
