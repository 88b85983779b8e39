/** Runs `close` once, however often it is asked for; every caller waits for the same end. */
export function closeOnce(close: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= close();
    return done;
  };
}
