package discovery

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// endpointSlices makes the resource endpointslices.
func endpointSlices() registry.Resource {
	return registry.Typed(registry.ResourceOf[*discoveryv1.EndpointSlice]{
		GroupResource: meta.GroupResource{Group: discoveryv1.GroupVersion.Group, Resource: "endpointslices"},
		Kind:          "EndpointSlice",
		Namespaced:    true,
		Strategy: registry.StrategyOf[*discoveryv1.EndpointSlice]{
			Metadata:                 registry.MetaObject,
			Prepare:                  dropTopology,
			Validate:                 checkSlice,
			Warnings:                 sliceWarnings,
			AllowUnconditionalUpdate: true,
		},
		Generation: []string{"addressType", "endpoints", "ports", "metadata.labels"},
		Table: &registry.TableOf[*discoveryv1.EndpointSlice]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("AddressType", "What sort of addresses the endpoints have.", 0),
				registry.Column("Ports", "The first ports of each endpoint.", 0),
				registry.Column("Endpoints", "The first addresses.", 0),
				registry.AgeColumn,
			},
			Cells: sliceCells,
		},
	})
}

// hostnameLabel is the key of the name of the node in what topology was once.
const hostnameLabel = "kubernetes.io/hostname"

// dropTopology drops what a client writes about topology. Clients that know the older field alone,
// and leave a node where it was, do not lose it: its name moves to the newer field.
func dropTopology(_ *registry.Request, s, old *discoveryv1.EndpointSlice) {
	nodes := map[string]bool{}
	if old != nil {
		if scheme.Equal(&s.Endpoints, &old.Endpoints) {
			return
		}
		for i := range old.Endpoints {
			nodes[old.Endpoints[i].DeprecatedTopology[hostnameLabel]] = true
		}
	}
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if node := e.DeprecatedTopology[hostnameLabel]; e.NodeName == nil && nodes[node] &&
			len(names.IsDNS1123Subdomain(node)) == 0 {
			e.NodeName = &node
		}
		e.DeprecatedTopology = nil
	}
}

// The controllers of Kubernetes that look after slices, and write addresses as they should be.
var controllers = []string{"endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"}

func sliceWarnings(s, old *discoveryv1.EndpointSlice) []string {
	var warnings []string
	if old == nil && s.AddressType == discoveryv1.AddressTypeFQDN {
		warnings = append(warnings, "spec.addressType: FQDN endpoints are deprecated")
	}
	if slices.Contains(controllers, s.Labels[discoveryv1.LabelManagedBy]) {
		return warnings
	}
	for i := range s.Endpoints {
		if len(warnings) >= check.MaxAddressWarnings {
			break
		}
		p := field.NewPath("endpoints").Index(i).Child("addresses")
		warnings = append(warnings, check.AddressWarnings(p, s.Endpoints[i].Addresses, check.IPWarnings)...)
	}
	return warnings
}

func sliceCells(s *discoveryv1.EndpointSlice, now time.Time) []any {
	var ports, addresses []string
	for i := range s.Ports {
		switch port := &s.Ports[i]; {
		case port.Port != nil:
			ports = append(ports, strconv.Itoa(int(*port.Port)))
		case port.Name != nil:
			ports = append(ports, *port.Name)
		default:
			ports = append(ports, "*")
		}
	}
	for i := range s.Endpoints {
		addresses = append(addresses, s.Endpoints[i].Addresses...)
	}
	return []any{s.Name, string(s.AddressType), someOf(ports), someOf(addresses), registry.Age(&s.ObjectMeta, now)}
}

// someOf shows the beginning of a list, and how much more there is.
func someOf(list []string) string {
	const most = 3
	text := strings.Join(list[:min(len(list), most)], ",")
	if text == "" {
		return registry.Unset
	}
	return registry.More(text, len(list)-most)
}
