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

// endpointSlices declares the resource endpointslices. Its fields are at the top level, without
// spec and status. Generation counts changes of labels, too, since the controller reads them.
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
				registry.Column("AddressType", "Type of the addresses: IPv4, IPv6 or FQDN.", 0),
				registry.Column("Ports", "First ports of the endpoints.", 0),
				registry.Column("Endpoints", "First addresses of the endpoints.", 0),
				registry.AgeColumn,
			},
			Cells: sliceCells,
		},
	})
}

// hostnameLabel is the key with the name of the node in an endpoint's topology, which nodeName
// replaced.
const hostnameLabel = "kubernetes.io/hostname"

// dropTopology clears the deprecated topology of endpoints, unless the endpoints are unchanged. A
// client that knows only topology, and names a node that the old slice named there, does not lose
// the node: its name moves to nodeName.
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

// controllers are the values of the label managed-by of Kubernetes' own controllers. They copy
// addresses from pods and Endpoints, so a warning about an address would reach nobody who can
// change it.
var controllers = []string{"endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"}

// sliceWarnings warns of a new slice of domain names, which are deprecated, and of addresses that
// are not in canonical form, up to check.MaxAddressWarnings.
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

// sliceCells returns the cells of a slice. A port without number and name stands for all ports.
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
	return []any{s.Name, string(s.AddressType), firstOf(ports), firstOf(addresses), registry.Age(&s.ObjectMeta, now)}
}

// firstOf returns the first three texts of a list and the number of the others.
func firstOf(list []string) string {
	const most = 3
	text := strings.Join(list[:min(len(list), most)], ",")
	if text == "" {
		return registry.Unset
	}
	return registry.More(text, len(list)-most)
}
