/**
 * The executables themselves, as scripts of sh: they answer `--help` and `--version` without starting anything, since
 * envtest asks for both before it starts them, and then become the program, so that a signal reaches that one.
 */
import { dirname } from 'node:path';
import { greatestOf } from '../../../api/index.ts';
import { apiVersion } from '../../../server/discovery/version-info.ts';

export type AssetPlaces = {
  readonly node: string;
  readonly standIn: string;
  /** What kube-apiserver is, in one file, and where its compiled code lies. */
  readonly server: string;
  readonly codeCache: string;
  readonly kubectl: string | undefined;
};
export type AssetName = 'etcd' | 'kube-apiserver' | 'kubectl';
/** A flag with what it is for. */
export type FlagHelp = { readonly flags: string; readonly description: string };

/** Flags that the etcd takes and that mean something to it. */
const ETCD_FLAGS: readonly FlagHelp[] = [
  { flags: '--data-dir', description: 'where the data lies' },
  { flags: '--listen-client-urls', description: 'where it answers, http only' },
  { flags: '--unsafe-no-fsync', description: 'a crash of the machine may lose the data' },
];

export function assetScripts(places: AssetPlaces, serveFlags: readonly FlagHelp[]): Record<AssetName, string> {
  return {
    etcd: standIn('etcd', places, [], ETCD_FLAGS, `etcd Version: 3.6.0 (longwatch for ${apiVersion})`),
    'kube-apiserver': standIn(
      'kube-apiserver',
      places,
      [places.server, places.codeCache],
      serveFlags,
      `Kubernetes ${apiVersion}`,
    ),
    kubectl: kubectl(places.kubectl),
  };
}

function standIn(
  name: AssetName,
  { node, standIn: script, server }: AssetPlaces,
  args: readonly string[],
  flags: readonly FlagHelp[],
  version: string,
): string {
  const width = greatestOf(flags.map(({ flags: text }) => text.length));
  const lines = flags.map(({ flags: text, description }) => `  ${text.padEnd(width)}  ${description}`);
  return `#!/bin/sh
# ${name} for envtest, by Longwatch. Written by "longwatch envtest-assets"; run that again where Node or Longwatch has moved.
for flag in "$@"; do
  case "$flag" in
  -h | --help)
    cat <<'HELP'
${name} for tests, by Longwatch. Flags that are known here; others are taken and change nothing:

${lines.join('\n')}
HELP
    exit 0
    ;;
  --version | --version=true)
    echo ${quote(version)}
    exit 0
    ;;
  esac
done
if [ ! -e ${quote(server)} ]; then
  echo "${name}: Longwatch is not as it was at" ${quote(dirname(server))} "any more: run \\"longwatch envtest-assets\\" again" >&2
  exit 1
fi
# What lmdb could encode objects with is not used, and need not be loaded.
export MSGPACKR_NATIVE_ACCELERATION_DISABLED=true
exec ${[node, script, name, ...args].map(quote).join(' ')} "$@"
`;
}

function kubectl(path: string | undefined): string {
  const end = path
    ? `exec ${quote(path)} "$@"`
    : `echo 'kubectl: none was on the PATH when "longwatch envtest-assets" ran: install one, and run that again' >&2\nexit 1`;
  return `#!/bin/sh\n# The kubectl that was found on the PATH. Written by "longwatch envtest-assets".\n${end}\n`;
}

/** One word of sh. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
