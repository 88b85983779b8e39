/**
 * The verbs: what each is for, in a line, and where it is loaded from. Only the verb that is wanted is loaded, so that one
 * more verb costs the others nothing; the list of all is printed from here.
 */
import type { Command } from 'commander';

type Verb = {
  readonly name: string;
  readonly summary: string;
  /** Adds it to the program. */
  readonly load: () => Promise<(program: Command) => unknown>;
};

export const VERBS: readonly Verb[] = [
  {
    name: 'serve',
    summary: 'run the API server',
    load: async () => (await import('./commands/serve.ts')).addServeCommand,
  },
  {
    name: 'controllers',
    summary: 'run the controllers of a cluster, against any server',
    load: async () => (await import('./commands/controllers.ts')).addControllersCommand,
  },
  {
    name: 'kubeconfig',
    summary: "print the administrator's kubeconfig of a server, or merge it into yours",
    load: async () => (await import('./commands/kubeconfig/kubeconfig-command.ts')).addKubeconfigCommand,
  },
  {
    name: 'watch',
    summary: 'follow a resource: what is there, then every change',
    load: async () => (await import('./commands/watch/watch-command.ts')).addWatchCommand,
  },
  {
    name: 'top',
    summary: 'a live screen: rates, caches, watches by lag, flows (a server of ours)',
    load: async () => (await import('./commands/top/top-command.ts')).addTopCommand,
  },
  {
    name: 'dashboard',
    summary: 'a page in the browser: chain, plots, watches, histories, events (any cluster)',
    load: async () => (await import('./commands/dashboard/dashboard-command.ts')).addDashboardCommand,
  },
  {
    name: 'watches',
    summary: 'who watches what, how far behind (a server of ours)',
    load: async () => (await import('./commands/inside/watches.ts')).addWatchesCommand,
  },
  {
    name: 'history',
    summary: 'what an object was: its kept revisions, who changed what (a server of ours)',
    load: async () => (await import('./commands/inside/history.ts')).addHistoryCommand,
  },
  {
    name: 'why-gone',
    summary: 'explain a 410: who asked for which revision, and why it was gone (a server of ours)',
    load: async () => (await import('./commands/inside/why-gone.ts')).addWhyGoneCommand,
  },
  {
    name: 'doctor',
    summary: 'look at any cluster: can it list and watch, are streams cut, how long is its history',
    load: async () => (await import('./commands/doctor/doctor-command.ts')).addDoctorCommand,
  },
  {
    name: 'stress',
    summary: 'make and delete objects at a rate while many watch: rates, latencies, 410s, gaps',
    load: async () => (await import('./commands/stress/stress-command.ts')).addStressCommand,
  },
  {
    name: 'lab',
    summary: 'experiments: break a watch for real, see the symptom and the remedy',
    load: async () => (await import('./commands/lab/lab-command.ts')).addLabCommand,
  },
  {
    name: 'snapshot',
    summary: 'save, restore and look at backups of the store',
    load: async () => (await import('./commands/snapshot/snapshot-command.ts')).addSnapshotCommand,
  },
  {
    name: 'envtest-assets',
    summary: 'write etcd, kube-apiserver and kubectl for envtest: Go tests run on this server',
    load: async () => (await import('./commands/envtest/envtest-command.ts')).addEnvtestCommand,
  },
  {
    name: 'generate',
    summary: 'write TypeScript types of custom kinds, from files or a cluster',
    load: async () => (await import('./commands/generate/generate-command.ts')).addGenerateCommand,
  },
  {
    name: 'proxy',
    summary: 'stand before any API server and break things as a file says: cuts, stalls, 410s, 429s',
    load: async () => (await import('./commands/proxy/proxy-command.ts')).addProxyCommand,
  },
  {
    name: 'completion',
    summary: 'print the completion script for a shell',
    load: async () => {
      const { addCompletionCommand } = await import('./commands/completion.ts');
      return (program) => addCompletionCommand(program, addAllVerbs);
    },
  },
  {
    name: 'version',
    summary: 'print the versions of this program and of the server',
    load: async () => (await import('./commands/version.ts')).addVersionCommand,
  },
];

/** The verb that is asked for, whole; of the others what the list shows. */
export async function addVerbs(program: Command, args: readonly string[]): Promise<void> {
  const wanted = args[0] === 'help' ? args[1] : args[0];
  for (const { name, summary, load } of VERBS) {
    if (name === wanted) (await load())(program);
    else program.command(name).description(summary);
  }
}

export async function addAllVerbs(program: Command): Promise<void> {
  for (const add of await Promise.all(VERBS.map(({ load }) => load()))) add(program);
}
