package registry

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

// storedResources has the prefix of the keys of each resource that a cluster of Kubernetes 1.36
// stores, of some from older and newer releases, and of some other resources. A cluster cannot move
// its stored objects: lines may be added here, but none may change.
var storedResources = []struct{ group, resource, prefix string }{
	{"", "configmaps", "configmaps"},
	{"", "endpoints", "services/endpoints"},
	{"", "events", "events"},
	{"", "limitranges", "limitranges"},
	{"", "namespaces", "namespaces"},
	{"", "nodes", "minions"},
	{"", "persistentvolumeclaims", "persistentvolumeclaims"},
	{"", "persistentvolumes", "persistentvolumes"},
	{"", "pods", "pods"},
	{"", "podtemplates", "podtemplates"},
	{"", "replicationcontrollers", "controllers"},
	{"", "resourcequotas", "resourcequotas"},
	{"", "secrets", "secrets"},
	{"", "serviceaccounts", "serviceaccounts"},
	{"", "services", "services/specs"},
	{"admissionregistration.k8s.io", "mutatingadmissionpolicies", "mutatingadmissionpolicies"},
	{"admissionregistration.k8s.io", "mutatingadmissionpolicybindings", "mutatingadmissionpolicybindings"},
	{"admissionregistration.k8s.io", "mutatingwebhookconfigurations", "mutatingwebhookconfigurations"},
	{"admissionregistration.k8s.io", "validatingadmissionpolicies", "validatingadmissionpolicies"},
	{"admissionregistration.k8s.io", "validatingadmissionpolicybindings", "validatingadmissionpolicybindings"},
	{"admissionregistration.k8s.io", "validatingwebhookconfigurations", "validatingwebhookconfigurations"},
	{"apiextensions.k8s.io", "customresourcedefinitions", "apiextensions.k8s.io/customresourcedefinitions"},
	{"apiregistration.k8s.io", "apiservices", "apiregistration.k8s.io/apiservices"},
	{"apps", "controllerrevisions", "controllerrevisions"},
	{"apps", "daemonsets", "daemonsets"},
	{"apps", "deployments", "deployments"},
	{"apps", "replicasets", "replicasets"},
	{"apps", "statefulsets", "statefulsets"},
	{"autoscaling", "horizontalpodautoscalers", "horizontalpodautoscalers"},
	{"batch", "cronjobs", "cronjobs"},
	{"batch", "jobs", "jobs"},
	{"certificates.k8s.io", "certificatesigningrequests", "certificatesigningrequests"},
	{"certificates.k8s.io", "clustertrustbundles", "clustertrustbundles"},
	{"certificates.k8s.io", "podcertificaterequests", "podcertificaterequests"},
	{"coordination.k8s.io", "leasecandidates", "leasecandidates"},
	{"coordination.k8s.io", "leases", "leases"},
	{"discovery.k8s.io", "endpointslices", "endpointslices"},
	{"events.k8s.io", "events", "events"},
	{"extensions", "deployments", "deployments"},
	{"extensions", "ingresses", "ingress"},
	{"extensions", "podsecuritypolicies", "podsecuritypolicy"},
	{"flowcontrol.apiserver.k8s.io", "flowschemas", "flowschemas"},
	{"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", "prioritylevelconfigurations"},
	{"internal.apiserver.k8s.io", "storageversions", "storageversions"},
	{"networking.k8s.io", "ingressclasses", "ingressclasses"},
	{"networking.k8s.io", "ingresses", "ingress"},
	{"networking.k8s.io", "ipaddresses", "ipaddresses"},
	{"networking.k8s.io", "networkpolicies", "networkpolicies"},
	{"networking.k8s.io", "servicecidrs", "servicecidrs"},
	{"node.k8s.io", "runtimeclasses", "runtimeclasses"},
	{"policy", "poddisruptionbudgets", "poddisruptionbudgets"},
	{"policy", "podsecuritypolicies", "podsecuritypolicy"},
	{"rbac.authorization.k8s.io", "clusterrolebindings", "clusterrolebindings"},
	{"rbac.authorization.k8s.io", "clusterroles", "clusterroles"},
	{"rbac.authorization.k8s.io", "rolebindings", "rolebindings"},
	{"rbac.authorization.k8s.io", "roles", "roles"},
	{"resource.k8s.io", "deviceclasses", "deviceclasses"},
	{"resource.k8s.io", "devicetaintrules", "devicetaintrules"},
	{"resource.k8s.io", "resourceclaims", "resourceclaims"},
	{"resource.k8s.io", "resourceclaimtemplates", "resourceclaimtemplates"},
	{"resource.k8s.io", "resourceslices", "resourceslices"},
	{"scheduling.k8s.io", "priorityclasses", "priorityclasses"},
	{"storage.k8s.io", "csidrivers", "csidrivers"},
	{"storage.k8s.io", "csinodes", "csinodes"},
	{"storage.k8s.io", "csistoragecapacities", "csistoragecapacities"},
	{"storage.k8s.io", "storageclasses", "storageclasses"},
	{"storage.k8s.io", "volumeattachments", "volumeattachments"},
	{"storage.k8s.io", "volumeattributesclasses", "volumeattributesclasses"},
	{"storagemigration.k8s.io", "storageversionmigrations", "storageversionmigrations"},

	{"cr.bar.com", "foos", "cr.bar.com/foos"},
	{"gateway.networking.k8s.io", "gateways", "gateway.networking.k8s.io/gateways"},
	{"metrics.k8s.io", "nodes", "metrics.k8s.io/nodes"},
	{"metrics.k8s.io", "pods", "metrics.k8s.io/pods"},
	{"snapshot.storage.k8s.io", "volumesnapshots", "snapshot.storage.k8s.io/volumesnapshots"},
	{"stable.example.com", "services", "stable.example.com/services"},
}

// sameThing has the prefixes that two groups share, because both groups serve the same stored
// objects.
var sameThing = map[string]bool{"events": true, "deployments": true, "ingress": true, "podsecuritypolicy": true}

func TestKeyPrefix(t *testing.T) {
	for _, tt := range storedResources {
		gr := meta.GroupResource{Group: tt.group, Resource: tt.resource}
		if got := KeyPrefix(gr); got != tt.prefix {
			t.Errorf("KeyPrefix(%s): got %s, want %s", gr, got, tt.prefix)
		}
		if err := checkPlace(gr); err != nil {
			t.Error(err)
		}
	}
}

func TestKeyPrefixesApart(t *testing.T) {
	for i, a := range storedResources {
		for _, b := range storedResources[i+1:] {
			if a.prefix == b.prefix && a.resource == b.resource && sameThing[a.prefix] {
				continue
			}
			if p, q := a.prefix+"/", b.prefix+"/"; strings.HasPrefix(p, q) || strings.HasPrefix(q, p) {
				t.Errorf("%s.%s and %s.%s are both under %s and %s", a.resource, a.group, b.resource, b.group, p, q)
			}
		}
	}
}

func TestPlurals(t *testing.T) {
	for _, plural := range []string{"Widgets", "wIdgets", "wid gets", "wid/gets", "widgets.x", "-widgets", ""} {
		gr := meta.GroupResource{Group: "test.example.com", Resource: plural}
		if _, err := New(&Config{}, Resource{GroupResource: gr, Kind: "Widget"}); err == nil || !strings.Contains(err.Error(), `"`+plural+`"`) {
			t.Errorf("New(%q): got %v, want an error that names the plural", plural, err)
		}
		if _, err := NewActor(&Config{}, Actions{GroupResource: gr, Kind: "Widget"}); err == nil || !strings.Contains(err.Error(), `"`+plural+`"`) {
			t.Errorf("NewActor(%q): got %v, want an error that names the plural", plural, err)
		}
	}
}

func TestCheckGroup(t *testing.T) {
	for _, group := range []string{"pods", "services", "k8s", "widgets"} {
		gr := meta.GroupResource{Group: group, Resource: "specs"}
		if _, err := New(&Config{}, Resource{GroupResource: gr, Kind: "Spec"}); err == nil || !strings.Contains(err.Error(), group) {
			t.Errorf("New(%s): got %v, want an error that names the group", gr, err)
		}
	}
}
