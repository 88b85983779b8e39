/**
 * The policies of one kind with their bindings, as storage tells of them. A policy without a binding does nothing, and
 * a binding without a policy neither; either may come first. Policies act in the order of their names, and so do the
 * bindings of each.
 *
 * Always true: a change is in effect from the turn on in which storage tells of it. What cannot be read is left out and
 * logged: it cannot have been written through this server.
 */
import type { KubeObject } from '../../../api/index.ts';
import type { PolicyBinding } from './policy-binding.ts';

export type Hook<P> = { readonly policy: P; readonly bindings: readonly PolicyBinding[] };

export class PolicySource<P> {
  readonly #readPolicy: (policy: KubeObject) => P;
  readonly #readBinding: (binding: KubeObject) => PolicyBinding;
  readonly #log: (line: string) => void;
  readonly #policies = new Map<string, P>();
  readonly #bindings = new Map<string, PolicyBinding>();
  #hooks: readonly Hook<P>[] | undefined = [];

  constructor(
    readPolicy: (policy: KubeObject) => P,
    readBinding: (binding: KubeObject) => PolicyBinding,
    log: (line: string) => void,
  ) {
    this.#readPolicy = readPolicy;
    this.#readBinding = readBinding;
    this.#log = log;
  }

  setPolicy(name: string, policy: KubeObject | undefined): void {
    this.#set(this.#policies, name, policy, this.#readPolicy);
  }

  setBinding(name: string, binding: KubeObject | undefined): void {
    this.#set(this.#bindings, name, binding, this.#readBinding);
  }

  /** Never changed once given out. */
  get hooks(): readonly Hook<P>[] {
    this.#hooks ??= this.#join();
    return this.#hooks;
  }

  #set<T>(all: Map<string, T>, name: string, object: KubeObject | undefined, read: (object: KubeObject) => T): void {
    this.#hooks = undefined;
    all.delete(name);
    if (!object) return;
    try {
      all.set(name, read(object));
    } catch (err) {
      this.#log(`cannot use ${object.kind} ${JSON.stringify(name)}: ${(err as Error).message}`);
    }
  }

  #join(): Hook<P>[] {
    const byPolicy = new Map<string, PolicyBinding[]>();
    for (const name of [...this.#bindings.keys()].sort()) {
      const binding = this.#bindings.get(name)!;
      const others = byPolicy.get(binding.policyName);
      if (others) others.push(binding);
      else byPolicy.set(binding.policyName, [binding]);
    }
    const hooks: Hook<P>[] = [];
    for (const name of [...byPolicy.keys()].sort()) {
      const policy = this.#policies.get(name);
      if (policy !== undefined) hooks.push({ policy, bindings: byPolicy.get(name)! });
    }
    return hooks;
  }
}
