package core

import (
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file declares endpoints, the older form of EndpointSlices: one object for each service,
// deprecated since 1.33 (KEP-4974). Resources calls endpoints.

// endpoints declares endpoints. Subsets stay in the order in which the client wrote them.
func endpoints() registry.Resource {
	return registry.Typed(registry.ResourceOf[*corev1.Endpoints]{
		GroupResource: meta.GroupResource{Resource: "endpoints"},
		Kind:          "Endpoints", ShortNames: []string{"ep"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*corev1.Endpoints]{
			Metadata:                 registry.MetaWhole,
			Validate:                 checkEndpoints,
			Warnings:                 endpointsWarnings,
			AllowCreateOnUpdate:      true,
			AllowUnconditionalUpdate: true,
		},
		Table: &registry.TableOf[*corev1.Endpoints]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Endpoints", "The first addresses that are ready, each with its ports.", 0),
				registry.AgeColumn,
			},
			Cells: func(e *corev1.Endpoints, now time.Time) []any {
				return []any{e.Name, endpointsCell(e.Subsets), registry.Age(&e.ObjectMeta, now)}
			},
		},
		Deprecated: []registry.Deprecation{{
			Since:   "1.33",
			Instead: meta.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"},
		}},
	})
}

// checkEndpoints checks subsets. Subsets that an update does not change may be invalid: older
// servers had weaker rules, and a controller must be able to update the labels of such an object.
func checkEndpoints(e, old *corev1.Endpoints) field.ErrorList {
	errs := checkSubsets(field.NewPath("subsets"), e.Subsets)
	if len(errs) > 0 && old != nil && scheme.Equal(&e.Subsets, &old.Subsets) {
		return nil
	}
	return errs
}

func checkSubsets(p *field.Path, subsets []corev1.EndpointSubset) field.ErrorList {
	var errs field.ErrorList
	for i, s := range field.Each(&errs, subsets) {
		p := p.Index(i)
		if len(s.Addresses)+len(s.NotReadyAddresses) == 0 {
			errs = append(errs, field.Required(p, "must specify `addresses` or `notReadyAddresses`"))
		}
		for i, a := range field.Each(&errs, s.Addresses) {
			errs = append(errs, checkEndpointAddress(p.Child("addresses").Index(i), a)...)
		}
		for i, a := range field.Each(&errs, s.NotReadyAddresses) {
			errs = append(errs, checkEndpointAddress(p.Child("notReadyAddresses").Index(i), a)...)
		}
		for i, port := range field.Each(&errs, s.Ports) {
			errs = append(errs, checkSubsetPort(p.Child("ports").Index(i), port, len(s.Ports) > 1)...)
		}
	}
	return errs
}

func checkEndpointAddress(p *field.Path, a *corev1.EndpointAddress) field.ErrorList {
	errs := check.Invalid(p.Child("ip"), a.IP, names.IsValidLegacyIP(a.IP, true))
	errs = append(errs, check.Optional(p.Child("hostname"), a.Hostname, check.DNSLabel)...)
	if a.NodeName != nil {
		errs = append(errs, check.DNSSubdomain(p.Child("nodeName"), *a.NodeName)...)
	}
	return append(errs, check.EndpointIP(p.Child("ip"), a.IP)...)
}

// checkSubsetPort checks one port of a subset. named says that the port needs a name, because the
// subset has several.
func checkSubsetPort(p *field.Path, port *corev1.EndpointPort, named bool) field.ErrorList {
	var errs field.ErrorList
	if named {
		errs = check.Required(p.Child("name"), port.Name)
	}
	errs = append(errs, check.Optional(p.Child("name"), port.Name, check.DNSLabel)...)
	errs = append(errs, check.PortNumber(p.Child("port"), port.Port)...)
	errs = append(errs, check.OneOf(p.Child("protocol"), port.Protocol,
		corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)...)
	if port.AppProtocol != nil {
		errs = append(errs, check.QualifiedName(p.Child("appProtocol"), *port.AppProtocol)...)
	}
	return errs
}

// The label, and its value, by which the endpoints controller marks the objects that it manages.
const (
	endpointsManagedBy  = "endpoints.kubernetes.io/managed-by"
	endpointsController = "endpoint-controller"
)

// endpointsWarnings tells of addresses that are not in canonical form (KEP-4858). It is silent if
// the endpoints controller writes: nobody reads its warnings.
func endpointsWarnings(e, _ *corev1.Endpoints) []string {
	if e.Labels[endpointsManagedBy] == endpointsController {
		return nil
	}
	var warnings []string
	warn := func(p *field.Path, list []corev1.EndpointAddress) {
		for i := range list {
			if len(warnings) >= check.MaxAddressWarnings {
				return
			}
			warnings = append(warnings, check.IPWarnings(p.Index(i).Child("ip"), list[i].IP)...)
		}
	}
	for i := range e.Subsets {
		p := field.NewPath("subsets").Index(i)
		warn(p.Child("addresses"), e.Subsets[i].Addresses)
		warn(p.Child("notReadyAddresses"), e.Subsets[i].NotReadyAddresses)
	}
	return warnings
}

// maxEndpointCells is how many endpoints a row shows. "+ N more..." stands for the others.
const maxEndpointCells = 3

// endpointsCell lists the first ready endpoints, such as "10.0.0.1:80,10.0.0.2:80 + 3 more...".
func endpointsCell(subsets []corev1.EndpointSubset) string {
	if len(subsets) == 0 {
		return registry.None
	}
	var list []string
	count := 0
	add := func(s *corev1.EndpointSubset, show func(ip string) string) {
		count += len(s.Addresses)
		for i := range s.Addresses[:min(len(s.Addresses), maxEndpointCells-len(list))] {
			list = append(list, show(s.Addresses[i].IP))
		}
	}
	for i := range subsets {
		s := &subsets[i]
		if len(s.Ports) == 0 { // a headless service without ports has plain addresses
			add(s, func(ip string) string { return ip })
		}
		for j := range s.Ports {
			port := strconv.Itoa(int(s.Ports[j].Port))
			add(s, func(ip string) string { return net.JoinHostPort(ip, port) })
		}
	}
	return registry.More(strings.Join(list, ","), count-maxEndpointCells)
}
