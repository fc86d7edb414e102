package core

import (
	"fmt"
	"math"
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file declares limitranges, which bound and default the resources of pods, containers and
// claims of a namespace. The admission plugin LimitRanger applies them; here they are only checked.
// Resources calls limitRanges.

// limitRanges declares limitranges.
func limitRanges() registry.Resource {
	return registry.Typed(registry.ResourceOf[*corev1.LimitRange]{
		GroupResource: meta.GroupResource{Resource: "limitranges"},
		Kind:          "LimitRange", ShortNames: []string{"limits"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*corev1.LimitRange]{
			Metadata:                 registry.MetaObject,
			Prepare:                  nameLimitRange,
			Validate:                 checkLimitRange,
			AllowCreateOnUpdate:      true,
			AllowUnconditionalUpdate: true,
		},
	})
}

// nameLimitRange gives an object without name and generateName a UID as its name, as Kubernetes
// does for this kind.
func nameLimitRange(_ *registry.Request, l, _ *corev1.LimitRange) {
	if l.Name == "" && l.GenerateName == "" {
		l.Name = string(registry.NewUID())
	}
}

// checkLimitRange checks each item, and that no two have one type.
func checkLimitRange(l, _ *corev1.LimitRange) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("spec", "limits")
	seen := check.Duplicates{}
	for i, item := range field.Each(&errs, l.Spec.Limits) {
		p := p.Index(i)
		errs = append(errs, limitType(p.Child("type"), item.Type)...)
		if !seen.Add(string(item.Type)) {
			errs = append(errs, field.Duplicate(p.Child("type"), item.Type))
		}
		errs = append(errs, checkLimitNames(p, item)...)
		for name := range field.Entries(&errs, limitedNames(item)) {
			errs = append(errs, checkLimits(p, item, name)...)
		}
	}
	return errs
}

// limitType checks the type of an item: Pod, Container, PersistentVolumeClaim, or a name with a
// domain.
func limitType(p *field.Path, t corev1.LimitType) field.ErrorList {
	if errs := check.Invalid(p, t, names.IsQualifiedName(string(t))); len(errs) > 0 ||
		strings.Contains(string(t), "/") {
		return errs
	}
	switch t {
	case corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim:
		return nil
	}
	return field.ErrorList{field.Invalid(p, t, "must be a standard limit type or fully qualified")}
}

// checkLimitNames checks which resources an item limits. Items for pods have no defaults. An item
// for claims must bound storage.
func checkLimitNames(p *field.Path, item *corev1.LimitRangeItem) field.ErrorList {
	var errs field.ErrorList
	rule := podspec.ResourceName
	if item.Type == corev1.LimitTypePod || item.Type == corev1.LimitTypeContainer {
		rule = podspec.ContainerResourceName
	}
	// each checks the names in one list of the item.
	each := func(p *field.Path, list corev1.ResourceList) {
		for name := range field.Entries(&errs, list) {
			errs = append(errs, rule(p.Key(string(name)), name)...)
		}
	}
	each(p.Child("max"), item.Max)
	each(p.Child("min"), item.Min)
	if item.Type == corev1.LimitTypePod {
		errs = append(errs, check.Forbidden(p, "may not be specified when `type` is 'Pod'", []check.Setting{
			{"default", len(item.Default) > 0}, {"defaultRequest", len(item.DefaultRequest) > 0},
		})...)
	} else {
		each(p.Child("default"), item.Default)
		each(p.Child("defaultRequest"), item.DefaultRequest)
	}
	if item.Type == corev1.LimitTypePersistentVolumeClaim {
		_, least := item.Min[corev1.ResourceStorage]
		_, most := item.Max[corev1.ResourceStorage]
		if !least && !most {
			errs = append(errs, field.Required(p.Child("limits"),
				"either minimum or maximum storage value is required, but neither was provided"))
		}
	}
	each(p.Child("maxLimitRequestRatio"), item.MaxLimitRequestRatio)
	return errs
}

// limitedNames returns the names of the resources that any list of an item has.
func limitedNames(item *corev1.LimitRangeItem) map[corev1.ResourceName]bool {
	all := map[corev1.ResourceName]bool{}
	for _, list := range []corev1.ResourceList{
		item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio,
	} {
		for name := range list {
			all[name] = true
		}
	}
	return all
}

// amount is the entry of one resource in one list of an item.
type amount struct {
	meta.Quantity
	// set is false if the list lacks the resource; comparisons then pass.
	set  bool
	path *field.Path
	name string // the name of the list in messages
}

// checkLimits compares the amounts of one resource in the lists of an item: min <= default request
// <= default limit <= max. It reports each pair that is out of order, by the path that Kubernetes
// gives it.
func checkLimits(p *field.Path, item *corev1.LimitRangeItem, name corev1.ResourceName) field.ErrorList {
	amountOf := func(list corev1.ResourceList, key, text string) amount {
		q, ok := list[name]
		return amount{q, ok, p.Child(key).Key(string(name)), text}
	}
	least, most := amountOf(item.Min, "min", "min"), amountOf(item.Max, "max", "max")
	limit, request := amountOf(item.Default, "default", "default"),
		amountOf(item.DefaultRequest, "defaultRequest", "default request")
	if item.Type == corev1.LimitTypePod {
		limit.set, request.set = false, false
	}
	// Only the comparison with the default request calls it "default limit".
	bound := limit
	bound.name = "default limit"
	errs := checkAtMost(least, most, least)
	errs = append(errs, checkAtMost(least, request, request)...)
	errs = append(errs, checkAtMost(request, most, request)...)
	errs = append(errs, checkAtMost(request, bound, request)...)
	errs = append(errs, checkAtMost(least, limit, amount{least.Quantity, true, limit.path, ""})...)
	errs = append(errs, checkAtMost(limit, most, amount{most.Quantity, true, limit.path, ""})...)
	errs = append(errs, checkRatio(amountOf(item.MaxLimitRequestRatio, "maxLimitRequestRatio", ""), least, most)...)
	if limit.set && request.set && !podspec.CanOvercommit(name) && limit.Cmp(request.Quantity) != 0 {
		errs = append(errs, field.Invalid(request.path, request.Quantity,
			fmt.Sprintf("default value %s must equal to defaultRequest value %s in %s",
				limit, request, meta.Excerpt(string(name)))))
	}
	return errs
}

// checkAtMost reports that a is above b. shown gives the path and the amount of the error.
func checkAtMost(a, b, shown amount) field.ErrorList {
	if !a.set || !b.set || a.Cmp(b.Quantity) <= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(shown.path, shown.Quantity,
		fmt.Sprintf("%s value %s is greater than %s value %s", a.name, a, b.name, b))}
}

// checkRatio checks maxLimitRequestRatio, the largest allowed quotient of a limit and its request.
// It is at least 1, and at most max/min: a larger ratio would have no effect.
func checkRatio(ratio, least, most amount) field.ErrorList {
	if !ratio.set {
		return nil
	}
	var errs field.ErrorList
	if ratio.Cmp(meta.NewQuantity(1, meta.DecimalSI)) < 0 {
		errs = append(errs, field.Invalid(ratio.path, ratio.Quantity, fmt.Sprintf("ratio %s is less than 1", ratio)))
	}
	if !least.set || !most.set {
		return errs
	}
	if value, limit := ratios(ratio.Quantity, most.Quantity, least.Quantity); value > limit {
		errs = append(errs, field.Invalid(ratio.path, ratio.Quantity,
			fmt.Sprintf("ratio %s is greater than max/min = %f", ratio, limit)))
	}
	return errs
}

// ratios returns ratio, and the quotient of most and least, as floating-point numbers. It computes
// in thousandths, unless an amount in thousandths would not fit an int64.
func ratios(ratio, most, least meta.Quantity) (value, limit float64) {
	const maxMilli = math.MaxInt64 / 1000
	if max(ratio.Value(), most.Value(), least.Value()) < maxMilli {
		return float64(ratio.MilliValue()) / 1000, float64(most.MilliValue()) / float64(least.MilliValue())
	}
	return float64(ratio.Value()), float64(most.Value()) / float64(least.Value())
}
