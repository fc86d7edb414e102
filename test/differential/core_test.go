package differential

import (
	"net"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
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
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
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
		Row{Kind: v1("Service"), Resource: "services", Big: true, REST: newServices},
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

// serviceRanges are the ranges that both servers take the addresses of services from.
var serviceRanges = []string{"10.96.0.0/16", "fd00::/112"}

func newServices(o generic.RESTOptionsGetter) (Doors, error) {
	addresses := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	known := addresses.Networking().V1().IPAddresses()
	pools := map[api.IPFamily]ipallocator.Interface{}
	for _, text := range serviceRanges {
		_, r, err := net.ParseCIDR(text)
		if err != nil {
			return nil, err
		}
		pool, err := ipallocator.NewIPAllocator(r, nil, known)
		if err != nil {
			return nil, err
		}
		pools[pool.IPFamily()] = pool
	}
	addresses.Start(wait.NeverStop)
	addresses.WaitForCacheSync(wait.NeverStop)
	ports, err := portallocator.NewInMemory(utilnet.PortRange{Base: 30000, Size: 2768})
	if err != nil {
		return nil, err
	}
	s, status, _, err := servicestore.NewREST(o, api.IPv4Protocol, pools, ports, nil, nil, nil)
	return Doors{"": s, "status": status}, err
}
