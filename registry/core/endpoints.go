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

// endpoints makes the resource endpoints. What clients write is kept in its order.
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

// checkEndpoints lets subsets that have been there be as they are: less was asked of them once.
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

// The label by which Kubernetes's controller of endpoints marks those that it looks after.
const (
	endpointsManagedBy  = "endpoints.kubernetes.io/managed-by"
	endpointsController = "endpoint-controller"
)

// endpointsWarnings tell of addresses that are not written as they should be, in what people write.
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

// maxEndpointCells is how many endpoints a row shows.
const maxEndpointCells = 3

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
		if len(s.Ports) == 0 { // of a headless service
			add(s, func(ip string) string { return ip })
		}
		for j := range s.Ports {
			port := strconv.Itoa(int(s.Ports[j].Port))
			add(s, func(ip string) string { return net.JoinHostPort(ip, port) })
		}
	}
	return registry.More(strings.Join(list, ","), count-maxEndpointCells)
}
