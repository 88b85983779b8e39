/** What is done to a container from outside: probes of its health, hooks at its start and before its end. */
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
} from '../../../../api/index.ts';
import { asksAbsent, atLeast, oneOf, portOrName, required } from '../../../strategy/validation/checks.ts';
import type { Check } from '../../../strategy/validation/field-table.ts';
import { isObject, numberAt, objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';
import { allOf, type StructCheck, structChecks } from '../../../strategy/validation/struct-checks.ts';

/** The time a pod has to end: no hook may sleep longer. */
export type GracePeriod = number | undefined;

const headerText =
  "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";

/** None at all is the port 0. */
const portOfHandler: Check = asksAbsent((value, path, owner) => portOrName(value ?? 0, path, owner));

const checkHttpGet: StructCheck = allOf(
  structChecks([
    ['path', required],
    ['port', portOfHandler],
    ['scheme', oneOf('HTTP', 'HTTPS')],
  ]),
  (action, path, errors) => {
    for (const header of objectsAt(action, 'httpHeaders')) {
      const name = textAt(header, 'name');
      if (!/^[-A-Za-z0-9]+$/.test(name)) errors.push(invalidValue(`${path}.httpHeaders`, name, headerText));
    }
  },
);
const actions: Readonly<Record<string, StructCheck>> = {
  exec: structChecks([['command', required]]),
  httpGet: checkHttpGet,
  tcpSocket: structChecks([['port', portOfHandler]]),
  grpc: structChecks([['port', portOfHandler]]),
};
const probeActions = ['exec', 'httpGet', 'tcpSocket', 'grpc'];
const hookActions = ['exec', 'httpGet', 'tcpSocket', 'sleep'];

function validateHandler(
  handler: JsonObject,
  path: string,
  known: readonly string[],
  grace: GracePeriod,
  errors: FieldError[],
): void {
  let found = 0;
  for (const name of known) {
    const action = handler[name];
    if (!isObject(action)) continue;
    const at = `${path}.${name}`;
    if (found++ > 0) errors.push(forbiddenValue(at, 'may not specify more than 1 handler type'));
    else if (name === 'sleep') validateSleep(numberAt(action, 'seconds') ?? 0, at, grace, errors);
    else actions[name]!(action, at, errors);
  }
  if (found === 0) errors.push(requiredValue(path, 'must specify a handler type'));
}

function validateSleep(seconds: number, path: string, grace: GracePeriod, errors: FieldError[]): void {
  if (grace === undefined || (seconds >= 0 && seconds <= grace)) return;
  const why = `must be non-negative and less than terminationGracePeriodSeconds (${grace})`;
  errors.push(invalidValue(path, seconds, why));
}

export function validateLifecycle(container: JsonObject, path: string, grace: GracePeriod, errors: FieldError[]): void {
  const lifecycle = objectAt(container, 'lifecycle');
  if (!lifecycle) return;
  for (const hook of ['postStart', 'preStop']) {
    const handler = objectAt(lifecycle, hook);
    if (handler) validateHandler(handler, `${path}.lifecycle.${hook}`, hookActions, grace, errors);
  }
}

const notNegative = atLeast(0);
const checkProbe = structChecks([
  ['initialDelaySeconds', notNegative],
  ['timeoutSeconds', notNegative],
  ['periodSeconds', notNegative],
  ['successThreshold', notNegative],
  ['failureThreshold', notNegative],
]);

export function validateProbes(container: JsonObject, path: string, grace: GracePeriod, errors: FieldError[]): void {
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const probe = objectAt(container, name);
    if (!probe) continue;
    const at = `${path}.${name}`;
    validateHandler(probe, at, probeActions, grace, errors);
    checkProbe(probe, at, errors);
    const period = numberAt(probe, 'terminationGracePeriodSeconds');
    const periodPath = `${at}.terminationGracePeriodSeconds`;
    if (period !== undefined && period <= 0) errors.push(invalidValue(periodPath, period, 'must be greater than 0'));
    const threshold = numberAt(probe, 'successThreshold') ?? 0;
    if (name === 'readinessProbe') {
      if (period !== undefined) errors.push(invalidValue(periodPath, period, 'must not be set for readinessProbes'));
    } else if (threshold !== 1) errors.push(invalidValue(`${at}.successThreshold`, threshold, 'must be 1'));
  }
}
