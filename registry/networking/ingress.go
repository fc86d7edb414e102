package networking

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// ingresses declares the resource ingresses. The rules for the spec are in ingresscheck.go.
func ingresses() registry.Resource {
	return registry.Typed(registry.ResourceOf[*networkingv1.Ingress]{
		GroupResource: resource("ingresses"),
		Kind:          "Ingress", ShortNames: []string{"ing"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*networkingv1.Ingress]{
			Metadata:                 registry.MetaWhole,
			Validate:                 checkIngress,
			Warnings:                 ingressWarnings,
			AllowUnconditionalUpdate: true,
		},
		Generation: []string{"spec"},
		Status: &registry.StatusOf[*networkingv1.Ingress]{
			Validate: checkIngressStatus, Warnings: ingressStatusWarnings,
		},
		Table: &registry.TableOf[*networkingv1.Ingress]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Class", "Name of the class, which decides which controller serves the ingress.", 0),
				registry.Column("Hosts", "Hosts in the rules.", 0),
				registry.Column("Address", "Addresses of the load balancer.", 0),
				registry.Column("Ports", "Ports on which the ingress takes requests.", 0),
				registry.AgeColumn,
			},
			Cells: ingressCells,
		},
	})
}

// ingressCells returns the cells of an ingress. Its ports follow from whether it has TLS.
func ingressCells(ing *networkingv1.Ingress, now time.Time) []any {
	class, ports := registry.None, "80"
	if ing.Spec.IngressClassName != nil {
		class = *ing.Spec.IngressClassName
	}
	if len(ing.Spec.TLS) > 0 {
		ports = "80, 443"
	}
	return []any{ing.Name, class, hostsCell(ing.Spec.Rules), addressCell(&ing.Status), ports,
		registry.Age(&ing.ObjectMeta, now)}
}

// shownHosts is how many hosts a table shows at most. After them it shows the number of further
// rules.
const shownHosts = 3

// hostsCell returns the first hosts of the rules, "*" if no rule names a host.
func hostsCell(rules []networkingv1.IngressRule) string {
	var hosts []string
	for i := range rules {
		if len(hosts) == shownHosts {
			return registry.More(strings.Join(hosts, ","), len(rules)-shownHosts)
		}
		if host := rules[i].Host; host != "" {
			hosts = append(hosts, host)
		}
	}
	if len(hosts) == 0 {
		return "*"
	}
	return strings.Join(hosts, ",")
}

// addressCell returns the addresses and host names of the load balancer, sorted and without
// repetitions.
func addressCell(s *networkingv1.IngressStatus) string {
	var points []string
	for _, point := range s.LoadBalancer.Ingress {
		if point.IP != "" {
			points = append(points, point.IP)
		} else if point.Hostname != "" {
			points = append(points, point.Hostname)
		}
	}
	slices.Sort(points)
	return strings.Join(slices.Compact(points), ",")
}

// ingressWarnings warns of the annotation with the class of a new ingress, unless the field is set,
// too.
func ingressWarnings(ing, old *networkingv1.Ingress) []string {
	if _, ok := ing.Annotations[networkingv1.IngressClassAnnotation]; !ok || old != nil ||
		ing.Spec.IngressClassName != nil {
		return nil
	}
	return []string{fmt.Sprintf("annotation %q is deprecated, please use 'spec.ingressClassName' instead",
		networkingv1.IngressClassAnnotation)}
}

// pointsPath is the path of the load balancer's addresses in the status.
var pointsPath = field.NewPath("status", "loadBalancer", "ingress")

// checkIngressStatus checks the addresses of the load balancer. An address of the old status may
// stay, even if it is invalid by the rules for new ones (KEP-4858).
func checkIngressStatus(ing, old *networkingv1.Ingress) field.ErrorList {
	oldIPs := make(map[string]bool)
	for _, point := range old.Status.LoadBalancer.Ingress {
		oldIPs[point.IP] = true
	}
	var errs field.ErrorList
	for i, point := range field.Each(&errs, ing.Status.LoadBalancer.Ingress) {
		p := pointsPath.Index(i)
		if point.IP != "" && !oldIPs[point.IP] {
			errs = append(errs, check.Invalid(p.Child("ip"), point.IP, names.IsValidLegacyIP(point.IP, true))...)
		}
		if point.Hostname != "" {
			errs = append(errs, check.DNSSubdomain(p.Child("hostname"), point.Hostname)...)
			errs = append(errs, check.NoIP(p.Child("hostname"), point.Hostname)...)
		}
	}
	return errs
}

// ingressStatusWarnings warns of addresses that are not in canonical form.
func ingressStatusWarnings(ing, _ *networkingv1.Ingress) []string {
	ips := make([]string, len(ing.Status.LoadBalancer.Ingress))
	for i := range ips {
		ips[i] = ing.Status.LoadBalancer.Ingress[i].IP
	}
	return check.AddressWarnings(pointsPath, ips, check.IPWarnings)
}
