/**
 * Why a live stream ended, in the words that the log and the metrics of watches share.
 *
 * Always true: whoever ends a stream says why, and the first reason stays: a client that leaves after the server has
 * ended its watch changes nothing. A new way to end one needs a line here, or it does not compile.
 */
export const STREAM_ENDS = {
  'client-left': 'the client ended the request or closed its connection',
  'connection-broken': 'the connection broke: it was reset, nobody answered on it, or what came over it was no HTTP',
  'too-slow': 'more waited for the client to read than is kept: it was cut off',
  'timeout-over': 'the time it asked for with timeoutSeconds, or that the server gives, was over',
  expired: 'its history is gone: it was sent 410',
  error: 'it was sent an error, or broken off by one',
  'rights-lost': 'its user may not watch this any more',
  'ended-by-admin': 'somebody deleted it among the watches',
  'resource-changed': 'the definition of its resource changed or went',
  complete: 'all there was to send has been sent',
  'upstream-ended': 'the server that it is passed on to ended it',
  'server-stopping': 'the server is stopping',
} as const;

export type StreamEnd = keyof typeof STREAM_ENDS;
