/**
 * Simulated fault schedules, one after another, in a process of their own: `FIRST COUNT STEP` are the seeds, `--trace`
 * prints the log of each, `--bail` ends with the first that fails. Built by `scripts/fault-schedules.mjs`, which puts `sim-undici.ts` and `sim-files.ts` in the
 * place of the HTTP client and of the files. The last line says how many ran, how many failed, and what one has cost.
 *
 * How far a seed repeats what happened: time, chance, the date, the order in which bytes come, what the server is like and
 * how far the disk gets all follow from it, and the client has no other source of any of them; Node's turns of the event
 * loop are the same for the same work. So a seed is the same run to the last wake-up, alone or after thousands of others,
 * which a test holds it to. What a simulated world does not have: sockets, TLS, HTTP as bytes, the pool of connections,
 * and threads.
 */
import { runOrExplain } from '../fault-explain.ts';
import { scheduleOf } from '../fault-schedule.ts';
import { simulate } from './simulate.ts';

process.removeAllListeners('warning'); // that functions of the user's misbehave is what they are told to
Error.stackTraceLimit = 0; // thousands of them are made on purpose, and a message says where it comes from

const [first = 1, count = 1, step = 1] = process.argv
  .slice(2)
  .filter((word) => /^\d+$/.test(word))
  .map(Number);
const isEndingEarly = process.argv.includes('--bail');
const isTraced = process.argv.includes('--trace');
const abilities = { loses: true, isSetBack: true, isSimulated: true } as const;

// What the client loads on first use takes turns of the loop: here, and not in the first run that is told of.
await simulate(scheduleOf(first, abilities), []).catch(() => {});

const begin = process.cpuUsage();
let [ran, failed] = [0, 0];
for (; ran < count && !(isEndingEarly && failed > 0); ran++) {
  const seed = first + ran * step;
  const run = async (...[schedule, log]: Parameters<typeof simulate>) => {
    await simulate(schedule, log);
    if (isTraced) console.log(`seed ${seed}\n${log.join('\n')}`);
  };
  try {
    await runOrExplain(run, scheduleOf(seed, abilities), `npm run fault-schedules -- 1 --first ${seed}`);
  } catch (error) {
    failed++;
    console.log((error as Error).message);
  }
}
const { user, system } = process.cpuUsage(begin);
console.log(`${ran} schedules, ${failed} failed, ${((user + system) / 1000 / ran).toFixed(1)} ms of CPU each`);
process.exit(failed > 0 ? 1 : 0);
