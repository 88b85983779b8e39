/** API services: which server answers for a group in a version, this one or one behind a Service. */
import {
  checkDns1035Label,
  checkDnsSubdomain,
  type FieldError,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
} from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { oneOf, portNumber } from '../../strategy/validation/checks.ts';
import { checksFrom, defaultsFrom } from '../../strategy/validation/field-table.ts';
import { isEmpty, numberAt, objectAt, textAt } from '../../strategy/validation/fields.ts';

const positiveUpTo = (most: number) => (value: unknown, path: string) =>
  typeof value === 'number' && value > 0 && value <= most
    ? []
    : [invalidValue(path, value ?? 0, `must be positive and less than ${most}`)];

const checkPriorities = checksFrom([
  ['spec.groupPriorityMinimum', positiveUpTo(20000)],
  ['spec.versionPriority', positiveUpTo(1000)],
]);

const checkConditions = checksFrom([
  ['status.conditions[].status', (value, path, owner) => oneOf('True', 'False', 'Unknown')(value ?? '', path, owner)],
]);

export const apiServiceStrategy: Strategy = {
  setDefaults: defaultsFrom([['spec.service.port', 443]]),
  prepareCreate: (service, { now }) => {
    const isLocal = !objectAt(objectAt(service as JsonObject, 'spec'), 'service');
    const condition = {
      type: 'Available',
      status: 'True',
      lastTransitionTime: now,
      reason: 'Local',
      message: 'Local APIServices are always available',
    };
    service.status = isLocal ? { conditions: [condition] } : {};
  },
  validate: (service) => {
    const spec = objectAt(service as JsonObject, 'spec') ?? {};
    return [
      ...checkName(service, spec),
      ...checkVersion(spec),
      ...checkPriorities(service),
      ...checkServer(spec),
      ...checkConditions(service),
    ];
  },
};

function checkName({ metadata: { name = '' } }: KubeObject, spec: JsonObject): FieldError[] {
  const [group, wanted] = [textAt(spec, 'group'), `${textAt(spec, 'version')}.${textAt(spec, 'group')}`];
  if (name === wanted || (name === 'v1.' && group === '')) return [];
  return [invalidValue('metadata.name', name, `must be \`spec.version+"."+spec.group\`: "${wanted}"`)];
}

function checkVersion(spec: JsonObject): FieldError[] {
  const [group, version] = [textAt(spec, 'group'), textAt(spec, 'version')];
  const errors: FieldError[] = [];
  if (group === '' && version !== 'v1')
    errors.push(requiredValue('spec.group', 'only v1 may have an empty group and it better be legacy kube'));
  for (const problem of group === '' ? [] : checkDnsSubdomain(group))
    errors.push(invalidValue('spec.group', group, problem));
  for (const problem of checkDns1035Label(version)) errors.push(invalidValue('spec.version', version, problem));
  return errors;
}

function checkServer(spec: JsonObject): FieldError[] {
  const service = objectAt(spec, 'service');
  const isUnchecked = spec.insecureSkipTLSVerify === true;
  const errors: FieldError[] = [];
  if (!service) {
    const bytes = Buffer.byteLength(textAt(spec, 'caBundle'), 'base64');
    if (bytes > 0)
      errors.push(invalidValue('spec.caBundle', `${bytes} bytes`, 'local APIServices may not have a caBundle'));
    if (isUnchecked) {
      const why = 'local APIServices may not have insecureSkipTLSVerify';
      errors.push(invalidValue('spec.insecureSkipTLSVerify', true, why));
    }
    return errors;
  }
  for (const field of ['namespace', 'name'])
    if (textAt(service, field) === '') errors.push(requiredValue(`spec.service.${field}`));
  const port = numberAt(service, 'port') ?? 443;
  for (const _ of portNumber(port, '', service))
    errors.push(invalidValue('spec.service.port', port, 'port is not valid: must be between 1 and 65535, inclusive'));
  if (isUnchecked && !isEmpty(spec.caBundle))
    errors.push(invalidValue('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present'));
  return errors;
}
