/** Patterns of schemas: placeholder header, replaced below. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

export function compilePattern(pattern: string): (text: string) => boolean {
  try {
    const regexp = new RegExp(pattern);
    return (text) => regexp.test(text);
  } catch (err) {
    throw new PatternError((err as Error).message, { cause: err });
  }
}
