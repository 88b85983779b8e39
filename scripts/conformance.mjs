/**
 * `node scripts/conformance.mjs [--update] [RUNNER ARGS]`: plays the recorded scenarios of a real kube-apiserver against
 * this server and compares with those that have passed before.
 *
 * It fails when one fails that is named in recorded/conformance-passing.txt, or when one that is named there is no more;
 * one that passes for the first time is told, and `--update` writes the list anew. Runner args choose scenarios
 * (`--scenario 'watch/*'`); without any, all are played, those that need compaction, protobuf or the
 * plugin ServiceAccount too.
 */
import { readList, suiteArgs, withSuite, writeList } from './recorded-suite.mjs';
import { say } from './setup.mjs';

/** The scenarios about compaction wait for it. */
const SHORT_HISTORY = ['--auto-compaction-retention', '20s'];
const LIST = 'conformance-passing.txt';
const { isUpdate, runnerArgs } = suiteArgs();
const known = readList(LIST);

const results = await withSuite('conformance', { serverFlags: SHORT_HISTORY }, async (play) => {
  const played = await play(['--jobs', '3', '--with', 'all', ...runnerArgs]);
  return playAgain(play, played.results);
});
process.exitCode = judge([...results, ...(await withAccounts(new Set(results.map(({ name }) => name))))]);

/** Those about the plugin ServiceAccount; all others were recorded without it. */
async function withAccounts(played) {
  if (runnerArgs.length > 0) return [];
  const serverFlags = ['--enable-admission-plugins', 'ServiceAccount'];
  return withSuite('conformance', { serverFlags }, async (play) => {
    const { results: found } = await play(['--with', 'serviceaccount', '--scenario', 'serviceaccounts/*']);
    return found.filter(({ name }) => !played.has(name));
  });
}

/** What passed before and fails now is played once more, alone: some scenarios measure time, and machines are busy. */
async function playAgain(play, results) {
  const broken = results.filter(({ name, ok }) => !ok && known.has(name)).map(({ name }) => name);
  if (broken.length === 0) return results;
  say(`once more, alone: ${broken.join(' ')}`);
  const { results: again } = await play(['-v', '--with', 'all', ...broken.flatMap((name) => ['--scenario', name])]);
  return results.map((result) => again.find(({ name }) => name === result.name) ?? result);
}

/** The exit code: 1 if something failed, or is gone, that has passed before. */
function judge(results) {
  const passing = results.filter(({ ok }) => ok).map(({ name }) => name);
  const failing = results.filter(({ ok }) => !ok).map(({ name }) => name);
  const gone = runnerArgs.length > 0 ? [] : [...known].filter((name) => !results.some((one) => one.name === name));
  const broken = failing.filter((name) => known.has(name));
  const mended = passing.filter((name) => !known.has(name));
  if (mended.length > 0) say(`pass for the first time: ${mended.join(' ')}`);
  if (isUpdate) {
    // What was not played keeps its place.
    const out = new Set([...failing, ...gone]);
    writeList(
      LIST,
      [...known, ...passing].filter((name) => !out.has(name)),
    );
    return 0;
  }
  if (broken.length > 0) say(`passed before and fail now: ${broken.join(' ')}`);
  if (gone.length > 0) say(`passed before and were not played: ${gone.join(' ')}`);
  say(`conformance: ${passing.length} of ${results.length} pass, ${broken.length} of ${known.size} known ones broken`);
  return broken.length + gone.length > 0 ? 1 : 0;
}
