/**
 * The last lines of a test run: how many passed, and which real parts they ran against, so that a run without an etcd
 * on the PATH cannot be mistaken for one with it.
 */
import type { Reporter, TestModule } from 'vitest/node';
import { etcdVersion } from './support/etcd-server.ts';

export default class ClosingReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      if (module.errors().length > 0) count.failed++;
      for (const test of module.children.allTests()) count[test.result().state]++;
    }
    const version = etcdVersion();
    console.log(
      version
        ? `Contract suite ran against: embedded, etcd ${version}`
        : 'Contract suite ran against: embedded only (no etcd on the PATH; apt-get install etcd-server for the rest)',
    );
    console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped + count.pending} skipped`);
  }
}
