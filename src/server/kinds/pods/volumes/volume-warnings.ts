/** Volumes of kinds that are gone or going, and files of one volume that would take each other's place. */
import { type JsonObject, quote } from '../../../../api/index.ts';
import { objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';
import { claimWarnings } from '../../storage/claim-spec.ts';

const retired: readonly (readonly [field: string, text: string, shown?: string])[] = [
  ['photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'deprecated in v1.22, non-functional in v1.25+', 'storageOS'],
  ['quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];

type Warn = (text: string) => void;

export function volumeWarnings(volumes: readonly JsonObject[], path: string, warn: Warn): void {
  for (const [index, volume] of volumes.entries()) {
    for (const [field, text, shown = field] of retired) if (volume[field]) warn(`${path}[${index}].${shown}: ${text}`);
    const claim = objectAt(objectAt(objectAt(volume, 'ephemeral'), 'volumeClaimTemplate'), 'spec');
    if (claim)
      for (const text of claimWarnings(claim, `${path}[${index}].ephemeral.volumeClaimTemplate.spec`)) warn(text);
    warnOfOverlaps(volume, warn);
  }
}

/** A path in a volume, and which source makes it. */
type Made = { readonly path: string; readonly source: string };

const showMade = ({ path, source }: Made) => (source === '' ? quote(path) : `${quote(path)} (${source})`);

function itemsOf(owner: JsonObject | undefined, source: string): Made[] {
  return objectsAt(owner, 'items').map((item) => ({ path: textAt(item, 'path'), source }));
}

function warnOfOverlaps(volume: JsonObject, warn: Warn): void {
  const name = quote(textAt(volume, 'name'));
  const say = (what: string, body: string) => warn(`volume ${name} (${what}): overlapping paths: ${body}`);
  const whole: readonly (readonly [string, string | undefined])[] = [
    ['configMap', 'name'],
    ['secret', 'secretName'],
    ['downwardAPI', undefined],
  ];
  for (const [field, named] of whole) {
    const source = objectAt(volume, field);
    if (!source?.items) continue;
    const title = field[0]!.toUpperCase() + field.slice(1);
    const found = overlapsOf(itemsOf(source, ''), []);
    if (found.length > 0)
      say(named ? `${title} ${quote(textAt(source, named))}` : title, found.map(showPair).join(', '));
  }
  const known: Made[] = [];
  for (const source of objectsAt(objectAt(volume, 'projected'), 'sources')) {
    if (Object.keys(source).length === 0) warn(`volume ${name} (Projected) has no sources provided`);
    for (const pair of overlapsOf(madeBy(source), known)) say('Projected', showPair(pair));
  }
}

const showPair = ([one, other]: readonly [Made, Made]) => `${showMade(one)} with ${showMade(other)}`;

function madeBy(source: JsonObject): Made[] {
  const token = objectAt(source, 'serviceAccountToken');
  const bundle = objectAt(source, 'clusterTrustBundle');
  const bundleName = textAt(bundle, 'name') || textAt(bundle, 'signerName');
  return [
    ...itemsOf(objectAt(source, 'configMap'), `ConfigMap ${quote(textAt(objectAt(source, 'configMap'), 'name'))}`),
    ...itemsOf(objectAt(source, 'secret'), `Secret ${quote(textAt(objectAt(source, 'secret'), 'name'))}`),
    ...itemsOf(objectAt(source, 'downwardAPI'), 'DownwardAPI'),
    ...(token ? [{ path: textAt(token, 'path'), source: 'ServiceAccountToken' }] : []),
    ...(bundle ? [{ path: textAt(bundle, 'path'), source: `ClusterTrustBundle ${quote(bundleName)}` }] : []),
  ];
}

/** Of one volume this many paths are compared with each other: it takes the square of them. */
const mostCompared = 200;

/** Pairs of which one is the other, or lies below it; `known` grows by all of `made`. */
function overlapsOf(made: readonly Made[], known: Made[]): (readonly [Made, Made])[] {
  const found: (readonly [Made, Made])[] = [];
  for (const one of made) {
    if (known.length === mostCompared) break;
    const plain = { ...one, path: one.path.replace(/\/$/, '') };
    for (const other of known) if (meet(plain.path, other.path)) found.push([plain, other]);
    known.push(plain);
  }
  return found;
}

function meet(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}
