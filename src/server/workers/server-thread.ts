/**
 * A thread of the server's own: the line to it, its end with the reason, and how soon another may take its place.
 */
import type { Worker } from 'node:worker_threads';
import { makeThread, type ThreadName } from '../event-loop/make-thread.ts';
import { type Answers, ThreadLine } from './thread-line.ts';

/** One that lived shorter than this is replaced after a pause, which doubles each time. */
const SHORT_LIFE_MS = 10_000;
const MOST_PAUSE_MS = 10_000;
const FIRST_PAUSE_MS = 100;

/** A thread that does not end by itself for so long is stopped as it is. */
const PATIENCE_MS = 5000;

/** Told to a thread, and by one (thread-end.ts). */
export const THREAD_END = { end: 'end', died: 'died' } as const;

export type ThreadEnd = {
  readonly code: number;
  /** What it died of, as the end of a sentence; empty if nobody knows. */
  readonly reason: string;
  readonly livedMs: number;
};

export class ServerThread {
  readonly worker: Worker;
  readonly line: ThreadLine;
  readonly ended: Promise<ThreadEnd>;

  /** `answers`: what it may ask. */
  constructor(name: ThreadName, answers: Answers) {
    const bornAt = performance.now();
    this.worker = makeThread(name);
    let reason = '';
    const died = (why: string) => {
      reason = `: ${why}`;
    };
    this.line = new ThreadLine(this.worker, { ...answers, [THREAD_END.died]: died });
    this.worker.on('message', (message) => this.line.hear(message));
    this.worker.on('error', (err) => {
      died(err.stack ?? err.message); // its end follows
    });
    this.ended = new Promise((resolve) => {
      this.worker.on('exit', (code) => {
        this.line.cut(`it has ended with code ${code}${reason}`);
        resolve({ code, reason, livedMs: performance.now() - bornAt });
      });
    });
  }

  /** Its connections end with it. */
  async terminate(): Promise<void> {
    this.line.tell(THREAD_END.end);
    const late = setTimeout(() => void this.worker.terminate(), PATIENCE_MS);
    await this.ended;
    clearTimeout(late);
  }
}

/** How long to wait before another takes the place of one that died: not at all, unless such do not live long. */
export class Replacing {
  #pauseMs = 0;

  pauseAfter(livedMs: number): number {
    this.#pauseMs = livedMs < SHORT_LIFE_MS ? Math.min(MOST_PAUSE_MS, 2 * this.#pauseMs || FIRST_PAUSE_MS) : 0;
    return this.#pauseMs;
  }
}
