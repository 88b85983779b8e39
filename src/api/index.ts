/** The words that every layer speaks. */

export { untilAborted } from './abort.ts';
export {
  backgroundClock,
  type Clock,
  hardwareClock,
  holdingClock,
  liveBy,
  systemClock,
  type TimeSource,
  wallNow,
} from './clock.ts';
export { closeOnce } from './closing.ts';
export { deepFreeze } from './deep-freeze.ts';
export {
  childPath,
  duplicateValue,
  type FieldError,
  type FieldErrorReason,
  fieldErrorText,
  forbiddenValue,
  internalFieldError,
  invalidValue,
  keyPath,
  quote,
  requiredValue,
  showValue,
  tooLong,
  tooMany,
  typeInvalid,
  unsupportedValue,
  valueNotFound,
} from './errors/field-error.ts';
export {
  alreadyExists,
  badRequest,
  bodyTooLarge,
  conflict,
  continueExpired,
  type DeniedRequest,
  detailsOf,
  expired,
  forbidden,
  forbiddenPath,
  forbiddenRequest,
  gone,
  internalError,
  invalid,
  isStatusError,
  listExpired,
  methodNotAllowed,
  notAcceptable,
  notFound,
  noUniqueName,
  otherHistory,
  plainError,
  type ResourceName,
  resourceNotFound,
  routeNotAcceptable,
  type Status,
  type StatusCause,
  type StatusDetails,
  StatusError,
  type StatusErrorParts,
  serverTimeout,
  serviceUnavailable,
  shapeNotAcceptable,
  staleVersion,
  successStatus,
  timeout,
  tooLarge,
  tooLargeResourceVersion,
  tooManyRequests,
  tooOldResourceVersion,
  unauthorized,
  unprocessable,
  unsupportedMediaType,
} from './errors/status-error.ts';
export { greatestOf, leastOf } from './extremes.ts';
export type { JsonObject, JsonValue } from './json.ts';
export { diffObjects, type FieldChange, showChange } from './object-diff.ts';
export type { KubeObject, ManagedFieldsEntry, ObjectMeta, OwnerReference } from './objects.ts';
export { CallbackError } from './observing/callback-error.ts';
export type { LogFields, Logger } from './observing/logger.ts';
export { tellSafely } from './observing/tell-safely.ts';
export { failSpan, SPAN_ERROR, type Span, type SpanAttributes, type Tracer, traced } from './observing/tracer.ts';
export { isPretendNode, PRETEND_LABEL } from './pretend-node.ts';
export {
  DurationError,
  formatGoDuration,
  humanAge,
  humanDuration,
  parseGoDuration,
  parseGoDurationMs,
} from './scalars/durations.ts';
export {
  checkAnnotationKey,
  checkConfigKey,
  checkDns1035Label,
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelValue,
  checkPathSegment,
  checkQualifiedName,
  checkStandardFinalizer,
  type NameCheck,
} from './scalars/names.ts';
export {
  canonicalQuantity,
  parseQuantity,
  Quantity,
  QuantityError,
  type QuantityFormat,
  sumQuantities,
  zeroQuantity,
} from './scalars/quantity.ts';
export { rfc3339 } from './scalars/timestamps.ts';
export { compareVersions, isBehind } from './scalars/versions.ts';
export {
  everyField,
  type FieldRequirement,
  FieldSelector,
  type FieldSupport,
  fieldLabelNotSupported,
  fieldLabelNotSupportedFor,
  metadataFields,
  notAKnownField,
  parseFieldSelector,
} from './selectors/field-selector.ts';
export {
  everyLabel,
  LabelSelector,
  type LabelSelectorObject,
  type Labels,
  labelSelectorFromLabels,
  labelSelectorFromObject,
  noLabel,
  parseLabelSelector,
  showLabelSelector,
} from './selectors/label-selector.ts';
export type { LabelOperator, LabelRequirement } from './selectors/label-selector-parser.ts';
