/**
 * The way to the server: the connection, its protocol and certificates, whether what answers is an API server, how fast,
 * whether it is ready, what its clock says and whether it has flow control.
 *
 * The first of them that finds no way ends the examination: everything else would fail for the same reason.
 */
import { X509Certificate } from 'node:crypto';
import { connect as connectTls, type PeerCertificate, type TLSSocket } from 'node:tls';
import { greatestOf } from '../../../api/index.ts';
import { isApiError } from '../../../client/index.ts';
import { showMs } from '../../terminal/table.ts';
import { type Finding, findingOf, ok, skipped } from './finding.ts';
import type { Patient } from './patient.ts';

const DAY_MS = 86_400_000;
const WARN_DAYS = 14;
const SKEW_MS = 5000;
/** A document of this size, at least, tells how fast bytes come. */
const ENOUGH_BYTES = 10_000;
/** Of it, this much time is enough. */
const LONG_MS = 2000;

/** Throws nothing: a failure of the first kind is the last finding. */
export async function* connectionChecks(patient: Patient): AsyncGenerator<Finding, boolean, void> {
  const { access } = patient.client.transport;
  const { server, skipsTlsVerify, proxy } = access;
  yield skipsTlsVerify
    ? {
        check: 'configuration',
        level: 'warning',
        cause: 'tls-not-verified',
        message: `${server.origin}: the certificate of the server is not verified`,
        remedy: 'Put certificate-authority-data into the kubeconfig in the place of insecure-skip-tls-verify.',
      }
    : ok('configuration', `${server.origin}, namespace ${patient.options.namespace}`);
  let hasExpired = false;
  if (server.protocol === 'https:' && !proxy) hasExpired = yield* tlsChecks(patient);
  else yield skipped('protocol', proxy ? `behind the proxy ${proxy.host}` : 'no TLS');
  const times: number[] = [];
  let version: { gitVersion?: string } = {};
  let headers: Readonly<Record<string, unknown>> = {};
  let seenAt = 0;
  try {
    for (let i = 0; i < 5; i++) {
      const answer = await patient.ask<typeof version>('GET', '/version');
      times.push(answer.ms);
      ({ body: version, headers } = answer);
      seenAt = Date.now();
    }
  } catch (err) {
    patient.options.signal.throwIfAborted();
    // Refused for a reason that was named already.
    const isNamed = hasExpired && isApiError(err, 'Unauthorized');
    yield isNamed
      ? skipped('server', `GET /version: ${err.message}, as this user's certificate has expired`)
      : findingOf('server', 'GET /version', err);
    return false;
  }
  if (typeof version?.gitVersion !== 'string') {
    yield {
      check: 'server',
      level: 'failure',
      cause: 'not-an-api-server',
      message: 'GET /version was answered, but not by an API server',
      remedy:
        'Something on the way answers in its place: look at load balancers, proxies and the address in the kubeconfig.',
    };
    return false;
  }
  patient.isOurs = version.gitVersion.endsWith('+longwatch');
  yield ok('server', `${version.gitVersion}${patient.isOurs ? ' (longwatch)' : ''}`);
  yield speedOf(times, patient.options.slow.answerMs);
  yield await bytesCheck(patient);
  yield await readyCheck(patient);
  yield clockCheck(headers.date, seenAt, greatestOf(times));
  yield 'x-kubernetes-pf-flowschema-uid' in headers
    ? ok('flow control', 'answers name their flow schema and priority level')
    : skipped('flow control', 'answers name no flow schema: it is off, or a proxy takes the headers away');
  return true;
}

function speedOf(times: readonly number[], slowMs: number): Finding {
  const median = [...times].sort((a, b) => a - b)[times.length >> 1]!;
  const data = { medianMs: Math.round(median * 10) / 10 };
  if (median < slowMs) return ok('answers', `${showMs(median)} for a small one`, data);
  const remedy =
    'The server is overloaded or far away, or a proxy holds requests back: compare with a client beside the server.';
  return {
    check: 'answers',
    level: 'warning',
    cause: 'slow-answers',
    message: `${showMs(median)} for a small one`,
    remedy,
    data,
  };
}

/** How fast bytes come, by a document that every cluster has; the best of three, for others use the line too. */
async function bytesCheck(patient: Patient): Promise<Finding> {
  const { bytesPerSecond: slow } = patient.options.slow;
  let best = 0;
  for (let i = 0; i < 3 && best < slow; i++) {
    const began = performance.now();
    let bytes = 0;
    let first = began;
    try {
      const { timeoutMs, signal } = patient.options;
      const timeouts = { headersMs: timeoutMs, idleMs: timeoutMs, totalMs: timeoutMs * 2 };
      const stream = await patient.client.transport.stream('GET', '/openapi/v2', { timeouts, signal });
      first = performance.now();
      for await (const chunk of stream.chunks) {
        bytes += chunk.length;
        if (bytes > 20 * ENOUGH_BYTES || performance.now() - first > LONG_MS) break;
      }
      stream.close();
    } catch (err) {
      patient.options.signal.throwIfAborted();
      if (bytes < ENOUGH_BYTES) return skipped('throughput', `not to be told: ${(err as Error).message}`);
    }
    best = Math.max(best, bytes / Math.max(0.001, (performance.now() - first) / 1000));
  }
  const data = { bytesPerSecond: Math.round(best) };
  if (best >= slow) return ok('throughput', 'bytes come as fast as they should', data);
  const message = `bytes trickle: ${Math.round(best / 1024)} KiB/s`;
  const remedy = 'Something on the way shapes or buffers traffic: lists of large resources will time out.';
  return { check: 'throughput', level: 'warning', cause: 'slow-bytes', message, remedy, data };
}

async function readyCheck(patient: Patient): Promise<Finding> {
  try {
    await patient.ask('GET', '/readyz');
    return ok('readiness', '/readyz says ok');
  } catch (err) {
    patient.options.signal.throwIfAborted();
    return findingOf('readiness', '/readyz', err);
  }
}

function clockCheck(date: unknown, seenAt: number, answerMs: number): Finding {
  const theirs = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(theirs)) return skipped('clock', 'answers have no date');
  const skewMs = Math.abs(seenAt - theirs);
  const data = { skewMs };
  if (skewMs < SKEW_MS + answerMs + 1000) return ok('clock', 'the clocks agree', data);
  const message = `the clock of the server differs by ${showMs(skewMs)}`;
  const remedy = 'Set both by NTP: leases, tokens and certificates count on it.';
  return { check: 'clock', level: 'warning', cause: 'clock-skew', message, remedy, data };
}

/** Answers whether the certificate of this user has expired. */
async function* tlsChecks(patient: Patient): AsyncGenerator<Finding, boolean, void> {
  const { server, credentials } = patient.client.transport.access;
  let seen: { alpn: string; peer: PeerCertificate };
  try {
    seen = await handshake(patient);
  } catch {
    return false; // the first request says it in the words of the client
  }
  yield seen.alpn === 'h2'
    ? ok('protocol', 'HTTP/2 is offered')
    : ok('protocol', 'HTTP/1.1 only: every watch holds a connection of its own');
  yield daysOf('certificate', `the certificate of ${server.host}`, seen.peer.valid_to);
  const own = (await credentials?.current(patient.options.signal))?.cert;
  if (own === undefined) return false;
  const finding = daysOf('client certificate', 'the certificate of this user', new X509Certificate(own).validTo);
  yield finding;
  return finding.cause === 'certificate-expired';
}

function daysOf(check: string, what: string, until: string): Finding {
  const days = Math.floor((Date.parse(until) - Date.now()) / DAY_MS);
  const data = { days };
  if (days >= WARN_DAYS) return ok(check, `${what} is valid for ${days} more days`, data);
  const isOver = days < 0;
  return {
    check,
    level: isOver ? 'failure' : 'warning',
    cause: isOver ? 'certificate-expired' : 'certificate-expires',
    message: isOver ? `${what} is no longer valid` : `${what} is valid for ${days} more days only`,
    remedy: 'Renew it; a server of ours makes a new one when it starts without --tls-cert-file.',
    data,
  };
}

async function handshake(patient: Patient): Promise<{ alpn: string; peer: PeerCertificate }> {
  const { server, tlsServerName } = patient.client.transport.access;
  const host = server.hostname.replace(/^\[|\]$/g, '');
  const port = Number(server.port || 443);
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connectTls(
      // Who it is does not matter here: the client itself verifies, and this only reads.
      {
        host,
        port,
        ALPNProtocols: ['h2', 'http/1.1'],
        rejectUnauthorized: false,
        ...(tlsServerName && { servername: tlsServerName }),
      },
      () => {
        resolve({ alpn: socket.alpnProtocol || '', peer: socket.getPeerCertificate() });
        socket.destroy();
      },
    );
    socket.setTimeout(patient.options.timeoutMs, () => socket.destroy(new Error('no handshake in time')));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('closed')));
  });
}
