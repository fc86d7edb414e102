package networking

import (
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// serviceCIDRs declares the resource servicecidrs (KEP-1880). A range can neither be changed nor
// removed, because Services may have addresses from it; see checkServiceCIDR. A write of the status
// changes neither metadata nor spec.
func serviceCIDRs() registry.Resource {
	return registry.Typed(registry.ResourceOf[*networkingv1.ServiceCIDR]{
		GroupResource: resource("servicecidrs"),
		Kind:          "ServiceCIDR",
		Strategy: registry.StrategyOf[*networkingv1.ServiceCIDR]{
			Metadata:                 registry.MetaChange,
			Validate:                 checkServiceCIDR,
			AllowUnconditionalUpdate: true,
		},
		Status: &registry.StatusOf[*networkingv1.ServiceCIDR]{
			Prepare: registry.KeepMeta[*networkingv1.ServiceCIDR], Metadata: registry.MetaChange,
			ResetFields: []string{"metadata", "spec"},
		},
		Table: &registry.TableOf[*networkingv1.ServiceCIDR]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("CIDRs", "CIDRs from which Services get addresses.", 0),
				registry.AgeColumn,
			},
			Cells: func(c *networkingv1.ServiceCIDR, now time.Time) []any {
				return []any{c.Name, strings.Join(c.Spec.CIDRs, ","), registry.Age(&c.ObjectMeta, now)}
			},
		},
	})
}

// checkServiceCIDR returns what is wrong with a new object, or with an update of old. The only
// change allowed is to add the range of the second IP family, which makes a single-stack cluster
// dual-stack.
func checkServiceCIDR(c, old *networkingv1.ServiceCIDR) field.ErrorList {
	p := field.NewPath("spec", "cidrs")
	if old == nil {
		return checkRanges(p, &c.Spec)
	}
	ranges, was := c.Spec.CIDRs, old.Spec.CIDRs
	second := len(was) == 1 && len(ranges) == 2 // the update adds the second family
	if len(ranges) != len(was) && !second {
		return field.ErrorList{field.Invalid(p, ranges, "field is immutable")}
	}
	var errs field.ErrorList
	for i := range was {
		errs = append(errs, check.Immutable(p.Index(i), &ranges[i], &was[i])...)
	}
	if second {
		errs = append(errs, checkRanges(p, &c.Spec)...)
	}
	return errs
}

// checkRanges checks that there are one or two CIDRs in canonical form, at most one of each IP
// family.
func checkRanges(p *field.Path, spec *networkingv1.ServiceCIDRSpec) field.ErrorList {
	ranges := spec.CIDRs
	switch len(ranges) {
	case 0:
		return field.ErrorList{field.Required(p, "at least one CIDR required")}
	case 1, 2:
	default:
		return field.ErrorList{field.Invalid(p, govalue.JSON(spec), "may only hold up to 2 values")}
	}
	var errs field.ErrorList
	for i, text := range ranges {
		errs = append(errs, check.Invalid(p.Index(i), text, names.IsValidCIDR(text))...)
	}
	if len(ranges) == 2 && sameFamily(ranges[0], ranges[1]) {
		errs = append(errs, field.Invalid(p, ranges,
			"may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"))
	}
	return errs
}

// sameFamily reports whether two CIDRs are of the same IP family; false if one of them cannot be
// read. An IPv4-mapped IPv6 address counts as IPv4.
func sameFamily(a, b string) bool {
	x, bad := names.ParseCIDR(a, false)
	y, worse := names.ParseCIDR(b, false)
	return len(bad) == 0 && len(worse) == 0 && x.Addr().Unmap().Is4() == y.Addr().Unmap().Is4()
}
