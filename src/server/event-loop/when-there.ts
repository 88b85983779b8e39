/**
 * Going on with a value that is at hand at once, and with one that is still to come when it is there: to wait for what is
 * there costs more than most of what is done with it. Whatever `next` throws, the caller hears as it would of any call, or
 * through the promise it was given.
 */
export function whenThere<T, U>(value: T | Promise<T>, next: (value: T) => U | Promise<U>): U | Promise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
