package discoveryv1

import (
	"maps"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// addStored registers the version in which slices may be stored although nobody is served in it. It
// has the zone of an endpoint among labels, its topology.
func addStored(s *scheme.Scheme) {
	const kind = "EndpointSlice"
	s.AddStored(meta.GroupVersionKind{Group: GroupVersion.Group, Version: "v1beta1", Kind: kind},
		GroupVersion.WithKind(kind).GroupKind(), &sliceBeta{})
	scheme.AddConversion(s, func(in *endpointBeta, out *Endpoint) error {
		if err := scheme.ConvertFields(s, in, out); err != nil {
			return err
		}
		placeEndpoint(out, in.Topology)
		return nil
	})
}

type sliceBeta struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	AddressType     AddressType    `json:"addressType" pb:"4"`
	Endpoints       []endpointBeta `json:"endpoints" pb:"2"`
	Ports           []EndpointPort `json:"ports" pb:"3"`
}

type endpointBeta struct {
	Addresses  []string                `json:"addresses" pb:"1"`
	Conditions EndpointConditions      `json:"conditions,omitempty" pb:"2"`
	Hostname   *string                 `json:"hostname,omitempty" pb:"3"`
	TargetRef  *corev1.ObjectReference `json:"targetRef,omitempty" pb:"4"`
	Topology   map[string]string       `json:"topology,omitempty" pb:"5"`
	NodeName   *string                 `json:"nodeName,omitempty" pb:"6"`
	Hints      *EndpointHints          `json:"hints,omitempty" pb:"7"`
}

// placeEndpoint sets the zone that a topology names. What else the topology says is kept, but for a
// host name that is the name of the node.
func placeEndpoint(e *Endpoint, topology map[string]string) {
	const zoneLabel, hostLabel = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
	rest := maps.Clone(topology)
	if zone, ok := topology[zoneLabel]; ok {
		e.Zone = &zone
		delete(rest, zoneLabel)
	}
	if host, ok := topology[hostLabel]; ok && e.NodeName != nil && *e.NodeName == host {
		delete(rest, hostLabel)
	}
	if len(rest) > 0 {
		e.DeprecatedTopology = rest
	}
}
