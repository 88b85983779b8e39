/** Paths within volumes: relative, never upwards, and not in the way of the server's own names. */
import { type FieldError, invalidValue } from '../../../../api/index.ts';

export function checkNoBacksteps(value: string, path: string, errors: FieldError[]): void {
  if (value.includes('..') && value.split('/').includes('..'))
    errors.push(invalidValue(path, value, "must not contain '..'"));
}

/** Relative and within. */
export function checkLocalPath(value: string, path: string, errors: FieldError[]): void {
  if (value.startsWith('/')) errors.push(invalidValue(path, value, 'must be a relative path'));
  checkNoBacksteps(value, path, errors);
}

/** The same, and of a name that the kubelet does not take for itself. */
export function checkOwnPath(value: string, path: string, errors: FieldError[]): void {
  checkLocalPath(value, path, errors);
  if (value.startsWith('..') && !value.startsWith('../'))
    errors.push(invalidValue(path, value, "must not start with '..'"));
}
