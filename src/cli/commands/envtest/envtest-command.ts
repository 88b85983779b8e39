/**
 * `longwatch envtest-assets DIR`: writes executables named `etcd`, `kube-apiserver` and `kubectl`, so that a suite of Go
 * tests on controller-runtime's envtest runs on us, unchanged, with `KUBEBUILDER_ASSETS=DIR`.
 *
 * Always true: a file that is there and that this verb has not written stays, and nothing is written then. The files name
 * Node and this package where they are now. Beside them lies the compiled code of the server, so that it starts sooner; where
 * that cannot be made they run without it, and it is said.
 */
import { execFile } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { makePrivateFolder } from '../../../files/private-files.ts';
import { runVerb, type Verb, VerbError } from '../../terminal/run-verb.ts';
import { addServeCommand } from '../serve.ts';
import { type AssetName, type AssetPlaces, assetScripts } from './asset-scripts.ts';
import { NOT_ITS } from './kube-apiserver-flags.ts';

const OURS = 'Written by "longwatch envtest-assets"';
const CODE_CACHE = '.kube-apiserver-code';
/** For one start and a few requests, on a machine that has other things to do. */
const REHEARSAL_MS = 120_000;

export function addEnvtestCommand(program: Command): void {
  program
    .command('envtest-assets')
    .description('write etcd, kube-apiserver and kubectl for envtest: Go tests run on this server')
    .argument('<dir>', 'the folder for KUBEBUILDER_ASSETS; it is made')
    .addHelpText(
      'after',
      '\nExamples:\n  longwatch envtest-assets ./bin/longwatch\n  KUBEBUILDER_ASSETS=$PWD/bin/longwatch go test ./...',
    )
    .action((dir: string) => runVerb(envtestAssets(dir)));
}

export function envtestAssets(dir: string): Verb {
  return async (io) => {
    if (process.platform === 'win32')
      throw new VerbError('Cannot write executables for envtest: they are scripts of sh, which Windows does not run');
    const folder = resolve(dir);
    const serve = new Command();
    addServeCommand(serve);
    const flags = serve.commands[0]!.options.filter(({ long }) => !NOT_ITS.includes(String(long).slice(2))).map(
      ({ flags, description }) => ({ flags, description }),
    );
    const places: AssetPlaces = {
      node: process.execPath,
      ...builtPrograms(),
      codeCache: join(folder, CODE_CACHE),
      kubectl: onPath('kubectl', folder, io.env.PATH),
    };
    const scripts = Object.entries(assetScripts(places, flags)) as [AssetName, string][];
    for (const [name] of scripts) refuseOthers(join(folder, name));
    makePrivateFolder(folder);
    for (const [name, text] of scripts) {
      writeFileSync(join(folder, name), text, { mode: 0o700 });
      chmodSync(join(folder, name), 0o700); // it may be there already
    }
    await keepCode(places).catch((err: Error) => {
      io.note(`The server starts slower than it could, its compiled code could not be kept: ${err.message}`);
    });
    io.print(`KUBEBUILDER_ASSETS=${folder}`);
    if (!places.kubectl) io.note('No kubectl is on the PATH: the one here only says so');
  };
}

/** Beside this file when it is built; the name of the server changes with what is in it. */
function builtPrograms(): Pick<AssetPlaces, 'standIn' | 'server'> {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  const server = readdirSync(folder).find((name) => /^envtest-server-\w+\.cjs$/.test(name));
  if (!server) throw new VerbError(`Cannot find the server for envtest in "${folder}": this package is not whole`);
  return { standIn: join(folder, 'envtest-stand-in.cjs'), server: join(folder, server) };
}

/** Runs the server once, in a folder that goes with it. */
async function keepCode({ node, standIn, server, codeCache }: AssetPlaces): Promise<void> {
  rmSync(codeCache, { force: true }); // of another server, maybe
  const cwd = mkdtempSync(join(tmpdir(), 'longwatch-rehearsal-'));
  try {
    await promisify(execFile)(node, [standIn, 'rehearse', server, codeCache], { cwd, timeout: REHEARSAL_MS });
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

function refuseOthers(file: string): void {
  if (!existsSync(file) || readFileSync(file, 'latin1').includes(OURS)) return;
  throw new VerbError(
    `Cannot write "${file}": a file is there that is not of this verb`,
    'Name a folder of its own: suites that use the real ones then keep them.',
  );
}

function onPath(name: string, except: string, path = ''): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== '' && resolve(folder) !== except)
    .map((folder) => resolve(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
