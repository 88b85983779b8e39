/** Runtime classes: which handler runs a pod, what that costs beside the containers, and on which nodes it is found. */

import { checkDnsLabel, duplicateValue, type FieldError, forbiddenValue, type JsonObject } from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { faultsOf } from '../../strategy/validation/append-all.ts';
import { named, required } from '../../strategy/validation/checks.ts';
import { checksFrom, immutableFields } from '../../strategy/validation/field-table.ts';
import { mapAt, objectAt, objectsAt, sortedEntries, textAt } from '../../strategy/validation/fields.ts';
import { validateLabels } from '../../strategy/validation/metadata-validation.ts';
import { labelWarning } from '../../strategy/validation/node-selector.ts';
import {
  checkContainerResourceName,
  checkPagesAmount,
  checkResourceAmount,
  isHugePages,
} from '../../strategy/validation/resource-names.ts';
import { checkTolerations } from '../../strategy/validation/tolerations.ts';

const checkHandler = checksFrom([['handler', required, named(checkDnsLabel)]]);

export const runtimeClassStrategy: Strategy = {
  validate: (runtimeClass) => {
    const scheduling = objectAt(runtimeClass as JsonObject, 'scheduling');
    return [
      ...checkHandler(runtimeClass),
      ...checkOverhead(objectAt(objectAt(runtimeClass as JsonObject, 'overhead'), 'podFixed')),
      ...validateLabels(mapAt(scheduling, 'nodeSelector'), 'scheduling.nodeSelector'),
      ...checkTolerations(objectsAt(scheduling, 'tolerations'), 'scheduling.tolerations'),
      ...checkRepeated(objectsAt(scheduling, 'tolerations'), 'scheduling.tolerations'),
    ];
  },
  validateUpdate: immutableFields(['handler']),
  warnings: (runtimeClass) =>
    sortedEntries(mapAt(objectAt(runtimeClass as JsonObject, 'scheduling'), 'nodeSelector')).flatMap(([label]) => {
      const text = labelWarning(label);
      return text ? [`scheduling.nodeSelector: ${text}`] : [];
    }),
};

/** Each once, for however long. */
function checkRepeated(tolerations: readonly JsonObject[], path: string): FieldError[] {
  if (tolerations.length < 2) return [];
  const seen = new Set<string>();
  return faultsOf(tolerations, (toleration, index) => {
    const [key, operator] = [textAt(toleration, 'key'), textAt(toleration, 'operator')];
    const [value, effect] = [textAt(toleration, 'value'), textAt(toleration, 'effect')];
    const identity = JSON.stringify([key, operator, value, effect]);
    if (!seen.has(identity)) {
      seen.add(identity);
      return [];
    }
    const seconds = toleration?.tolerationSeconds ?? null;
    const shown = { Key: key, Operator: operator, Value: value, Effect: effect, TolerationSeconds: seconds };
    return [duplicateValue(`${path}[${index}]`, shown)];
  });
}

/** Judged, and told of, as limits of a container. */
function checkOverhead(amounts: JsonObject | undefined): FieldError[] {
  const errors = faultsOf(sortedEntries(amounts), ([name, amount]) => {
    const at = `overhead.limits[${name}]`;
    return [
      ...checkContainerResourceName(name, at),
      ...checkResourceAmount(name, amount, at),
      ...checkPagesAmount(name, amount, at),
    ];
  });
  const names = Object.keys(amounts ?? {});
  const hasHugePages = names.some(isHugePages);
  if (hasHugePages && !names.includes('cpu') && !names.includes('memory'))
    errors.push(forbiddenValue('overhead', 'HugePages require cpu or memory'));
  return errors;
}
