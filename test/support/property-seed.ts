/**
 * With `TEST_SEED` all properties are tried with the same inputs in every run of the tests. `.ci/run` takes it from the commit: each
 * commit meets inputs of its own, and the same ones wherever and however often it is run.
 */
import fc from 'fast-check';

const { TEST_SEED } = process.env;
if (TEST_SEED !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(TEST_SEED) });
