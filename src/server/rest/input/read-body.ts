/**
 * The body of a request, and the object in it: read, then checked, then handed on, with a turn for others between two of
 * these where the one before took long; long YAML is read aside. It fails as `parseBody` does; what is worth a warning is
 * told to the context.
 */
import type { JsonObject } from '../../../api/index.ts';
import { type BodyType, type FieldValidation, mediaTypeOf, parseBody, readYamlAside } from '../../codec/index.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { RequestContext } from '../../request/request-context.ts';

/** Ready to be decoded without holding others up. */
export async function readBody(context: RequestContext): Promise<Buffer> {
  const bytes = await context.readBody();
  if (mediaTypeOf(context.headers['content-type']).endsWith('yaml')) await readYamlAside(bytes, context.signal);
  return bytes;
}

export async function readBodyObject(
  context: RequestContext,
  resource: BodyType,
  fieldValidation: FieldValidation,
): Promise<JsonObject> {
  const bytes = await readBody(context);
  const slices = new WorkSlices(context.signal);
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
