/**
 * Names that Go has for types which OpenAPI only knows as strings, lists and maps: errors about wrong types name them.
 * By struct and field; a list of such strings is `[]` and the name.
 */

const strings = `
types.UID: ObjectMeta.uid OwnerReference.uid ObjectReference.uid BoundObjectReference.uid Preconditions.uid
  ConfigMapNodeConfigSource.uid UncountedTerminatedPods.succeeded UncountedTerminatedPods.failed
  ResourceClaimConsumerReference.uid DeviceRequestAllocationResult.shareID
v1.APIServiceConditionType: APIServiceCondition.type
v1.AddressType: EndpointSlice.addressType
v1.AllocationConfigSource: DeviceAllocationConfiguration.source
v1.AppArmorProfileType: AppArmorProfile.type
v1.AzureDataDiskCachingMode: AzureDiskVolumeSource.cachingMode
v1.AzureDataDiskKind: AzureDiskVolumeSource.kind
v1.Capability: Capabilities.add Capabilities.drop
v1.ClaimResourceStatus: PersistentVolumeClaimStatus.allocatedResourceStatuses
v1.CompletionMode: JobSpec.completionMode
v1.ConcurrencyPolicy: CronJobSpec.concurrencyPolicy
v1.ConditionStatus: Condition.status NodeCondition.status PodCondition.status NamespaceCondition.status
  PersistentVolumeClaimCondition.status ReplicationControllerCondition.status DeploymentCondition.status
  DaemonSetCondition.status ReplicaSetCondition.status StatefulSetCondition.status JobCondition.status
  HorizontalPodAutoscalerCondition.status CertificateSigningRequestCondition.status
  CustomResourceDefinitionCondition.status APIServiceCondition.status FlowSchemaCondition.status
  PriorityLevelConfigurationCondition.status PodFailurePolicyOnPodConditionsPattern.status
v1.ContainerRestartPolicy: Container.restartPolicy EphemeralContainer.restartPolicy
v1.ContainerRestartRuleAction: ContainerRestartRule.action
v1.ContainerRestartRuleOnExitCodesOperator: ContainerRestartRuleOnExitCodes.operator
v1.ConversionStrategyType: CustomResourceConversion.strategy
v1.CoordinatedLeaseStrategy: LeaseSpec.strategy
v1.CustomResourceDefinitionConditionType: CustomResourceDefinitionCondition.type
v1.DNSPolicy: PodSpec.dnsPolicy
v1.DaemonSetConditionType: DaemonSetCondition.type
v1.DaemonSetUpdateStrategyType: DaemonSetUpdateStrategy.type
v1.DeletionPropagation: DeleteOptions.propagationPolicy
v1.DeploymentConditionType: DeploymentCondition.type
v1.DeploymentStrategyType: DeploymentStrategy.type
v1.DeviceAllocationMode: ExactDeviceRequest.allocationMode DeviceSubRequest.allocationMode
v1.DeviceTaintEffect: DeviceTaint.effect DeviceToleration.effect
v1.DeviceTolerationOperator: DeviceToleration.operator
v1.FSGroupPolicy: CSIDriverSpec.fsGroupPolicy
v1.FailurePolicyType: ValidatingWebhook.failurePolicy MutatingWebhook.failurePolicy
  ValidatingAdmissionPolicySpec.failurePolicy MutatingAdmissionPolicySpec.failurePolicy
v1.FieldSelectorOperator: FieldSelectorRequirement.operator
v1.FieldValueErrorReason: ValidationRule.reason
v1.FinalizerName: NamespaceSpec.finalizers
v1.FlowDistinguisherMethodType: FlowDistinguisherMethod.type
v1.FlowSchemaConditionType: FlowSchemaCondition.type
v1.FullyQualifiedName: DeviceConstraint.matchAttribute DeviceConstraint.distinctAttribute
v1.HostPathType: HostPathVolumeSource.type
v1.IPFamily: ServiceSpec.ipFamilies
v1.IPFamilyPolicy: ServiceSpec.ipFamilyPolicy
v1.JobConditionType: JobCondition.type
v1.KeyUsage: CertificateSigningRequestSpec.usages
v1.LabelSelectorOperator: LabelSelectorRequirement.operator
v1.LimitResponseType: LimitResponse.type
v1.LimitType: LimitRangeItem.type
v1.LoadBalancerIPMode: LoadBalancerIngress.ipMode
v1.ManagedFieldsOperationType: ManagedFieldsEntry.operation
v1.MatchPolicyType: ValidatingWebhook.matchPolicy MutatingWebhook.matchPolicy MatchResources.matchPolicy
v1.MountPropagationMode: VolumeMount.mountPropagation
v1.NamespaceConditionType: NamespaceCondition.type
v1.NamespacePhase: NamespaceStatus.phase
v1.NodeAddressType: NodeAddress.type
v1.NodeConditionType: NodeCondition.type
v1.NodeInclusionPolicy: TopologySpreadConstraint.nodeAffinityPolicy TopologySpreadConstraint.nodeTaintsPolicy
v1.NodePhase: NodeStatus.phase
v1.UniqueVolumeName: NodeStatus.volumesInUse AttachedVolume.name
v1.NodeSelectorOperator: NodeSelectorRequirement.operator
v1.OSName: PodOS.name
v1.OperationType: RuleWithOperations.operations NamedRuleWithOperations.operations
v1.ParameterNotFoundActionType: ParamRef.parameterNotFoundAction
v1.PatchType: Mutation.patchType
v1.PathType: HTTPIngressPath.pathType
v1.PersistentVolumeAccessMode: PersistentVolumeSpec.accessModes PersistentVolumeClaimSpec.accessModes
  PersistentVolumeClaimStatus.accessModes
v1.PersistentVolumeClaimConditionType: PersistentVolumeClaimCondition.type
v1.PersistentVolumeClaimModifyVolumeStatus: ModifyVolumeStatus.status
v1.PersistentVolumeClaimPhase: PersistentVolumeClaimStatus.phase
v1.PersistentVolumeClaimRetentionPolicyType: StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted
  StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled
v1.PersistentVolumeMode: PersistentVolumeSpec.volumeMode PersistentVolumeClaimSpec.volumeMode
v1.PersistentVolumePhase: PersistentVolumeStatus.phase
v1.PersistentVolumeReclaimPolicy: PersistentVolumeSpec.persistentVolumeReclaimPolicy StorageClass.reclaimPolicy
v1.PodConditionType: PodCondition.type PodReadinessGate.conditionType PodFailurePolicyOnPodConditionsPattern.type
v1.PodFSGroupChangePolicy: PodSecurityContext.fsGroupChangePolicy
v1.PodFailurePolicyAction: PodFailurePolicyRule.action
v1.PodFailurePolicyOnExitCodesOperator: PodFailurePolicyOnExitCodesRequirement.operator
v1.PodManagementPolicyType: StatefulSetSpec.podManagementPolicy
v1.PodPhase: PodStatus.phase
v1.PodQOSClass: PodStatus.qosClass
v1.PodReplacementPolicy: JobSpec.podReplacementPolicy
v1.PodResizeStatus: PodStatus.resize
v1.PodSELinuxChangePolicy: PodSecurityContext.seLinuxChangePolicy
v1.PolicyType: NetworkPolicySpec.policyTypes
v1.PreemptionPolicy: PodSpec.preemptionPolicy PriorityClass.preemptionPolicy
v1.PriorityLevelConfigurationConditionType: PriorityLevelConfigurationCondition.type
v1.PriorityLevelEnablement: PriorityLevelConfigurationSpec.type
v1.ProcMountType: SecurityContext.procMount
v1.Protocol: ContainerPort.protocol ServicePort.protocol PortStatus.protocol EndpointPort.protocol
  NetworkPolicyPort.protocol IngressPortStatus.protocol
v1.PullPolicy: Container.imagePullPolicy EphemeralContainer.imagePullPolicy ImageVolumeSource.pullPolicy
v1.RecursiveReadOnlyMode: VolumeMount.recursiveReadOnly VolumeMountStatus.recursiveReadOnly
v1.ReinvocationPolicyType: MutatingWebhook.reinvocationPolicy MutatingAdmissionPolicySpec.reinvocationPolicy
v1.ReplicaSetConditionType: ReplicaSetCondition.type
v1.ReplicationControllerConditionType: ReplicationControllerCondition.type
v1.RequestConditionType: CertificateSigningRequestCondition.type
v1.ResourceHealthStatus: ResourceHealth.health
v1.ResourceID: ResourceHealth.resourceID
v1.ResourceName: ContainerResizePolicy.resourceName ResourceMetricSource.name ContainerResourceMetricSource.name
  ResourceMetricStatus.name ContainerResourceMetricStatus.name ResourceStatus.name
v1.ResourceQuotaScope: ResourceQuotaSpec.scopes ScopedResourceSelectorRequirement.scopeName
v1.ResourceResizeRestartPolicy: ContainerResizePolicy.restartPolicy
v1.ResourceScope: CustomResourceDefinitionSpec.scope
v1.RestartPolicy: PodSpec.restartPolicy
v1.ScopeSelectorOperator: ScopedResourceSelectorRequirement.operator
v1.ScopeType: RuleWithOperations.scope NamedRuleWithOperations.scope
v1.SeccompProfileType: SeccompProfile.type
v1.SecretType: Secret.type
v1.ServiceAffinity: ServiceSpec.sessionAffinity
v1.ServiceExternalTrafficPolicy: ServiceSpec.externalTrafficPolicy
v1.ServiceInternalTrafficPolicy: ServiceSpec.internalTrafficPolicy
v1.ServiceType: ServiceSpec.type
v1.SideEffectClass: ValidatingWebhook.sideEffects MutatingWebhook.sideEffects
v1.Signal: Lifecycle.stopSignal ContainerStatus.stopSignal
v1.StatefulSetConditionType: StatefulSetCondition.type
v1.StatefulSetUpdateStrategyType: StatefulSetUpdateStrategy.type
v1.StatusReason: Validation.reason
v1.StorageMedium: EmptyDirVolumeSource.medium
v1.SupplementalGroupsPolicy: PodSecurityContext.supplementalGroupsPolicy
v1.TaintEffect: Toleration.effect Taint.effect
v1.TerminationMessagePolicy: Container.terminationMessagePolicy EphemeralContainer.terminationMessagePolicy
v1.TolerationOperator: Toleration.operator
v1.UniqueVolumeName: NodeStatus.volumesInUse
v1.URIScheme: HTTPGetAction.scheme
v1.UnhealthyPodEvictionPolicyType: PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy
v1.UniqueVolumeName: NodeStatus.volumesInUse AttachedVolume.name
v1.UnsatisfiableConstraintAction: TopologySpreadConstraint.whenUnsatisfiable
v1.ValidationAction: ValidatingAdmissionPolicyBindingSpec.validationActions
v1.VolumeBindingMode: StorageClass.volumeBindingMode
v1.VolumeLifecycleMode: CSIDriverSpec.volumeLifecycleModes
v2.HPAScalingPolicyType: HPAScalingPolicy.type
v2.HorizontalPodAutoscalerConditionType: HorizontalPodAutoscalerCondition.type
v2.MetricSourceType: MetricSpec.type MetricStatus.type
v2.MetricTargetType: MetricTarget.type
v2.ScalingPolicySelect: HPAScalingRules.selectPolicy
`;

/** Lists and maps with a name of their own. */
const wholes = `
map[v1.ResourceName]v1.NodeAllocatableResourceMapping: Device.nodeAllocatableResourceMappings
v1.JSONSchemaDefinitions: JSONSchemaProps.definitions
v1.JSONSchemaDependencies: JSONSchemaProps.dependencies
v1.ResourceList: ResourceRequirements.limits ResourceRequirements.requests VolumeResourceRequirements.limits
  VolumeResourceRequirements.requests PodSpec.overhead PersistentVolumeSpec.capacity
  PersistentVolumeClaimStatus.capacity PersistentVolumeClaimStatus.allocatedResources NodeStatus.capacity
  NodeStatus.allocatable ContainerStatus.allocatedResources LimitRangeItem.max LimitRangeItem.min
  LimitRangeItem.default LimitRangeItem.defaultRequest LimitRangeItem.maxLimitRequestRatio ResourceQuotaSpec.hard
  ResourceQuotaStatus.hard ResourceQuotaStatus.used PodStatus.allocatedResources Overhead.podFixed
v1.ValidationRules: JSONSchemaProps.x-kubernetes-validations
[]v1.JSON: JSONSchemaProps.enum
map[string]v1.Time: PodDisruptionBudgetStatus.disruptedPods
map[v1.QualifiedName]resource.Quantity: CapacityRequirements.requests DeviceRequestAllocationResult.consumedCapacity
map[v1.QualifiedName]v1.DeviceAttribute: Device.attributes
map[v1.QualifiedName]v1.DeviceCapacity: Device.capacity
map[v1.ResourceName]resource.Quantity: NodeAllocatableResourceClaimStatus.resources
map[v1.ResourceName]v1.NodeAllocatableResourceMapping: Device.nodeAllocatableResourceMappings
map[v1.ResourceName]v1.ClaimResourceStatus: PersistentVolumeClaimStatus.allocatedResourceStatuses
map[string]v1.ExtraValue: CertificateSigningRequestSpec.extra SubjectAccessReviewSpec.extra UserInfo.extra
`;

const stringNames = read(strings);
const wholeNames = read(wholes);

/** The name of a string, or of those in a list; undefined: it has none. */
export function stringTypeOf(struct: string, field: string): string | undefined {
  return stringNames.get(`${struct}.${field}`);
}

/** The name of a list or map as a whole. */
export function wholeTypeOf(struct: string, field: string): string | undefined {
  return wholeNames.get(`${struct}.${field}`);
}

function read(text: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  let name = '';
  for (const word of text.trim().split(/\s+/)) {
    if (word.endsWith(':')) name = word.slice(0, -1);
    else names.set(word, name);
  }
  return names;
}
