/**
 * The admission plugins of kube-apiserver by name: all of them in the order in which they run, and which run unless a flag
 * says otherwise. A name that is not here is unknown. Some have no plugin in this server (`make-chain.ts`): those that
 * are on by default have nothing to do here, the others cannot be enabled.
 */

/** The order of both phases. Quota is last, so that nothing refused is charged. */
export const orderedPlugins: readonly string[] = [
  'AlwaysAdmit',
  'NamespaceAutoProvision',
  'NamespaceLifecycle',
  'NamespaceExists',
  'LimitPodHardAntiAffinityTopology',
  'LimitRanger',
  'ServiceAccount',
  'NodeRestriction',
  'TaintNodesByCondition',
  'AlwaysPullImages',
  'ImagePolicyWebhook',
  'PodSecurity',
  'PodNodeSelector',
  'Priority',
  'DefaultTolerationSeconds',
  'PodTolerationRestriction',
  'EventRateLimit',
  'ExtendedResourceToleration',
  'DefaultStorageClass',
  'StorageObjectInUseProtection',
  'PodGroupProtection',
  'OwnerReferencesPermissionEnforcement',
  'PersistentVolumeClaimResize',
  'RuntimeClass',
  'CertificateApproval',
  'CertificateSigning',
  'ClusterTrustBundleAttest',
  'CertificateSubjectRestriction',
  'DefaultIngressClass',
  'DenyServiceExternalIPs',
  'PodTopologyLabels',
  'PodGroupWorkloadExists',
  'NodeDeclaredFeatureValidator',
  'JobValidation',
  'PodResizeValidator',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionWebhook',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionWebhook',
  'ResourceQuota',
  'AlwaysDeny',
];

const offByDefault: ReadonlySet<string> = new Set([
  'AlwaysAdmit',
  'AlwaysDeny',
  'AlwaysPullImages',
  'DenyServiceExternalIPs',
  'EventRateLimit',
  'ExtendedResourceToleration',
  'ImagePolicyWebhook',
  'LimitPodHardAntiAffinityTopology',
  'NamespaceAutoProvision',
  'NamespaceExists',
  'NodeRestriction',
  'OwnerReferencesPermissionEnforcement',
  'PodNodeSelector',
  'PodTolerationRestriction',
  // On in kube-apiserver. Here no controller makes the accounts that it insists on, and no Pod could be created.
  'ServiceAccount',
]);

export const defaultPlugins: readonly string[] = orderedPlugins.filter((name) => !offByDefault.has(name));

export type PluginChoice = { readonly enabled?: readonly string[]; readonly disabled?: readonly string[] };

/** What is wrong with the flags, in kube-apiserver's words. */
export function choiceFaults({ enabled = [], disabled = [] }: PluginChoice): string[] {
  const unknown = (flag: string, names: readonly string[]) =>
    names
      .filter((name) => !orderedPlugins.includes(name))
      .map((name) => `${flag} plugin ${JSON.stringify(name)} is unknown`);
  const both = [...new Set(enabled)].filter((name) => disabled.includes(name)).sort();
  return [
    ...unknown('enable-admission-plugins', enabled),
    ...unknown('disable-admission-plugins', disabled),
    ...(both.length > 0
      ? [`[${both.join(' ')}] in enable-admission-plugins and disable-admission-plugins overlapped`]
      : []),
  ];
}

/** Which plugins run: what is on by default, without the disabled, with the enabled. */
export function chosenPlugins({ enabled = [], disabled = [] }: PluginChoice): ReadonlySet<string> {
  return new Set([...defaultPlugins.filter((name) => !disabled.includes(name)), ...enabled]);
}
