/**
 * The page's reads: relative to where it was loaded, with the secret that only this page has.
 *
 * The secret comes in the fragment of the first address, which no server sees, and is kept by the browser for this very
 * port. A refusal is a `ReadError` with the server's own words; whoever reads decides whether to ask again.
 */
const SECRET_NAME = 'longwatch-page';

export class ReadError extends Error {
  override readonly name = 'ReadError';
  /** 0: nobody answered. */
  readonly code: number;
  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** To be called once, before anything is read. */
export function takeSecret(): void {
  const found = /^#page=([\w-]+)$/.exec(location.hash)?.[1];
  if (found === undefined) return;
  localStorage.setItem(SECRET_NAME, found);
  history.replaceState(null, '', location.pathname);
}

/** A session for whom the token is of; it is sent once, and not kept. */
export async function signIn(token: string): Promise<void> {
  const response = await fetch('session', { headers: { authorization: `Bearer ${token}` }, cache: 'no-store' });
  if (!response.ok) throw new ReadError(response.status, messageIn(await response.text()) || response.statusText);
  const { page } = (await response.json()) as { page?: string };
  if (page !== undefined) localStorage.setItem(SECRET_NAME, page);
}

export type ReadOptions = { readonly signal?: AbortSignal; readonly accept?: string };

export async function readJson<T>(path: string, options: ReadOptions = {}): Promise<T> {
  return (await read(path, options)).json() as Promise<T>;
}

export async function readText(path: string, options: ReadOptions = {}): Promise<string> {
  return (await read(path, { accept: 'text/plain', ...options })).text();
}

/** One JSON document a line, as they come. */
export async function* readLines<T>(path: string, options: ReadOptions = {}): AsyncGenerator<T, void, void> {
  const response = await read(path, options);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop()!;
      for (const line of lines) if (line !== '') yield JSON.parse(line) as T;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

async function read(path: string, { signal, accept = 'application/json' }: ReadOptions): Promise<Response> {
  let response: Response;
  try {
    const secret = localStorage.getItem(SECRET_NAME);
    response = await fetch(path, {
      headers: { accept, ...(secret !== null && { 'x-longwatch-page': secret }) },
      cache: 'no-store',
      ...(signal && { signal }),
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new ReadError(0, 'Nobody answers: is the process that serves this page still running?', { cause });
  }
  if (response.ok) return response;
  const text = await response.text();
  throw new ReadError(response.status, messageIn(text) || response.statusText);
}

/** Of a Status, or the text itself. */
function messageIn(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? text);
  } catch {
    return text.trim();
  }
}
