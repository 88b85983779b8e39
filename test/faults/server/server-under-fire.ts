/** A server in a process of its own, durable, with a client; it can be killed and asked what memory it takes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ApiClient, type ApiClientOptions, credentialsOf } from '../../../src/testing/index.ts';

const script = fileURLToPath(new URL('server-process.ts', import.meta.url));

export type ServerProcess = AsyncDisposable & {
  readonly client: ApiClient;
  connect(options?: Partial<ApiClientOptions>): ApiClient;
  /** Resident, by its own metrics. */
  memoryBytes(): Promise<number>;
  kill(): Promise<void>;
};

export async function startServerProcess(dataDir: string): Promise<ServerProcess> {
  const args = ['--import', 'tsx', script, dataDir];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const [line] = (await Promise.race([once(child.stdout, 'data'), exited])) as [Buffer | number];
  if (!Buffer.isBuffer(line)) throw new Error(`Cannot start the server: it exited with ${line}`);
  const url = line.toString().trim();
  const credentials = credentialsOf(dataDir, join(dataDir, 'admin.kubeconfig'));
  const clients: ApiClient[] = [];
  const connect = (options: Partial<ApiClientOptions> = {}) => {
    const client = new ApiClient({ url, ...credentials, ...options });
    clients.push(client);
    return client;
  };
  const client = connect();
  const kill = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  return {
    client,
    connect,
    kill,
    async memoryBytes() {
      const { body } = await client.ask('GET', '/metrics');
      const found = /^process_resident_memory_bytes (\S+)$/m.exec(body.toString('utf8'))?.[1];
      if (!found) throw new Error('Cannot read the memory of the server: its metrics do not tell');
      return Number(found);
    },
    async [Symbol.asyncDispose]() {
      for (const one of clients) one.close();
      await kill();
    },
  };
}
