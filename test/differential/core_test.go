package differential

import (
	"net"

	"k8s.io/apiserver/pkg/registry/generic"
	api "k8s.io/kubernetes/pkg/apis/core"
	configmapstore "k8s.io/kubernetes/pkg/registry/core/configmap/storage"
	endpointsstore "k8s.io/kubernetes/pkg/registry/core/endpoint/storage"
	eventstore "k8s.io/kubernetes/pkg/registry/core/event/storage"
	limitrangestore "k8s.io/kubernetes/pkg/registry/core/limitrange/storage"
	namespacestore "k8s.io/kubernetes/pkg/registry/core/namespace/storage"
	nodestore "k8s.io/kubernetes/pkg/registry/core/node/storage"
	podstore "k8s.io/kubernetes/pkg/registry/core/pod/storage"
	podtemplatestore "k8s.io/kubernetes/pkg/registry/core/podtemplate/storage"
	controllerstore "k8s.io/kubernetes/pkg/registry/core/replicationcontroller/storage"
	resourcequotastore "k8s.io/kubernetes/pkg/registry/core/resourcequota/storage"
	secretstore "k8s.io/kubernetes/pkg/registry/core/secret/storage"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	servicestore "k8s.io/kubernetes/pkg/registry/core/service/storage"
	serviceaccountstore "k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage"

	kubeletclient "k8s.io/kubernetes/pkg/kubelet/client"
)

func init() {
	add(
		Row{Kind: v1("ConfigMap"), Resource: "configmaps", REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := configmapstore.NewREST(o)
			return Doors{"": s}, err
		}},
		Row{Kind: v1("Secret"), Resource: "secrets", REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := secretstore.NewREST(o)
			return Doors{"": s}, err
		}},
		Row{Kind: v1("Namespace"), Resource: "namespaces", Cluster: true, REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, status, finalize, err := namespacestore.NewREST(o)
			return Doors{"": s, "status": status, "finalize": finalize}, err
		}},
		Row{Kind: v1("Node"), Resource: "nodes", Cluster: true, REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := nodestore.NewStorage(o, kubeletclient.KubeletClientConfig{}, nil)
			if err != nil {
				return nil, err
			}
			return Doors{"": s.Node, "status": s.Status}, nil
		}},
		Row{Kind: v1("Event"), Resource: "events", REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := eventstore.NewREST(o, 3600)
			return Doors{"": s}, err
		}},
		Row{Kind: v1("Endpoints"), Resource: "endpoints", REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := endpointsstore.NewREST(o)
			return Doors{"": s}, err
		}},
		Row{Kind: v1("LimitRange"), Resource: "limitranges", REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := limitrangestore.NewREST(o)
			return Doors{"": s}, err
		}},
		Row{Kind: v1("ResourceQuota"), Resource: "resourcequotas", REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, status, err := resourcequotastore.NewREST(o)
			return Doors{"": s, "status": status}, err
		}},
		Row{Kind: v1("PodTemplate"), Resource: "podtemplates", REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := podtemplatestore.NewREST(o)
			return Doors{"": s}, err
		}},
		Row{Kind: v1("ReplicationController"), Resource: "replicationcontrollers", REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := controllerstore.NewStorage(o)
			return Doors{"": s.Controller, "status": s.Status, "scale": s.Scale}, err
		}},
		Row{Kind: v1("Service"), Resource: "services", Big: true, REST: newServices, Settle: settleService},
		Row{Kind: v1("ServiceAccount"), Resource: "serviceaccounts", REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := serviceaccountstore.NewREST(o, nil, nil, 0, nil, nil, nil, false, 0)
			return Doors{"": s}, err
		}},
		Row{Kind: v1("Pod"), Resource: "pods", Big: true, States: podState, REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := podstore.NewStorage(o, nil, nil, nil, nil)
			return Doors{"": s.Pod, "status": s.Status, "ephemeralcontainers": s.EphemeralContainers, "resize": s.Resize}, err
		}},
	)
}

func newServices(o generic.RESTOptionsGetter) (Doors, error) {
	s, status, _, err := servicestore.NewREST(o, api.IPv4Protocol,
		map[api.IPFamily]ipallocator.Interface{api.IPv4Protocol: anyAddress{api.IPv4Protocol}}, anyPort{}, nil, nil, nil)
	return Doors{"": s, "status": status}, err
}

// anyAddress hands out all addresses of a family to whoever asks.
type anyAddress struct{ family api.IPFamily }

func (anyAddress) Allocate(net.IP) error           { return nil }
func (anyAddress) AllocateNext() (net.IP, error)   { return net.ParseIP(allocatedIP), nil }
func (anyAddress) Release(net.IP) error            { return nil }
func (anyAddress) ForEach(func(net.IP))            {}
func (anyAddress) CIDR() net.IPNet                 { return net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)} }
func (a anyAddress) IPFamily() api.IPFamily        { return a.family }
func (anyAddress) Has(net.IP) bool                 { return false }
func (anyAddress) Destroy()                        {}
func (anyAddress) EnableMetrics()                  {}
func (a anyAddress) DryRun() ipallocator.Interface { return a }

// anyPort hands out all ports to whoever asks.
type anyPort struct{}

func (anyPort) Allocate(int) error         { return nil }
func (anyPort) AllocateNext() (int, error) { return 30999, nil }
func (anyPort) Release(int) error          { return nil }
func (anyPort) ForEach(func(int))          {}
func (anyPort) Has(int) bool               { return false }
func (anyPort) Destroy()                   {}
func (anyPort) EnableMetrics()             {}

// allocatedIP is what Kubernetes allocates here; no example has it.
const allocatedIP = "10.96.99.99"

// settleService takes out what Kubernetes has allocated.
func settleService(theirs, ours map[string]any) {
	spec, _ := theirs["spec"].(map[string]any)
	if spec["clusterIP"] == allocatedIP {
		mine, _ := ours["spec"].(map[string]any)
		for _, s := range []map[string]any{spec, mine} {
			delete(s, "clusterIP")
			delete(s, "clusterIPs")
		}
	}
	mine, _ := ours["spec"].(map[string]any)
	ports, _ := spec["ports"].([]any)
	for i, p := range ports {
		if q, _ := mine["ports"].([]any); i < len(q) && q[i].(map[string]any)["nodePort"] == nil {
			delete(p.(map[string]any), "nodePort")
		}
	}
	if mine["healthCheckNodePort"] == nil {
		delete(spec, "healthCheckNodePort")
	}
}
