/**
 * Controllers that run beside the server, in its process: one secret, and for each of them an account of its own, so that
 * what they may do is what the bootstrap roles give them, and the audit log says which of them it was.
 *
 * `SECRET` is whoever runs them all (`system:kube-controller-manager`), `SECRET.NAME` one of them: the service account of
 * that name in kube-system, or the scheduler. The kubelet of nodes that are only pretended may do everything: kubelets
 * are let in by what runs on them, and there is nobody here who would decide that.
 */
import { timingSafeEqual } from 'node:crypto';
import type { UserInfo } from '../request/user-info.ts';
import { type Authenticator, asAuthenticated, type Verdict } from './authenticator.ts';
import { digestOf } from './token-digest.ts';

const OTHERS: Readonly<Record<string, UserInfo>> = {
  '': { username: 'system:kube-controller-manager', groups: [] },
  'kube-scheduler': { username: 'system:kube-scheduler', groups: [] },
  kubelet: { username: 'system:node:pretended', groups: ['system:nodes', 'system:masters'] },
};
const NAME = /^[a-z][a-z-]{0,62}$/;

export function controllerTokens(secret: string): Authenticator {
  const expected = digestOf(secret);
  const verdicts = new Map<string, Verdict>();
  return {
    authenticate({ token }) {
      if (token === undefined) return { kind: 'silent' };
      const name = nameIn(token, secret.length);
      const isOurs = timingSafeEqual(digestOf(token.slice(0, secret.length)), expected);
      if (name === undefined || !isOurs) return { kind: 'refused' };
      let verdict = verdicts.get(name);
      if (!verdict) {
        verdict = { kind: 'known', user: asAuthenticated(userOf(name)) };
        verdicts.set(name, verdict);
      }
      return verdict;
    },
  };
}

/** Undefined: it cannot be one of ours. */
function nameIn(token: string, length: number): string | undefined {
  if (token.length === length) return '';
  const name = token.slice(length + 1);
  return token[length] === '.' && NAME.test(name) ? name : undefined;
}

function userOf(name: string): UserInfo {
  return (
    OTHERS[name] ?? {
      username: `system:serviceaccount:kube-system:${name}`,
      groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system'],
    }
  );
}
