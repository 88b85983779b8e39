/** Makes what many readers share safe from each of them: a write to it throws, at the place that is wrong. */

/** All the way down; what is frozen already is taken to be so all the way down. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) deepFreeze(part);
  return value;
}

/** It costs a walk through every object, so it is for development. */
export function freezesByDefault(): boolean {
  return process.env.NODE_ENV !== 'production';
}
