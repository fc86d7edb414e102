package quota

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file decides about one write. The plugin calls Measure once for a write, and Check with the
// quotas that it knows; the worker of a namespace (registry/admission/resourcequota/batch.go) calls
// Check again with the stored quota.

// Request is a write whose usage is known.
type Request struct {
	a       *admission.Attributes
	of      evaluator
	classes []*resourcev1.DeviceClass
	// usage is the usage of the object, and more is the part of usage beyond the usage of the old
	// object. Without an old object, more equals usage. Neither has amounts of 0.
	usage, more Amounts
	// replaces is set if more takes an old object into account.
	replaces bool
}

// Charge is what a write adds to the used amounts of one quota.
type Charge struct {
	Quota   int     // the index of the quota among those that were checked
	Amounts Amounts // all above zero, and limited by the quota; never empty
}

// Measure returns the request for a write for which Handles is true. It computes the usage of the
// object, and of the old object of an update. So Check can be called again with fresh quotas at
// little cost.
func Measure(a *admission.Attributes, s Surroundings) *Request {
	r := &Request{a: a, of: evaluatorOf(a.Resource.GroupResource())}
	if _, ok := r.of.(deviceEvaluator); ok {
		r.classes = s.classes()
		s.Classes = func() []*resourcev1.DeviceClass { return r.classes }
	}
	r.usage = r.of.usage(a.Object, s).withoutZeros()
	r.more = r.usage
	if a.Operation == admission.Update && a.Old != nil && a.Old.GetObjectMeta().ResourceVersion != "" {
		r.more, r.replaces = r.usage.beyond(r.of.usage(a.Old, s)), true
	}
	return r
}

// Check decides whether the quotas of the namespace admit the write. It returns the charges, or a
// *meta.StatusError with Kubernetes' message. Without charges, the write is admitted and changes no
// quota. The charges of a dry run are returned as well; the caller drops them.
func (r *Request) Check(quotas []*corev1.ResourceQuota, limited []LimitedResource) ([]Charge, error) {
	d := decision{Request: r}
	if !d.limit(limited) {
		return nil, nil
	}
	for i, q := range quotas {
		if err := d.consider(i, q); err != nil {
			return nil, err
		}
	}
	if done, err := d.precheck(); done || err != nil {
		return nil, err
	}
	return d.charge(quotas)
}

// decision is the state of one Check.
type decision struct {
	*Request
	tracking []tracking // the quotas that track the object
	// uncovered are the names that a quota must limit, and scopes are the scopes that a quota must
	// have. consider removes a name or scope when it finds a quota that limits or has it.
	uncovered []corev1.ResourceName
	scopes    []corev1.ScopedResourceSelectorRequirement
}

// tracking is a quota that tracks the object, and what the write adds to it.
type tracking struct {
	quota int
	more  Amounts
}

// limit sets uncovered and scopes from the limited resources. It reports false if one of their
// scopes is malformed: as in Kubernetes, the write is then admitted.
func (d *decision) limit(limited []LimitedResource) bool {
	for i := range limited {
		for j := range limited[i].MatchScopes {
			scope := &limited[i].MatchScopes[j]
			in, err := d.of.inScope(scope, d.a.Object)
			if err != nil {
				return false
			}
			if in {
				d.scopes = append(d.scopes, *scope)
			}
		}
	}
	for i := range limited {
		if l := &limited[i]; l.Resource == d.a.Resource.Resource && l.APIGroup == d.a.Resource.Group {
			d.limitNames(l.MatchContains)
		}
	}
	return true
}

// limitNames adds the names in the usage that contain one of parts to d.uncovered.
func (d *decision) limitNames(parts []string) {
	for _, x := range d.usage {
		contains := func(part string) bool { return strings.Contains(string(x.Name), part) }
		if x.Quantity.Sign() > 0 && slices.ContainsFunc(parts, contains) && !slices.Contains(d.uncovered, x.Name) {
			d.uncovered = append(d.uncovered, x.Name)
		}
	}
}

// consider adds the quota with index i to d.tracking if it tracks the object. consider refuses the
// write if the object lacks an amount that it must state, or if the status of the quota lacks a
// used amount.
func (d *decision) consider(i int, q *corev1.ResourceQuota) error {
	in := true
	err := eachScope(q, func(r *corev1.ScopedResourceSelectorRequirement) error {
		matched, err := d.of.inScope(r, d.a.Object)
		if err != nil {
			return meta.NewUnexplained(fmt.Sprintf("error matching scopes of quota %s, err: error on matching scope %v: %v",
				q.Name, *r, err))
		}
		if in = in && matched; matched {
			d.scopes = slices.DeleteFunc(d.scopes, func(s corev1.ScopedResourceSelectorRequirement) bool {
				return s.ScopeName == r.ScopeName
			})
		}
		return nil
	})
	if err != nil || !in || !d.tracksAny(q) {
		return err
	}
	if err := d.of.lacks(q.Status.Hard, d.a.Object); err != nil {
		return d.a.Forbidden("failed quota: %s: %v", q.Name, err)
	}
	for name := range q.Status.Hard {
		if _, used := q.Status.Used[name]; !used && d.of.tracks(name, d.classes) {
			return d.a.Forbidden("status unknown for quota: %s, resources: %s", q.Name, d.tracked(q))
		}
	}
	d.uncovered = slices.DeleteFunc(d.uncovered, func(name corev1.ResourceName) bool {
		_, limits := q.Status.Hard[name]
		return limits && d.of.tracks(name, d.classes)
	})
	t := tracking{i, d.usage}
	if d.replaces {
		// The old object was charged only if the quota tracked it.
		was, err := Selects(q, d.a.Resource.GroupResource(), d.a.Old)
		if err != nil {
			return meta.NewUnexplained(err.Error())
		}
		if was {
			t.more = d.more
		}
	}
	d.tracking = append(d.tracking, t)
	return nil
}

// tracksAny reports whether objects of the kind can use any resource that the quota limits.
func (d *decision) tracksAny(q *corev1.ResourceQuota) bool {
	for name := range q.Status.Hard {
		if d.of.tracks(name, d.classes) {
			return true
		}
	}
	return false
}

// tracked returns the names that the quota limits and objects of the kind can use, for a message.
func (d *decision) tracked(q *corev1.ResourceQuota) string {
	var list []string
	for name := range q.Status.Hard {
		if d.of.tracks(name, d.classes) {
			list = append(list, string(name))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// errNoOld is the refusal of an update without an old object.
var errNoOld = errors.New("unable to get previous usage since prior version of object was not found")

// precheck refuses a write that no quota could admit. It reports true if the write adds nothing to
// any quota: then the write is admitted.
func (d *decision) precheck() (done bool, err error) {
	var negative []string
	for _, x := range d.usage {
		if x.Quantity.Sign() < 0 {
			negative = append(negative, string(x.Name))
		}
	}
	if len(negative) > 0 {
		slices.Sort(negative)
		return false, d.a.Forbidden("quota usage is negative for resource(s): %s", strings.Join(negative, ","))
	}
	if d.a.Operation == admission.Update && d.a.Old == nil {
		return false, d.a.Forbidden("%w", errNoOld)
	}
	adds := func(t tracking) bool { return len(t.more) > 0 }
	if len(d.tracking) > 0 && !slices.ContainsFunc(d.tracking, adds) || len(d.tracking) == 0 && len(d.more) == 0 {
		return true, nil
	}
	if len(d.uncovered) > 0 {
		slices.Sort(d.uncovered)
		return false, d.a.Forbidden("insufficient quota to consume: %s", joinNames(d.uncovered))
	}
	if len(d.scopes) > 0 {
		return false, meta.NewUnexplained(fmt.Sprintf("insufficient quota to match these scopes: %v", d.scopes))
	}
	return false, nil
}

func joinNames(names []corev1.ResourceName) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = string(name)
	}
	return strings.Join(list, ",")
}

// charge returns the charges, or the refusal of the first quota that has no room for its charge.
func (d *decision) charge(quotas []*corev1.ResourceQuota) ([]Charge, error) {
	var charges []Charge
	for _, t := range d.tracking {
		q := quotas[t.quota]
		var add, exceeded Amounts
		for _, x := range t.more {
			limit, ok := q.Status.Hard[x.Name]
			if !ok {
				continue
			}
			if add == nil {
				add = make(Amounts, 0, min(len(t.more), len(q.Status.Hard)))
			}
			add = append(add, x)
			if d.a.Subresource != "status" && q.Status.Used[x.Name].Add(x.Quantity).Cmp(limit) > 0 {
				exceeded = append(exceeded, x)
			}
		}
		if len(exceeded) > 0 {
			return nil, d.a.Forbidden("exceeded quota: %s, requested: %s, used: %s, limited: %s", q.Name,
				exceeded.text(), exceeded.in(q.Status.Used).text(), exceeded.in(q.Status.Hard).text())
		}
		if len(add) > 0 {
			charges = append(charges, Charge{t.quota, add})
		}
	}
	return charges, nil
}

// in returns the amounts of a list that have the names of a.
func (a Amounts) in(list corev1.ResourceList) Amounts {
	var found Amounts
	for _, x := range a {
		if q, ok := list[x.Name]; ok {
			found = append(found, Amount{x.Name, q})
		}
	}
	return found
}
