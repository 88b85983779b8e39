/**
 * The body of a request, and the object in it: read, then checked, then handed on, with a turn for others between two of
 * these where the one before took long; long YAML is read aside. It fails as `parseBody` does; what is worth a warning is
 * told to the context.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '../../../api/index.ts';
import { type BodyType, type FieldValidation, mediaTypeOf, parseBody, readYamlAside } from '../../codec/index.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { RequestContext } from '../../request/request-context.ts';

const SHORT_BYTES = 4 * 1024;

/** Said to be short, and not YAML, of which a little may be a lot. */
export function isShortBody({ 'content-length': length, 'content-type': type }: IncomingHttpHeaders): boolean {
  return length !== undefined && Number(length) <= SHORT_BYTES && !mediaTypeOf(type).endsWith('yaml');
}

/** Ready to be decoded without holding others up. */
export function readBody(context: RequestContext): Promise<Buffer> {
  const reading = context.readBody();
  if (!mediaTypeOf(context.headers['content-type']).endsWith('yaml')) return reading;
  return reading.then(async (bytes) => {
    await readYamlAside(bytes, context);
    return bytes;
  });
}

export async function readBodyObject(
  context: RequestContext,
  resource: BodyType,
  fieldValidation: FieldValidation,
): Promise<JsonObject> {
  const bytes = await readBody(context);
  const slices = new WorkSlices(context);
  const check = parseBody({
    contentType: context.headers['content-type'],
    bytes,
    resource,
    fieldValidation,
    warn: (text) => context.warn(text),
  });
  if (slices.isOver) await slices.pause();
  const { object, warnings } = check();
  if (slices.isOver) await slices.pause();
  for (const text of warnings) context.warn(text);
  return object;
}
