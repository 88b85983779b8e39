/** What every request of one HTTP server is given: limits and budgets that all of them share, and its own head as it came. */
import type { IncomingHttpHeaders } from 'node:http';
import type { StatusError } from '../../api/errors/status-error.ts';
import type { ChurningSet } from '../event-loop/churning-set.ts';
import type { EncodedStatus, RequestContext } from '../request/request-context.ts';
import type { ByteBudget } from './body/byte-budget.ts';
import type { PaceRule } from './body/pace.ts';
import type { BodyLimits } from './body/request-body.ts';
import type { HttpRequestContext } from './http-request-context.ts';
import type { StreamLimits } from './response/live-stream.ts';
import type { Scratch } from './response/scratch.ts';
import type { StreamRoom } from './response/stream-room.ts';
import type { TurnFlusher } from './response/turn-flusher.ts';

/** What all requests of one HTTP server share. */
export type SharedByRequests = BodyLimits & {
  readonly flusher: TurnFlusher;
  /** For answers of up to 16 KiB that exist in pieces. */
  readonly shortScratch: Scratch;
  readonly streamRoom: StreamRoom;
  readonly streamLimits: StreamLimits;
  /** What answers hold until they are read. */
  readonly answers: ByteBudget;
  readonly bodyPace: PaceRule;
  /** Counted in slices of an answer, see parts-writer.ts. */
  readonly answerPace: PaceRule;
  /** Names the history that versions belong to, in every answer about resources. */
  readonly history: string | undefined;
  readonly encodeStatus: ((context: RequestContext, error: StatusError) => EncodedStatus) | undefined;
  /** Told of every live stream as it begins. */
  readonly onStream: (context: RequestContext) => void;
  /** Those whose answers are not finished. */
  readonly open: ChurningSet<HttpRequestContext>;
  /** Told of every request when its answer is over. */
  readonly onEnd: (context: HttpRequestContext) => void;
  /** The server is going: connections are not kept, new streams end at once. */
  isDraining: boolean;
};

export type RequestHead = {
  readonly method: string;
  readonly path: string;
  readonly queryText: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, repeated headers apart. */
  readonly rawHeaders: readonly string[];
  readonly remoteAddress: string | undefined;
};
