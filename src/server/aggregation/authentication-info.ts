/**
 * The ConfigMap `kube-system/extension-apiserver-authentication`: whom extension API servers are to believe when a
 * request is passed on to them, and by which headers. Set again when the server starts or its certificates change.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../../api/index.ts';
import type { Rest } from '../rest/rest.ts';
import { atHand, createAsServer } from '../rest/writing/create-as-server.ts';

export type AuthenticationInfo = {
  /** PEM. */
  readonly clientAuthorities: readonly string[];
  readonly proxyAuthority: string;
  /** Whose certificates of that authority may name users; none: any. */
  readonly proxyNames: readonly string[];
};

export async function publishAuthenticationInfo(rest: Rest, info: AuthenticationInfo): Promise<void> {
  const storage = rest.storages.storageOf('', 'configmaps');
  const wanted = configMapOf(info);
  const found = await atHand(storage, wanted.metadata);
  if (!found) return createAsServer(rest, storage, wanted);
  const stored = storage.toObject(found);
  if (isDeepStrictEqual(stored.data, wanted.data)) return;
  await storage.update(found, { ...stored, data: wanted.data! }); // lost to another server: it is as good
}

function configMapOf({ clientAuthorities, proxyAuthority, proxyNames }: AuthenticationInfo): KubeObject {
  return {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name: 'extension-apiserver-authentication', namespace: 'kube-system' },
    data: {
      'client-ca-file': clientAuthorities.join(''),
      'requestheader-allowed-names': JSON.stringify(proxyNames),
      'requestheader-client-ca-file': proxyAuthority,
      'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
      'requestheader-group-headers': '["X-Remote-Group"]',
      'requestheader-uid-headers': '["X-Remote-Uid"]',
      'requestheader-username-headers': '["X-Remote-User"]',
    },
  };
}
