package discoveryv1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Labels of endpoint slices.
const (
	// LabelServiceName is the service whose endpoints the slice holds.
	LabelServiceName = "kubernetes.io/service-name"
	// LabelManagedBy is the controller that looks after the slice.
	LabelManagedBy = "endpointslice.kubernetes.io/managed-by"
	// LabelSkipMirror is a label of Endpoints. If it is "true", no controller copies them into
	// slices.
	LabelSkipMirror = "endpointslice.kubernetes.io/skip-mirror"
)

// EndpointSlice holds some of the endpoints of a service. The endpoints of a service are those of
// all slices with a label that names it.
type EndpointSlice struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// What sort of addresses all endpoints of the slice have: IPv4, IPv6 or FQDN (deprecated). It
	// cannot be changed.
	AddressType AddressType `json:"addressType" pb:"4" enum:"FQDN,IPv4,IPv6"`
	// The endpoints: at most 1000.
	Endpoints []Endpoint `json:"endpoints" pb:"2" check:"optional" list:"atomic"`
	// Ports of each of the endpoints, with names that differ: at most 20000. None: the endpoints
	// have no ports that are known.
	Ports []EndpointPort `json:"ports" pb:"3" check:"optional" list:"atomic"`
}

// AddressType is a sort of addresses.
type AddressType string

// Values of AddressType.
const (
	AddressTypeIPv4 AddressType = "IPv4"
	AddressTypeIPv6 AddressType = "IPv6"
	AddressTypeFQDN AddressType = "FQDN"
)

// Endpoint is something that serves the service.
type Endpoint struct {
	// Addresses of the endpoint, which mean the same: 1 to 100. Clients use the first one alone.
	Addresses []string `json:"addresses" pb:"1" list:"set"`
	// Whether the endpoint can be used.
	Conditions EndpointConditions `json:"conditions,omitempty" pb:"2"`
	// Host name of the endpoint: a DNS label. Several endpoints may have the same.
	Hostname *string `json:"hostname,omitempty" pb:"3"`
	// The object that provides the endpoint, such as a pod.
	TargetRef *corev1.ObjectReference `json:"targetRef,omitempty" pb:"4"`
	// What an earlier version said of the place of the endpoint. It can be read; what clients write
	// is dropped.
	DeprecatedTopology map[string]string `json:"deprecatedTopology,omitempty" pb:"5"`
	// Node on which the endpoint is.
	NodeName *string `json:"nodeName,omitempty" pb:"6"`
	// Zone in which the endpoint is.
	Zone *string `json:"zone,omitempty" pb:"7"`
	// Who should use the endpoint.
	Hints *EndpointHints `json:"hints,omitempty" pb:"8"`
}

// EndpointConditions say whether an endpoint can be used.
type EndpointConditions struct {
	// It can take traffic, and is not terminating. Unset: it is not known, and to be taken for
	// true.
	Ready *bool `json:"ready,omitempty" pb:"1"`
	// It can take traffic, also if it is terminating. Unset: as ready.
	Serving *bool `json:"serving,omitempty" pb:"2"`
	// It is about to go. Unset: it is not known, and to be taken for false.
	Terminating *bool `json:"terminating,omitempty" pb:"3"`
}

// EndpointHints say who should use an endpoint.
type EndpointHints struct {
	// Zones whose clients should use it: at most 8.
	ForZones []ForZone `json:"forZones,omitempty" pb:"1" list:"atomic"`
	// Nodes whose clients should use it: at most 8.
	ForNodes []ForNode `json:"forNodes,omitempty" pb:"2" list:"atomic"`
}

// ForZone is a zone whose clients should use an endpoint.
type ForZone struct {
	// The zone, as endpoints name theirs.
	Name string `json:"name" pb:"1"`
}

// ForNode is a node whose clients should use an endpoint.
type ForNode struct {
	// The node, by its name.
	Name string `json:"name" pb:"1"`
}

// EndpointPort is a port of all endpoints of a slice.
type EndpointPort struct {
	_ struct{} `struct:"atomic"`
	// Name of the port: empty or a DNS label, and no other port of the slice has it. Default:
	// empty.
	Name *string `json:"name,omitempty" pb:"1"`
	// TCP, UDP or SCTP; TCP by default.
	Protocol *corev1.Protocol `json:"protocol,omitempty" pb:"2" enum:"SCTP,TCP,UDP"`
	// Number of the port. Unset: it is not known.
	Port *int32 `json:"port,omitempty" pb:"3"`
	// What is spoken on the port: a name that IANA has registered, one of Kubernetes's own, such as
	// kubernetes.io/h2c, or another one with a domain. It is a hint to those who carry the traffic.
	AppProtocol *string `json:"appProtocol,omitempty" pb:"4"`
}

// EndpointSliceList is a list of endpoint slices.
type EndpointSliceList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []EndpointSlice `json:"items" pb:"2"`
}
