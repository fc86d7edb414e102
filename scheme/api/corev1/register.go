package corev1

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Version: "v1"}

// Scheme registers the kinds, their defaults and the fields that selectors may name.
var Scheme = scheme.NewBuilder(addKinds, addDefaults, addFieldLabels)

func addKinds(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion,
		&Namespace{}, &NamespaceList{},
		&ConfigMap{}, &ConfigMapList{},
		&Secret{}, &SecretList{},
		&ServiceAccount{}, &ServiceAccountList{},
		&Node{}, &NodeList{},
		&Event{}, &EventList{},
		&Service{}, &ServiceList{},
		&Pod{}, &PodList{}, &Binding{},
		&PersistentVolume{}, &PersistentVolumeList{},
		&PodTemplate{}, &PodTemplateList{},
		&ReplicationController{}, &ReplicationControllerList{},
		&Endpoints{}, &EndpointsList{},
		&LimitRange{}, &LimitRangeList{},
		&ResourceQuota{}, &ResourceQuotaList{},
		&ComponentStatus{}, &ComponentStatusList{},
		&PersistentVolumeClaim{}, &PersistentVolumeClaimList{},
		&RangeAllocation{},
	)
}

// addDefaults registers by type: what is registered for a struct holds wherever the struct occurs,
// so that pod templates and claims of other groups get their defaults, too.
func addDefaults(s *scheme.Scheme) {
	scheme.AddDefaulting(s, defaultNamespace, "status.phase", "label "+NamespaceNameLabel+" is the name")
	scheme.AddDefaulting(s, defaultSecret, "type", "!stringData")
	scheme.AddDefaulting(s, defaultNode, "spec: podCIDR is podCIDRs[0]",
		"milli(status.capacity)", "milli(status.allocatable)", "status.allocatable | !status.capacity")
	scheme.AddDefaulting(s, defaultService, serviceNeeds...)
	scheme.AddDefaulting(s, defaultServicePort, "targetPort")
	scheme.AddDefaulting(s, defaultEndpointPort, "protocol")
	scheme.AddDefaulting(s, CompleteController, "spec.selector | !spec.template", "metadata.labels | !spec.template")
	scheme.AddDefaulting(s, defaultLimitRangeItem)
	scheme.AddDefaulting(s, defaultQuota, "milli(spec.hard)", "milli(status.hard)", "milli(status.used)")
	scheme.AddDefaulting(s, defaultPod, podNeeds()...)
	scheme.AddDefaulting(s, defaultPodStatus, "podIP is podIPs[0].ip", "milli(allocatedResources)")
	scheme.AddDefaulting(s, defaultContainerStatus, "milli(allocatedResources)")
	scheme.AddDefaulting(s, defaultPodSpec, "serviceAccountName is serviceAccount", "dnsPolicy", "restartPolicy",
		"schedulerName", "securityContext", "terminationGracePeriodSeconds", "milli(overhead)")
	scheme.AddDefaulting(s, defaultContainer, "imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy")
	scheme.AddDefaulting(s, defaultEphemeralContainer,
		"imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy")
	scheme.AddDefaulting(s, defaultRequirements, "milli(limits)", "milli(requests)")
	scheme.AddDefaulting(s, defaultFieldSelector, "apiVersion")
	scheme.AddDefaulting(s, defaultProbe, "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
	scheme.AddDefaulting(s, defaultHTTPGet, "path", "scheme")
	scheme.AddDefaulting(s, defaultVolume, volumeSources())
	scheme.AddDefaulting(s, defaultSecretVolume, "defaultMode")
	scheme.AddDefaulting(s, defaultConfigMapVolume, "defaultMode")
	scheme.AddDefaulting(s, defaultDownwardVolume, "defaultMode")
	scheme.AddDefaulting(s, defaultProjectedVolume, "defaultMode")
	scheme.AddDefaulting(s, defaultImageVolume, "pullPolicy")
	scheme.AddDefaulting(s, defaultHostPath, "type")
	scheme.AddDefaulting(s, defaultToken, "expirationSeconds")
	scheme.AddDefaulting(s, defaultPersistentVolume,
		"status.phase", "spec.persistentVolumeReclaimPolicy", "spec.volumeMode")
	scheme.AddDefaulting(s, defaultPersistentVolumeSpec, "milli(capacity)")
	scheme.AddDefaulting(s, defaultClaim, "status.phase", "milli(status.capacity)", "milli(status.allocatedResources)")
	scheme.AddDefaulting(s, defaultClaimSpec, "volumeMode", "milli(resources.limits)", "milli(resources.requests)")
}

// serviceNeeds are what defaultService needs. Services with a load balancer are looked at closer.
var serviceNeeds = []string{
	"spec.sessionAffinity=None | spec.sessionAffinityConfig.clientIP.timeoutSeconds",
	"spec.sessionAffinity=ClientIP | !spec.sessionAffinityConfig",
	"spec.type=ClusterIP | spec.type=NodePort | spec.type=ExternalName",
	"spec.externalTrafficPolicy | spec.type=ClusterIP | spec.type=ExternalName",
	"spec.externalTrafficPolicy | !spec.externalIPs",
	"spec.internalTrafficPolicy | spec.type=ExternalName",
}

// podNeeds are what defaultPod needs. Pods in the network of the host, and those with resources of
// their own, are looked at closer.
func podNeeds() []string {
	needs := []string{
		"spec.enableServiceLinks", "spec.terminationGracePeriodSeconds", "!spec.hostNetwork", "!spec.resources",
		"spec.containers[].resources: limits within requests",
		"spec.initContainers[].resources: limits within requests",
	}
	for _, key := range droppedAnnotations {
		needs = append(needs, "!metadata.annotations["+key+"]")
	}
	return needs
}

// volumeSources is the need of one of the sources of a volume.
func volumeSources() string {
	var names []string
	t := reflect.TypeFor[VolumeSource]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return strings.Join(names, " | ")
}

// selectable holds, by kind, the fields that a field selector may name; other kinds have name and
// namespace.
var selectable = map[string][]string{
	"Namespace": {"metadata.name", "status.phase"},
	"Node":      {"metadata.name", "spec.unschedulable"},
	"Secret":    {"metadata.name", "metadata.namespace", "type"},
	"Service":   {"metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type"},
	"Pod": {"metadata.name", "metadata.namespace", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
		"spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs",
		"status.nominatedNodeName"},
	"ReplicationController": {"metadata.name", "metadata.namespace", "status.replicas"},
	"Event": {"metadata.name", "metadata.namespace", "involvedObject.kind", "involvedObject.namespace",
		"involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
		"involvedObject.fieldPath", "reason", "reportingComponent", "source", "type"},
}

func addFieldLabels(s *scheme.Scheme) {
	for kind, fields := range selectable {
		s.AddFieldLabels(GroupVersion.WithKind(kind), func(label, value string) (string, string, error) {
			if label == "spec.host" && kind == "Pod" {
				return "spec.nodeName", value, nil // its name before v1
			}
			if !slices.Contains(fields, label) {
				return "", "", fmt.Errorf("field label not supported: %s", label)
			}
			return label, value, nil
		})
	}
}
