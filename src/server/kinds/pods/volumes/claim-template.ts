/** The template of a claim within an ephemeral volume. Of its metadata only labels and annotations may be set. */
import { type FieldError, forbiddenValue, type JsonObject } from '../../../../api/index.ts';
import { appendAll } from '../../../strategy/validation/append-all.ts';
import { isEmpty, mapAt, objectAt } from '../../../strategy/validation/fields.ts';
import { validateAnnotations, validateLabels } from '../../../strategy/validation/metadata-validation.ts';
import { validateClaimSpec } from '../../storage/claim-spec.ts';

export function validateClaimTemplate(template: JsonObject, path: string, errors: FieldError[]): void {
  const metadata = objectAt(template, 'metadata') ?? {};
  const at = `${path}.metadata`;
  appendAll(errors, validateAnnotations(mapAt(metadata, 'annotations'), `${at}.annotations`));
  appendAll(errors, validateLabels(mapAt(metadata, 'labels'), `${at}.labels`));
  for (const [field, value] of Object.entries(metadata)) {
    if (field === 'annotations' || field === 'labels' || isEmpty(value) || value === 0) continue;
    errors.push(forbiddenValue(`${at}.${field === 'uid' ? 'uID' : field}`, 'cannot be set'));
  }
  appendAll(errors, validateClaimSpec(objectAt(template, 'spec') ?? {}, `${path}.spec`));
}
