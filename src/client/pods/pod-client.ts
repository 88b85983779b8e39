/**
 * What runs in pods: logs, programs, ports. For any cluster that speaks WebSockets (Kubernetes 1.29 and later).
 *
 *     const inside = podsOf(client);
 *     for await (const line of inside.logs('web-1', { follow: true, since: 60 })) console.log(line);
 *     const { stdout, code } = await inside.run('web-1', ['uname', '-a']);
 *     await inside.copyFrom('web-1', '/var/log/app', './logs');
 *     await using forward = await inside.portForward('web-1', { port: 80 });
 *
 * Refusals are ApiErrors, broken connections TransportErrors, and nothing is begun a second time.
 */
import type { Duplex } from 'node:stream';
import { GatheredBytes } from '../../api/bytes/gathered-bytes.ts';
import { TransportError } from '../errors.ts';
import type { KubeClient } from '../kube-client.ts';
import { pods } from '../objects/generated/core-v1.ts';
import { objectPath } from '../resources/resource-path.ts';
import type { Transport } from '../transport/transport.ts';
import { type CopyOptions, copyInto, copyOutOf } from './copy-files.ts';
import { type LogOptions, logLines } from './log-lines.ts';
import { EXEC_PROTOCOLS, PodProcess } from './pod-process.ts';
import { dialPod, forwardPort, type PortForward, type PortForwardOptions } from './port-forward.ts';
import { openWebSocket } from './websocket.ts';

export type AttachOptions = {
  readonly namespace?: string | undefined;
  readonly container?: string | undefined;
  /** false */
  readonly stdin?: boolean | undefined;
  /** true */
  readonly stdout?: boolean | undefined;
  /** true, but not with a terminal, which has one output */
  readonly stderr?: boolean | undefined;
  /** A terminal: false. */
  readonly tty?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type RunOptions = {
  readonly namespace?: string | undefined;
  readonly container?: string | undefined;
  readonly stdin?: string | Buffer | undefined;
  /** Of each output: 16 MiB; more is an error. */
  readonly limitBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type RunResult = { readonly code: number; readonly stdout: string; readonly stderr: string };

const LIMIT_OUTPUT_BYTES = 16 * 1024 * 1024;

export class PodClient {
  readonly #transport: Transport;
  readonly #namespace: string;

  constructor(transport: Transport, namespace: string) {
    this.#transport = transport;
    this.#namespace = namespace;
  }

  logs(name: string, options: LogOptions = {}): AsyncGenerator<string, void, void> {
    return logLines(this.#transport, name, options.namespace ?? this.#namespace, options);
  }

  /** Starts a program; there is no shell unless it is one. */
  exec(name: string, command: readonly string[], options: AttachOptions = {}): Promise<PodProcess> {
    return this.#open(name, 'exec', command, options);
  }

  /** The program that the container runs anyway. */
  attach(name: string, options: AttachOptions = {}): Promise<PodProcess> {
    return this.#open(name, 'attach', [], options);
  }

  /** Runs a program to its end. An exit code that is not 0 is no error. */
  async run(name: string, command: readonly string[], options: RunOptions = {}): Promise<RunResult> {
    const { stdin, limitBytes = LIMIT_OUTPUT_BYTES, ...where } = options;
    await using process = await this.exec(name, command, { ...where, stdin: stdin !== undefined });
    if (stdin !== undefined) process.stdin.end(stdin);
    const outputs = [process.stdout, process.stderr].map((stream) => textOf(stream, limitBytes, name));
    const [stdout, stderr] = (await Promise.all(outputs)) as [string, string];
    return { code: await process.exited, stdout, stderr };
  }

  /** A file or folder of this machine: what lies at `source` lies at `target` in the container afterwards. It needs a `tar`. */
  copyTo(name: string, source: string, target: string, options: CopyOptions = {}): Promise<void> {
    return copyInto(this.#execFor(name, options), source, target, options);
  }

  /** The other way round. Nothing is written but the target and what is below it. */
  copyFrom(name: string, source: string, target: string, options: CopyOptions = {}): Promise<void> {
    return copyOutOf(this.#execFor(name, options), source, target, options);
  }

  portForward(name: string, options: PortForwardOptions): Promise<PortForward> {
    return forwardPort(this.#transport, name, options.namespace ?? this.#namespace, options);
  }

  /** One connection to a port, without a port of this machine. */
  dial(
    name: string,
    { port, namespace = this.#namespace, signal }: Pick<PortForwardOptions, 'port' | 'namespace' | 'signal'>,
  ): Promise<Duplex> {
    return dialPod(this.#transport, { name, namespace, port }, signal);
  }

  #execFor(name: string, { namespace, container, signal }: CopyOptions) {
    return (command: readonly string[], stdin: boolean) =>
      this.exec(name, command, { namespace, container, signal, stdin });
  }

  async #open(name: string, what: string, command: readonly string[], options: AttachOptions): Promise<PodProcess> {
    const { namespace = this.#namespace, container, signal, stdin = false, tty = false, stdout = true } = options;
    const { stderr = !tty } = options;
    const query = {
      command,
      container,
      stdin: stdin || undefined,
      stdout: stdout || undefined,
      stderr: stderr || undefined,
      tty: tty || undefined,
    };
    const path = objectPath(pods, namespace, name, what);
    const socket = await openWebSocket(this.#transport, path, { protocols: EXEC_PROTOCOLS, query, signal });
    return new PodProcess(socket, `GET ${path}`);
  }
}

/** In the namespace of the context, unless another is named here or in a call. */
export function podsOf(client: KubeClient, namespace: string = client.namespace): PodClient {
  return new PodClient(client.transport, namespace);
}

async function textOf(stream: AsyncIterable<Buffer>, limitBytes: number, name: string): Promise<string> {
  const output = new GatheredBytes(limitBytes);
  for await (const chunk of stream)
    if (!output.add(chunk))
      throw new TransportError('body', `Cannot run it in "${name}": over ${limitBytes} bytes of output`);
  return output.takeText();
}
