/** Time as flow control needs it: in seconds, and something to be done after some of them. A test turns it by hand. */
export interface SeatTimer {
  /** Never goes back. */
  now(): number;
  /** Returns how to call it off. */
  after(seconds: number, act: () => void): () => void;
}

export const systemTimer: SeatTimer = {
  now: () => performance.now() / 1000,
  after: (seconds, act) => {
    const timer = setTimeout(act, seconds * 1000);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
