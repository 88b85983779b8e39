/**
 * Two threads that ask each other: a question by name with one argument, an answer or an error. When the other thread is
 * gone, whoever waits for an answer is told so.
 */
import type { MessagePort, Worker } from 'node:worker_threads';

type Line = Pick<MessagePort | Worker, 'postMessage'>;

/** What the other thread may ask, by name. */
export type Answers = Readonly<Record<string, (argument: never) => unknown>>;

type Message =
  | { readonly kind: 'ask'; readonly id: number; readonly name: string; readonly argument: unknown }
  | { readonly kind: 'tell'; readonly name: string; readonly argument: unknown }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly message: string };

type Waiting = { readonly resolve: (answer: unknown) => void; readonly reject: (reason: unknown) => void };

export class ThreadLine {
  readonly #line: Line;
  readonly #answers: Answers;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #cut: Error | undefined;

  constructor(line: Line, answers: Answers) {
    this.#line = line;
    this.#answers = answers;
  }

  /** Fails when the other one does, or is gone. */
  ask<T>(name: string, argument?: unknown, transfer: readonly MessagePort[] = []): Promise<T> {
    if (this.#cut) return Promise.reject(this.#cut);
    const id = ++this.#lastId;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (answer: unknown) => void, reject });
      this.#line.postMessage({ kind: 'ask', id, name, argument } satisfies Message, transfer);
    });
  }

  /** Without an answer. */
  tell(name: string, argument?: unknown): void {
    if (!this.#cut) this.#line.postMessage({ kind: 'tell', name, argument } satisfies Message);
  }

  /** To be called with every message of the line. */
  hear(message: Message): void {
    switch (message.kind) {
      case 'ask':
        void this.#answer(message.id, message.name, message.argument);
        return;
      case 'tell':
        this.#answers[message.name]?.(message.argument as never);
        return;
      case 'answer':
      case 'error': {
        const waiting = this.#waiting.get(message.id);
        this.#waiting.delete(message.id);
        if (message.kind === 'answer') waiting?.resolve(message.answer);
        else waiting?.reject(new Error(message.message));
        return;
      }
    }
  }

  /** The other thread is gone. */
  cut(why: string): void {
    this.#cut = new Error(`the thread is gone: ${why}`);
    for (const { reject } of this.#waiting.values()) reject(this.#cut);
    this.#waiting.clear();
  }

  async #answer(id: number, name: string, argument: unknown): Promise<void> {
    let message: Message;
    try {
      message = { kind: 'answer', id, answer: await this.#answers[name]!(argument as never) };
    } catch (err) {
      message = { kind: 'error', id, message: err instanceof Error ? err.message : String(err) };
    }
    if (!this.#cut) this.#line.postMessage(message);
  }
}
