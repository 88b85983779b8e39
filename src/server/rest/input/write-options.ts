/** The options of writes, from the query; a value nobody knows is refused on the options object, as a client expects. */
import { type FieldError, forbiddenValue, invalid, requiredValue, unsupportedValue } from '../../../api/index.ts';
import type { FieldValidation } from '../../codec/index.ts';
import { booleanParameter } from '../../request/query-parameters.ts';
import type { RequestContext } from '../../request/request-context.ts';
import { validateFieldManager } from '../../strategy/validation/metadata-validation.ts';

export type WriteOptions = {
  readonly isDryRun: boolean;
  /** Who is written down as the owner of what changes. */
  readonly manager: string;
  readonly fieldValidation: FieldValidation;
  readonly force: boolean;
  /** What the client said itself, to be shown to others. */
  readonly given: { readonly fieldManager?: string; readonly fieldValidation?: string };
  /** The object says itself who owns what: apply has seen to it. */
  readonly isTracked?: boolean;
  /** The body is too short for an object that cannot be stored. */
  readonly isSmall?: boolean;
};

export function writeOptions(
  context: RequestContext,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  isApply = false,
): WriteOptions {
  if (context.queryText === '' && !isApply) return { manager: managerOf(context), ...asUsual };
  const { query } = context;
  const faults: FieldError[] = [...dryRunFaults(query.getAll('dryRun'))];
  const given = query.get('fieldManager') ?? '';
  if (isApply && given === '') faults.push(requiredValue('fieldManager', 'is required for apply patch'));
  faults.push(...validateFieldManager(given, 'fieldManager'));
  const force = booleanParameter(query, 'force');
  if (kind === 'PatchOptions' && !isApply && query.has('force'))
    faults.push(forbiddenValue('force', 'may not be specified for non-apply patch'));
  const fieldValidation = query.get('fieldValidation') ?? '';
  if (!['', 'Ignore', 'Warn', 'Strict'].includes(fieldValidation))
    faults.push(unsupportedValue('fieldValidation', fieldValidation, ['', 'Ignore', 'Strict', 'Warn']));
  if (faults.length > 0) throw invalid({ kind, group: 'meta.k8s.io' }, '', faults);
  return {
    isDryRun: query.has('dryRun'),
    manager: given || managerOf(context),
    fieldValidation: (fieldValidation || 'Warn') as FieldValidation,
    force,
    given: shownOptions(given, fieldValidation),
  };
}

function shownOptions(fieldManager: string, fieldValidation: string): WriteOptions['given'] {
  const shown: { fieldManager?: string; fieldValidation?: string } = {};
  if (fieldManager) shown.fieldManager = fieldManager;
  if (fieldValidation) shown.fieldValidation = fieldValidation;
  return shown;
}

/** Of a request that says nothing. */
const asUsual: Omit<WriteOptions, 'manager'> = { isDryRun: false, fieldValidation: 'Warn', force: false, given: {} };

export function dryRunFaults(values: readonly string[]): FieldError[] {
  return values.some((value) => value !== 'All') ? [unsupportedValue('dryRun', values, ['All'])] : [];
}

function managerOf({ headers }: RequestContext): string {
  const agent = headers['user-agent'] ?? '';
  const end = agent.indexOf('/');
  return (end < 0 ? agent : agent.slice(0, end)).slice(0, 128);
}
