/** What a function of the user's may do instead of what it is asked for. */

// biome-ignore lint/suspicious/noExplicitAny: what it returns is wrong on purpose
export type Misbehaving = (...given: any[]) => any;

export const misbehaviours: Readonly<Record<string, Misbehaving>> = {
  throws: () => {
    throw new Error('bad');
  },
  rejects: async () => {
    throw new Error('bad');
  },
  hangs: () => new Promise(() => {}),
  'gives nonsense': () => ({ nonsense: Symbol('bad') }),
};
