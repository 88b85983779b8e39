/**
 * `npx tsx bench/client/client-import.ts`, after `npm run build`: what `import 'longwatch/client'` costs a process, against one
 * that imports nothing. Targets: under 60 ms and 15 MB more.
 *
 * Every contender is a process of its own; contenders take turns, and the median of the rounds counts. CPU time is less
 * disturbed by other work on the machine than the time on the wall. The last row is what the first request adds.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

type Cost = { readonly wallMs: number; readonly cpuMs: number; readonly rssMb: number };

const ROUNDS = 11;
const entry = new URL('../../dist/bundle/client.js', import.meta.url);
const contenders: ReadonlyMap<string, string> = new Map([
  ['nothing', ''],
  ['longwatch/client', `await import(${JSON.stringify(entry.href)});`],
  ['node:https', `await import('node:https');`],
  ['undici', `await import('undici');`],
  ['longwatch/client and undici', `await import(${JSON.stringify(entry.href)}); await import('undici');`],
]);

function main(): void {
  if (!existsSync(entry)) throw new Error(`Cannot measure: ${entry.pathname} is not built`);
  const costs = new Map<string, Cost[]>([...contenders.keys()].map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, script] of contenders) costs.get(name)!.push(costOf(script));
  const base = medianCost(costs.get('nothing')!);
  console.log('imported                      wall ms   CPU ms   RSS MB   (more than a process that imports nothing)');
  for (const [name, all] of costs) {
    const { wallMs, cpuMs, rssMb } = medianCost(all);
    const more = [wallMs - base.wallMs, cpuMs - base.cpuMs, rssMb - base.rssMb];
    const shown = name === 'nothing' ? [wallMs, cpuMs, rssMb] : more;
    console.log(name.padEnd(28) + shown.map((value) => value.toFixed(1).padStart(9)).join(''));
  }
}

/** Of one process, from its start to the end of the import. */
function costOf(script: string): Cost {
  const report = `const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ wallMs: performance.now(), cpuMs: (user + system) / 1000, rssMb: process.memoryUsage.rss() / 2 ** 20 }));`;
  const args = ['--input-type=module', '-e', `${script}\n${report}`];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    cwd: new URL('../..', import.meta.url),
  });
  if (status !== 0) throw new Error(`Cannot measure: ${stderr}`);
  return JSON.parse(stdout) as Cost;
}

function medianCost(costs: readonly Cost[]): Cost {
  const of = (pick: (cost: Cost) => number) => costs.map(pick).sort((a, b) => a - b)[Math.floor(costs.length / 2)]!;
  return { wallMs: of(({ wallMs }) => wallMs), cpuMs: of(({ cpuMs }) => cpuMs), rssMb: of(({ rssMb }) => rssMb) };
}

main();
