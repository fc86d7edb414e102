package corev1

import (
	"fmt"
	"slices"

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

// addDefaults registers by type: what is registered for a struct holds wherever the struct occurs, so that pod
// templates and claims of other groups get their defaults, too.
func addDefaults(s *scheme.Scheme) {
	scheme.AddDefaulting(s, defaultNamespace)
	scheme.AddDefaulting(s, defaultSecret)
	scheme.AddDefaulting(s, defaultNode)
	scheme.AddDefaulting(s, defaultService)
	scheme.AddDefaulting(s, defaultEndpointPort)
	scheme.AddDefaulting(s, CompleteController)
	scheme.AddDefaulting(s, defaultLimitRangeItem)
	scheme.AddDefaulting(s, defaultQuota)
	scheme.AddDefaulting(s, defaultPod)
	scheme.AddDefaulting(s, defaultPodStatus)
	scheme.AddDefaulting(s, defaultContainerStatus)
	scheme.AddDefaulting(s, defaultPodSpec)
	scheme.AddDefaulting(s, defaultContainer)
	scheme.AddDefaulting(s, defaultEphemeralContainer)
	scheme.AddDefaulting(s, defaultRequirements)
	scheme.AddDefaulting(s, defaultFieldSelector)
	scheme.AddDefaulting(s, defaultProbe)
	scheme.AddDefaulting(s, defaultHTTPGet)
	scheme.AddDefaulting(s, defaultVolume)
	scheme.AddDefaulting(s, defaultHostPath)
	scheme.AddDefaulting(s, defaultToken)
	scheme.AddDefaulting(s, defaultPersistentVolume)
	scheme.AddDefaulting(s, defaultPersistentVolumeSpec)
	scheme.AddDefaulting(s, defaultClaim)
	scheme.AddDefaulting(s, defaultClaimSpec)
}

// selectable holds, by kind, the fields that a field selector may name; other kinds have name and namespace.
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
