/**
 * How a call can fail. Four kinds, kept apart because each asks for something else:
 *
 * - ApiError: the server has answered, with a Status that says no. Branch on `reason`.
 * - TransportError: there is no answer, or only a part of one. `phase` says how far it came.
 * - ConfigError: the configuration does not say how to reach the cluster. The message names file and field.
 * - an abort: whatever reason the caller's signal has, passed on as it is.
 *
 * They are told apart by name, not by `instanceof`: two installed copies must still agree.
 */
import type { Status } from '../api/index.ts';

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: Status;
  /** The HTTP status, or that of an ERROR event of a watch. */
  readonly code: number;
  /** `NotFound`, `Conflict`, `Expired`, ...; of an answer without a Status it is what its code stands for. */
  readonly reason: string;
  /** Such as `GET /api/v1/pods`. */
  readonly request: string;

  constructor(status: Status, request: string, options?: ErrorOptions) {
    super(status.message || `${status.reason || 'Failure'} (${status.code ?? 0})`, options);
    this.status = status;
    this.code = status.code ?? 0;
    this.reason = status.reason || reasonOf(this.code);
    this.request = request;
  }

  /** What the server has asked for, if it has. */
  get retryAfterMs(): number | undefined {
    const seconds = this.status.details?.retryAfterSeconds;
    return seconds === undefined ? undefined : seconds * 1000;
  }
}

export function isApiError(err: unknown, reason?: string): err is ApiError {
  if (!(err instanceof Error) || err.name !== 'ApiError') return false;
  return reason === undefined || (err as ApiError).reason === reason;
}

/** History is gone: list again. Servers say it as `Expired` or as `Gone`. */
export function isExpired(err: unknown): err is ApiError {
  return isApiError(err) && (err.code === 410 || err.reason === 'Expired' || err.reason === 'Gone');
}

/**
 * `connect`: no connection, so nothing was sent. `headers`: sent, perhaps applied, but no answer. `body`: the answer
 * broke off. `idle`: the answer went silent. `total`: the time for all of it is over.
 */
export type TransportPhase = 'connect' | 'headers' | 'body' | 'idle' | 'total';

export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly phase: TransportPhase;
  /** A limit of ours has passed, as opposed to a connection that broke. */
  readonly isTimeout: boolean;
  /** Of the system or of TLS, such as `ECONNREFUSED`. */
  readonly code: string | undefined;

  constructor(
    phase: TransportPhase,
    message: string,
    options: ErrorOptions & { isTimeout?: boolean; code?: string } = {},
  ) {
    super(message, options);
    this.phase = phase;
    this.isTimeout = options.isTimeout ?? false;
    this.code = options.code ?? (options.cause as { code?: string } | undefined)?.code;
  }
}

export function isTransportError(err: unknown, phase?: TransportPhase): err is TransportError {
  if (!(err instanceof Error) || err.name !== 'TransportError') return false;
  return phase === undefined || (err as TransportError).phase === phase;
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function reasonOf(code: number): string {
  return reasons[code] ?? 'Unknown';
}
