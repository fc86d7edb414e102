package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// Service names a set of endpoints and tells how they can be reached.
type Service struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// How the service should behave.
	Spec ServiceSpec `json:"spec,omitempty" pb:"2"`
	// What has been observed of the service.
	Status ServiceStatus `json:"status,omitempty" pb:"3"`
}

// ServiceSpec describes what a service offers and to whom.
type ServiceSpec struct {
	// Ports that the service exposes.
	Ports []ServicePort `json:"ports,omitempty" pb:"1" list:"map,key=port,key=protocol" patch:"merge,key=port"`
	// Sends traffic to pods with these labels. Without one, endpoints are managed by others;
	// ignored with ExternalName.
	Selector map[string]string `json:"selector,omitempty" pb:"2" map:"atomic"`
	// Virtual address of the service; assigned if not given. "None" makes a headless service.
	ClusterIP string `json:"clusterIP,omitempty" pb:"3"`
	// Virtual addresses, at most one for each IP family; the first is clusterIP.
	ClusterIPs []string `json:"clusterIPs,omitempty" pb:"18" list:"atomic"`
	// ClusterIP (the default, inside the cluster), NodePort (at each node, too), LoadBalancer (from
	// outside, too) or ExternalName (a name in DNS only).
	Type ServiceType `json:"type,omitempty" pb:"4" enum:"ClusterIP,ExternalName,LoadBalancer,NodePort"`
	// Further addresses, not managed here, at which nodes accept traffic for the service.
	ExternalIPs []string `json:"externalIPs,omitempty" pb:"5" list:"atomic"`
	// ClientIP sends a client's connections to one pod; None by default.
	SessionAffinity ServiceAffinity `json:"sessionAffinity,omitempty" pb:"7" enum:"ClientIP,None"`
	// Wished address of the load balancer. Deprecated: providers differ in what they do with it.
	LoadBalancerIP string `json:"loadBalancerIP,omitempty" pb:"8"`
	// Client address ranges that the load balancer lets through, where the provider can.
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty" pb:"9" list:"atomic"`
	// Name that DNS returns as a CNAME for the service; needs type ExternalName.
	ExternalName string `json:"externalName,omitempty" pb:"10"`
	// Cluster (the default) spreads traffic from outside over all endpoints; Local sends it only to
	// those on the node that it reached, and keeps the client's address.
	ExternalTrafficPolicy ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty" pb:"11" enum:"Cluster,Local"`
	// Port for node health checks, of load balancers with external policy Local; assigned if not
	// given.
	HealthCheckNodePort int32 `json:"healthCheckNodePort,omitempty" pb:"12"`
	// Treats all endpoints as ready, so that DNS shows them before they are.
	PublishNotReadyAddresses bool `json:"publishNotReadyAddresses,omitempty" pb:"13"`
	// Settings of session affinity.
	SessionAffinityConfig *SessionAffinityConfig `json:"sessionAffinityConfig,omitempty" pb:"14"`
	// IPv4, IPv6 or both, the first being that of clusterIP; chosen by ipFamilyPolicy and the
	// cluster if not given.
	IPFamilies []IPFamily `json:"ipFamilies,omitempty" pb:"19" itemEnum:",IPv4,IPv6" list:"atomic"`
	// SingleStack, PreferDualStack (two families if the cluster has two) or RequireDualStack.
	// SingleStack by default, RequireDualStack for headless services without a selector.
	IPFamilyPolicy *IPFamilyPolicy `json:"ipFamilyPolicy,omitempty" pb:"17" enum:"PreferDualStack,RequireDualStack,SingleStack"`
	// Whether a load balancer gets node ports; true by default.
	AllocateLoadBalancerNodePorts *bool `json:"allocateLoadBalancerNodePorts,omitempty" pb:"20"`
	// Implementation that serves the load balancer; the cluster's default if unset. Set once.
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty" pb:"21"`
	// Cluster (the default) spreads traffic from inside over all endpoints; Local sends it only to
	// those on the client's node.
	InternalTrafficPolicy *ServiceInternalTrafficPolicy `json:"internalTrafficPolicy,omitempty" pb:"22" enum:"Cluster,Local"`
	// A preference for endpoints near the client: PreferSameZone (also called PreferClose) or
	// PreferSameNode; none by default.
	TrafficDistribution *string `json:"trafficDistribution,omitempty" pb:"23"`
}

// ServicePort is one port of a service.
type ServicePort struct {
	// Name of the port, a DNS label; needed and unique if there are several ports.
	Name string `json:"name,omitempty" pb:"1"`
	// TCP, UDP or SCTP; TCP by default.
	Protocol Protocol `json:"protocol,omitempty" pb:"2" default:"TCP" enum:"SCTP,TCP,UDP"`
	// Hint at the application protocol: an IANA service name or a prefixed name.
	AppProtocol *string `json:"appProtocol,omitempty" pb:"6"`
	// Port at the addresses of the service: 1 to 65535.
	Port int32 `json:"port" pb:"3"`
	// Port of the pods, by number or by name of a container port; port by default. Ignored for
	// headless services.
	TargetPort meta.IntOrString `json:"targetPort,omitempty" pb:"4"`
	// Port on every node, of types NodePort and LoadBalancer; assigned if not given.
	NodePort int32 `json:"nodePort,omitempty" pb:"5"`
}

// Protocol is a transport protocol.
type Protocol string

// ServiceType tells how a service is exposed.
type ServiceType string

// ServiceAffinity tells whether a client stays with one endpoint.
type ServiceAffinity string

// ServiceExternalTrafficPolicy tells how traffic from outside the cluster is spread.
type ServiceExternalTrafficPolicy string

// SessionAffinityConfig holds the settings of session affinity.
type SessionAffinityConfig struct {
	// Settings of affinity by client address.
	ClientIP *ClientIPConfig `json:"clientIP,omitempty" pb:"1"`
}

// ClientIPConfig holds the settings of affinity by client address.
type ClientIPConfig struct {
	// How long a client stays with its endpoint, in seconds: 1 to 86400; 10800 by default.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" pb:"1"`
}

// IPFamily is a version of the internet protocol.
type IPFamily string

// IPFamilyPolicy tells how many IP families a service wants.
type IPFamilyPolicy string

// ServiceInternalTrafficPolicy tells how traffic from inside the cluster is spread.
type ServiceInternalTrafficPolicy string

// ServiceStatus is the observed state of a service.
type ServiceStatus struct {
	// State of the load balancer, if there is one.
	LoadBalancer LoadBalancerStatus `json:"loadBalancer,omitempty" pb:"1"`
	// Latest observations of the service.
	Conditions []meta.Condition `json:"conditions,omitempty" pb:"2" list:"map,key=type" patch:"merge,key=type"`
}

// LoadBalancerStatus is the observed state of a load balancer.
type LoadBalancerStatus struct {
	// Where traffic enters the load balancer.
	Ingress []LoadBalancerIngress `json:"ingress,omitempty" pb:"1" list:"atomic"`
}

// LoadBalancerIngress is one entry point of a load balancer: an address or a name.
type LoadBalancerIngress struct {
	// Address of the entry point.
	IP string `json:"ip,omitempty" pb:"1"`
	// DNS name of the entry point.
	Hostname string `json:"hostname,omitempty" pb:"2"`
	// Whether traffic arrives with the load balancer's address (VIP) or as if sent to the node or
	// pod (Proxy).
	IPMode *LoadBalancerIPMode `json:"ipMode,omitempty" pb:"3"`
	// State of each service port.
	Ports []PortStatus `json:"ports,omitempty" pb:"4" list:"atomic"`
}

// LoadBalancerIPMode tells how traffic from a load balancer's address arrives.
type LoadBalancerIPMode string

// PortStatus is the state of one port at a load balancer.
type PortStatus struct {
	// Port number.
	Port int32 `json:"port" pb:"1"`
	// TCP, UDP or SCTP.
	Protocol Protocol `json:"protocol" pb:"2" enum:"SCTP,TCP,UDP"`
	// What is wrong with the port: a CamelCase word, with a domain prefix where it is provider
	// specific.
	Error *string `json:"error,omitempty" pb:"3"`
}

// ServiceList is a list of services.
type ServiceList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// List of services.
	Items []Service `json:"items" pb:"2"`
}
