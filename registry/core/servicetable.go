package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// serviceTable prints services as kube-apiserver does.
var serviceTable = &registry.TableOf[*corev1.Service]{Columns: serviceColumns, Cells: serviceCells}

// serviceColumns have the descriptions of kube-apiserver, which clients see in each table.
var serviceColumns = []meta.TableColumnDefinition{
	registry.NameColumn,
	registry.Column("Type", "type determines how the Service is exposed. Defaults to ClusterIP. Valid options are "+
		"ExternalName, ClusterIP, NodePort, and LoadBalancer. \"ClusterIP\" allocates a cluster-internal IP"+
		" address for load-balancing to endpoints. Endpoints are determined by the selector or if that is"+
		" not specified, by manual construction of an Endpoints object or EndpointSlice objects. If "+
		"clusterIP is \"None\", no virtual IP is allocated and the endpoints are published as a set of "+
		"endpoints rather than a virtual IP. \"NodePort\" builds on ClusterIP and allocates a port on every"+
		" node which routes to the same endpoints as the clusterIP. \"LoadBalancer\" builds on NodePort and"+
		" creates an external load-balancer (if supported in the current cloud) which routes to the same "+
		"endpoints as the clusterIP. \"ExternalName\" aliases this service to the specified externalName. "+
		"Several other fields do not apply to ExternalName services. More info: "+
		"https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types", 0),
	registry.Column("Cluster-IP",
		"clusterIP is the IP address of the service and is usually assigned randomly. If an address is "+
			"specified manually, is in-range (as per system configuration), and is not in use, it will be "+
			"allocated to the service; otherwise creation of the service will fail. This field may not be "+
			"changed through updates unless the type field is also being changed to ExternalName (which "+
			"requires this field to be blank) or the type field is being changed from ExternalName (in which "+
			"case this field may optionally be specified, as describe above).  Valid values are \"None\", empty"+
			" string (\"\"), or a valid IP address. Setting this to \"None\" makes a \"headless service\" (no "+
			"virtual IP), which is useful when direct endpoint connections are preferred and proxying is not "+
			"required.  Only applies to types ClusterIP, NodePort, and LoadBalancer. If this field is "+
			"specified when creating a Service of type ExternalName, creation will fail. This field will be "+
			"wiped when updating a Service to type ExternalName. More info: "+
			"https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies", 0),
	registry.Column("External-IP",
		"externalIPs is a list of IP addresses for which nodes in the cluster will also accept traffic "+
			"for this service.  These IPs are not managed by Kubernetes.  The user is responsible for "+
			"ensuring that traffic arrives at a node with this IP.  A common example is external "+
			"load-balancers that are not part of the Kubernetes system.", 0),
	registry.Column("Port(s)", "The list of ports that are exposed by this service. More info: "+
		"https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies", 0),
	registry.AgeColumn,
	registry.Column("Selector",
		"Route service traffic to pods with label keys and values matching this selector. If empty or not"+
			" present, the service is assumed to have an external process managing its endpoints, which "+
			"Kubernetes will not modify. Only applies to types ClusterIP, NodePort, and LoadBalancer. Ignored"+
			" if type is ExternalName. More info: "+
			"https://kubernetes.io/docs/concepts/services-networking/service/", 1),
}

// serviceCells prints a port as "80/TCP", or as "80:30080/TCP" with a node port.
func serviceCells(svc *corev1.Service, now time.Time) []any {
	internal := registry.None
	if len(svc.Spec.ClusterIPs) > 0 {
		internal = svc.Spec.ClusterIPs[0]
	}
	ports := make([]string, len(svc.Spec.Ports))
	for i, p := range svc.Spec.Ports {
		ports[i] = fmt.Sprintf("%d/%s", p.Port, p.Protocol)
		if p.NodePort > 0 {
			ports[i] = fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol)
		}
	}
	return []any{
		svc.Name, string(svc.Spec.Type), internal, externalIPs(svc), cmp.Or(strings.Join(ports, ","), registry.None),
		registry.Age(&svc.ObjectMeta, now), registry.Labels(svc.Spec.Selector),
	}
}

// externalIPs lists where a service can be reached from outside of the cluster.
func externalIPs(svc *corev1.Service) string {
	given := strings.Join(svc.Spec.ExternalIPs, ",")
	switch svc.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return cmp.Or(given, registry.None)
	case corev1.ServiceTypeExternalName:
		return svc.Spec.ExternalName
	case corev1.ServiceTypeLoadBalancer:
		var all []string
		for _, ing := range svc.Status.LoadBalancer.Ingress {
			if ing.IP != "" {
				all = append(all, ing.IP)
			} else if ing.Hostname != "" {
				all = append(all, ing.Hostname)
			}
		}
		slices.Sort(all)
		all = append(slices.Compact(all), svc.Spec.ExternalIPs...)
		if len(all) == 0 {
			return "<pending>"
		}
		return strings.Join(all, ",")
	}
	return registry.Unknown
}
