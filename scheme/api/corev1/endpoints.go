package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// Endpoints are the addresses of a service of the same name. EndpointSlices of discovery.k8s.io/v1
// have taken their place.
type Endpoints struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The addresses, in sets of which each offers the same ports. An address that is ready for some
	// ports only is in several.
	Subsets []EndpointSubset `json:"subsets,omitempty" pb:"2" list:"atomic"`
}

// EndpointSubset is a set of addresses that offer the same ports: each address with each port is an
// endpoint.
type EndpointSubset struct {
	// Addresses that are ready to be used.
	Addresses []EndpointAddress `json:"addresses,omitempty" pb:"1" list:"atomic"`
	// Addresses that are not ready yet, have just failed, or are being checked.
	NotReadyAddresses []EndpointAddress `json:"notReadyAddresses,omitempty" pb:"2" list:"atomic"`
	// Ports at each of the addresses.
	Ports []EndpointPort `json:"ports,omitempty" pb:"3" list:"atomic"`
}

// EndpointAddress is an address, and what is reached there.
type EndpointAddress struct {
	_ struct{} `struct:"atomic"`
	// The address, which is neither a loopback nor a link-local one.
	IP string `json:"ip" pb:"1"`
	// Host name of the endpoint.
	Hostname string `json:"hostname,omitempty" pb:"3"`
	// Node on which the endpoint is.
	NodeName *string `json:"nodeName,omitempty" pb:"4"`
	// The object that provides the endpoint, such as a pod.
	TargetRef *ObjectReference `json:"targetRef,omitempty" pb:"2"`
}

// EndpointPort is a port at the addresses of a subset.
type EndpointPort struct {
	_ struct{} `struct:"atomic"`
	// Name of the port, as in the service; needed if there are several.
	Name string `json:"name,omitempty" pb:"1"`
	// Number of the port.
	Port int32 `json:"port" pb:"2"`
	// TCP, UDP or SCTP; TCP by default.
	Protocol Protocol `json:"protocol,omitempty" pb:"3" enum:"SCTP,TCP,UDP"`
	// What is spoken on the port: a name that IANA has registered, one of Kubernetes's own, such as
	// kubernetes.io/h2c, or another one with a domain. It is a hint to those who carry the traffic.
	AppProtocol *string `json:"appProtocol,omitempty" pb:"4"`
}

// EndpointsList is a list of endpoints.
type EndpointsList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []Endpoints `json:"items" pb:"2"`
}
