/**
 * What another process costs, read from outside: CPU time of its main thread, how long that thread was ready and had no
 * core, and the most memory it held. From /proc, so nothing is asked of the process and one that hangs is measured, too.
 *
 * The main thread alone: it is the one that serves everybody. Time without a core is what a loaded machine adds to any
 * wait, and is taken off it. Linux only; `canMeter` says whether it is.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

export type ThreadTime = {
  readonly cpuMs: number;
  /** Ready to run, waiting for a core. */
  readonly queuedMs: number;
};

export function canMeter(): boolean {
  return existsSync(`/proc/${process.pid}/task/${process.pid}/schedstat`);
}

export function mainThreadTime(pid: number): ThreadTime {
  const [cpuNs, queuedNs] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
  return { cpuMs: Number(cpuNs) / 1e6, queuedMs: Number(queuedNs) / 1e6 };
}

export type Memory = { readonly nowBytes: number; readonly peakBytes: number };

export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return { nowBytes: kibibytes(status, 'VmRSS'), peakBytes: kibibytes(status, 'VmHWM') };
}

/** The peak begins anew at what is held now. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

function kibibytes(status: string, name: string): number {
  const from = status.indexOf(`${name}:`);
  return Number.parseInt(status.slice(from + name.length + 1), 10) * 1024;
}
