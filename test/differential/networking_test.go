package differential

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	ingressstore "k8s.io/kubernetes/pkg/registry/networking/ingress/storage"
	ingressclassstore "k8s.io/kubernetes/pkg/registry/networking/ingressclass/storage"
	ipaddressstore "k8s.io/kubernetes/pkg/registry/networking/ipaddress/storage"
	networkpolicystore "k8s.io/kubernetes/pkg/registry/networking/networkpolicy/storage"
	servicecidrstore "k8s.io/kubernetes/pkg/registry/networking/servicecidr/storage"
)

func init() {
	networking := func(kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: kind}
	}
	add(
		Row{Kind: networking("Ingress"), Resource: "ingresses", Big: true, REST: withStatus(ingressstore.NewREST)},
		Row{Kind: networking("IngressClass"), Resource: "ingressclasses", Cluster: true, Alone: true, REST: alone(ingressclassstore.NewREST)},
		Row{Kind: networking("NetworkPolicy"), Resource: "networkpolicies", Big: true, REST: alone(networkpolicystore.NewREST)},
		Row{Kind: networking("IPAddress"), Resource: "ipaddresses", Cluster: true, REST: alone(ipaddressstore.NewREST)},
		Row{Kind: networking("ServiceCIDR"), Resource: "servicecidrs", Cluster: true, REST: withStatus(servicecidrstore.NewREST)},
	)
}
