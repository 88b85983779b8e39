/**
 * `node scripts/fields.mjs [--update] [RUNNER ARGS]`: plays the field corpus, thousands of objects with one field changed
 * as a real kube-apiserver answered them, against this server, and compares with what has passed before.
 *
 * It fails when a case fails that is not named in recorded/fields-failing.txt, or when nothing was played; one of those
 * that passes is told, and `--update` writes the list anew. Runner args choose cases (`--only '^core_Pod '`).
 */
import { readList, suiteArgs, withSuite, writeList } from './recorded-suite.mjs';
import { say } from './setup.mjs';

const LIST = 'fields-failing.txt';
const { isUpdate, runnerArgs } = suiteArgs();

process.exitCode = await withSuite('fields', { runnerOutput: 'ignore' }, async (play) =>
  judge(await play(['--groups', '0', ...runnerArgs])),
);

/** The exit code: 1 if something failed that has passed before. */
function judge({ passed, failed, failures }) {
  const known = readList(LIST);
  if (isUpdate) {
    writeList(
      LIST,
      failures.map(({ id }) => id),
    );
    return 0;
  }
  const broken = failures.filter(({ id }) => !known.has(id));
  const failing = new Set(failures.map(({ id }) => id));
  const mended = runnerArgs.length > 0 ? [] : [...known].filter((id) => !failing.has(id));
  if (mended.length > 0) say(`pass for the first time: ${mended.join(', ')}`);
  for (const { id, differences } of broken) say(`passed before and fails now: ${id}: ${differences[0]?.text ?? ''}`);
  say(`fields: ${passed} of ${passed + failed} pass, ${broken.length} broken, ${known.size} known to fail`);
  return broken.length > 0 || passed + failed === 0 ? 1 : 0;
}
