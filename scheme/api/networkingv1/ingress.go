package networkingv1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// IngressClassAnnotation names the class of an ingress. It is older than the field
// spec.ingressClassName.
const IngressClassAnnotation = "kubernetes.io/ingress.class"

// Ingress leads HTTP requests from outside the cluster to services, by host and path.
type Ingress struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Where requests go.
	Spec IngressSpec `json:"spec,omitempty" pb:"2"`
	// Where they are taken in.
	Status IngressStatus `json:"status,omitempty" pb:"3"`
}

// IngressSpec tells where requests go. It has rules, a default backend, or both.
type IngressSpec struct {
	// Name of the IngressClass, and so of the controller that serves the ingress. Without one, the
	// default class is used when the ingress is created, if there is one.
	IngressClassName *string `json:"ingressClassName,omitempty" pb:"4"`
	// Where requests go that no rule is about.
	DefaultBackend *IngressBackend `json:"defaultBackend,omitempty" pb:"1"`
	// Certificates for the hosts, all served at port 443. If several are for one host, the client's
	// SNI decides where that is supported.
	TLS []IngressTLS `json:"tls,omitempty" pb:"2" list:"atomic"`
	// What hosts and paths lead to. Requests that none is about go to the default backend.
	Rules []IngressRule `json:"rules,omitempty" pb:"3" list:"atomic"`
}

// IngressTLS is a certificate and the hosts that it is for.
type IngressTLS struct {
	// Hosts that the certificate is for; by default all that the controller serves.
	Hosts []string `json:"hosts,omitempty" pb:"1" list:"atomic"`
	// Secret with the certificate and its key, in the namespace of the ingress. Without one, the
	// hosts are only told apart by SNI.
	SecretName string `json:"secretName,omitempty" pb:"2"`
}

// IngressRule tells where the requests for a host go.
type IngressRule struct {
	// DNS name that requests ask for, without a port; not an address. Its first label may be "*",
	// which stands for exactly one label. Empty: all hosts.
	Host string `json:"host,omitempty" pb:"1"`
	// Without rules for paths, all requests go to the default backend.
	IngressRuleValue `json:",inline" pb:"2"`
}

// IngressRuleValue holds the rules of a host, by protocol.
type IngressRuleValue struct {
	// What the paths of the host lead to.
	HTTP *HTTPIngressRuleValue `json:"http,omitempty" pb:"1"`
}

// HTTPIngressRuleValue tells what the paths of a host lead to.
type HTTPIngressRuleValue struct {
	// The paths, at least one.
	Paths []HTTPIngressPath `json:"paths" pb:"1" list:"atomic"`
}

// HTTPIngressPath tells where the requests for a path go.
type HTTPIngressPath struct {
	// Path that is compared with that of a request. It begins with a slash; it may be empty only
	// for the type ImplementationSpecific.
	Path string `json:"path,omitempty" pb:"1"`
	// How paths are compared: Exact, Prefix (by what is between slashes) or ImplementationSpecific
	// (as the controller likes).
	PathType *PathType `json:"pathType" pb:"3" enum:"Exact,ImplementationSpecific,Prefix"`
	// Where the requests go.
	Backend IngressBackend `json:"backend" pb:"2"`
}

// PathType tells how the path of a request is compared with that of a rule.
type PathType string

// How paths are compared.
const (
	PathTypeExact                  PathType = "Exact"                  // letter by letter
	PathTypePrefix                 PathType = "Prefix"                 // by leading segments; the longest path wins
	PathTypeImplementationSpecific PathType = "ImplementationSpecific" // as the class decides
)

// IngressBackend is where requests go: a service or another resource, not both.
type IngressBackend struct {
	// A service in the namespace of the ingress.
	Service *IngressServiceBackend `json:"service,omitempty" pb:"4"`
	// Another object in the same namespace, of a kind that the controller knows.
	Resource *corev1.TypedLocalObjectReference `json:"resource,omitempty" pb:"3"`
}

// IngressServiceBackend names a service and one of its ports.
type IngressServiceBackend struct {
	// Name of the service.
	Name string `json:"name" pb:"1"`
	// Port of the service, by name or number.
	Port ServiceBackendPort `json:"port,omitempty" pb:"2"`
}

// ServiceBackendPort is a port of a service, by name or number, not both.
type ServiceBackendPort struct {
	_ struct{} `struct:"atomic"`

	// The port, by the name that it has in the service.
	Name string `json:"name,omitempty" pb:"1"`
	// The port, by its number: 1 to 65535.
	Number int32 `json:"number,omitempty" pb:"2"`
}

// IngressStatus tells where the requests are taken in.
type IngressStatus struct {
	// State of the load balancer that takes them in.
	LoadBalancer IngressLoadBalancerStatus `json:"loadBalancer,omitempty" pb:"1"`
}

// IngressLoadBalancerStatus lists the points where a load balancer takes requests in.
type IngressLoadBalancerStatus struct {
	// Where requests can be sent to, from outside.
	Ingress []IngressLoadBalancerIngress `json:"ingress,omitempty" pb:"1" list:"atomic"`
}

// IngressLoadBalancerIngress is a point where a load balancer takes requests in.
type IngressLoadBalancerIngress struct {
	// Its address, if it is known by one.
	IP string `json:"ip,omitempty" pb:"1"`
	// Its name in DNS, if it is known by one.
	Hostname string `json:"hostname,omitempty" pb:"2"`
	// The ports that are open there.
	Ports []IngressPortStatus `json:"ports,omitempty" pb:"4" list:"atomic"`
}

// IngressPortStatus is the state of a port.
type IngressPortStatus struct {
	// Number of the port.
	Port int32 `json:"port" pb:"1"`
	// TCP, UDP or SCTP.
	Protocol corev1.Protocol `json:"protocol" pb:"2" enum:"SCTP,TCP,UDP"`
	// What is wrong with the port, as one word in CamelCase, after a domain and a slash unless it
	// is of Kubernetes itself.
	Error *string `json:"error,omitempty" pb:"3"`
}

// IngressList is a list of ingresses.
type IngressList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []Ingress `json:"items" pb:"2"`
}
