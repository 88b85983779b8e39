/**
 * Which level of the Pod Security Standards a namespace enforces, audits and warns by, as its labels say.
 *
 * A namespace whose labels cannot be read is refused when they are written; one that was stored so enforces the strictest
 * level, and neither warns nor audits by what it cannot read.
 */
import { type FieldError, invalidValue, type KubeObject, keyPath } from '../../../api/index.ts';

export type Level = 'privileged' | 'baseline' | 'restricted';
/** The minor version of Kubernetes whose rules hold. */
export type Version = 'latest' | number;
export type LevelVersion = { readonly level: Level; readonly version: Version };
export type Mode = 'enforce' | 'audit' | 'warn';
export type Policy = Readonly<Record<Mode, LevelVersion>>;

const PREFIX = 'pod-security.kubernetes.io/';
const LEVELS: readonly Level[] = ['privileged', 'baseline', 'restricted'];
const MODES: readonly Mode[] = ['enforce', 'audit', 'warn'];
const open: LevelVersion = { level: 'privileged', version: 'latest' };
const privileged: { readonly policy: Policy; readonly errors: readonly FieldError[] } = {
  policy: { enforce: open, audit: open, warn: open },
  errors: [],
};

function mentionsLevels(labels: Readonly<Record<string, string>>): boolean {
  for (const key in labels) if (key.startsWith(PREFIX)) return true;
  return false;
}

export function policyOf({ metadata }: KubeObject): {
  readonly policy: Policy;
  readonly errors: readonly FieldError[];
} {
  const labels = metadata.labels ?? {};
  if (!mentionsLevels(labels)) return privileged;
  const said = (name: string) => (Object.hasOwn(labels, PREFIX + name) ? labels[PREFIX + name] : undefined);
  if (!MODES.some((mode) => said(mode) !== undefined || said(`${mode}-version`) !== undefined)) return privileged;
  const errors: FieldError[] = [];
  const refuse = (name: string, value: string, why: string) =>
    errors.push(invalidValue(keyPath('metadata.labels', PREFIX + name), value, why));
  const policy = Object.fromEntries(
    MODES.map((mode) => {
      const [level, version] = [said(mode), said(`${mode}-version`)];
      const read: { level: Level; version: Version } = { ...open };
      if (level !== undefined) {
        if (isLevel(level)) read.level = level;
        else {
          read.level = mode === 'enforce' ? 'restricted' : 'privileged';
          refuse(mode, level, `must be one of ${LEVELS.join(', ')}`);
        }
      }
      if (version !== undefined) {
        const number = versionOf(version);
        if (number === undefined) refuse(`${mode}-version`, version, 'must be "latest" or "v1.x"');
        else read.version = number;
      }
      return [mode, read];
    }),
  ) as Record<Mode, LevelVersion>;
  // Who is refused should have been warned.
  const { enforce, warn } = policy;
  if (isLevel(said('enforce')) && said('warn') === undefined && isStricter(enforce.level, warn.level)) {
    const version = said('warn-version') === undefined ? enforce.version : warn.version;
    policy.warn = { level: enforce.level, version };
  }
  return { policy, errors };
}

export function isStricter(level: Level, other: Level): boolean {
  return LEVELS.indexOf(level) > LEVELS.indexOf(other);
}

export function isSame(a: LevelVersion, b: LevelVersion): boolean {
  return a.level === b.level && a.version === b.version;
}

/** `baseline:latest`, `restricted:v1.36` */
export function shown({ level, version }: LevelVersion): string {
  return `${level}:${version === 'latest' ? version : `v1.${version}`}`;
}

function isLevel(text: string | undefined): text is Level {
  return (LEVELS as readonly (string | undefined)[]).includes(text);
}

function versionOf(text: string): Version | undefined {
  if (text === 'latest') return text;
  const digits = /^v1\.(0|[1-9][0-9]{0,8})$/.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
