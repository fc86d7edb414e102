package resource

import (
	"fmt"

	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The validation of the capacities of a device, such as its memory. A device that several claims
// may share has a request policy for each capacity: a default, and the amounts that a claim may
// request, as a list or as a range with a step. device.go calls checkWholeCapacity or
// checkSharedCapacity.

// checkWholeCapacity checks a capacity of a device that is allocated as a whole. No claim requests
// part of it, so it has no request policy.
func checkWholeCapacity(p *field.Path, c resourcev1.DeviceCapacity) field.ErrorList {
	if c.RequestPolicy != nil {
		return field.ErrorList{field.Forbidden(p.Child("requestPolicy"), "allowMultipleAllocations must be true")}
	}
	return nil
}

// checkSharedCapacity checks a capacity of a device that several claims may share. Without a
// policy, a claim may request any amount.
func checkSharedCapacity(p *field.Path, c resourcev1.DeviceCapacity) field.ErrorList {
	policy := c.RequestPolicy
	if policy == nil {
		return nil
	}
	p = p.Child("requestPolicy")
	values := len(policy.ValidValues) > 0
	switch {
	case values && policy.ValidRange != nil:
		return field.ErrorList{field.Forbidden(p,
			`exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`)}
	case values && policy.Default == nil:
		return field.ErrorList{field.Required(p.Child("default"), "required when validValues is defined")}
	case values:
		return checkRequestValues(p.Child("validValues"), policy.ValidValues, *policy.Default, c.Value)
	case policy.ValidRange != nil && policy.Default == nil:
		return field.ErrorList{field.Required(p.Child("default"), "required when validRange is defined")}
	case policy.ValidRange != nil:
		return checkRequestRange(p.Child("validRange"), policy.ValidRange, *policy.Default, c.Value)
	}
	return nil
}

// checkRequestValues checks a list of amounts: in ascending order, without repetition, none larger
// than the capacity, and the default (usual) among them.
func checkRequestValues(p *field.Path, values []meta.Quantity, usual, capacity meta.Quantity) field.ErrorList {
	var errs field.ErrorList
	for i, v := range field.Each(&errs, values) {
		if i > 0 && values[i-1].Cmp(*v) > 0 {
			errs = append(errs, field.Invalid(p.Index(i), v.String(), "values must be sorted in ascending order"))
		}
	}
	found := false
	errs = append(errs,
		checkDistinct(p, values, maxDiscreteRequests, func(p *field.Path, v *meta.Quantity) field.ErrorList {
			found = found || v.Equal(usual)
			if v.Cmp(capacity) > 0 {
				return field.ErrorList{field.Invalid(p, v.String(),
					fmt.Sprintf("option is larger than capacity value: %s", capacity))}
			}
			return nil
		}, func(v *meta.Quantity) string { return fmt.Sprint(v.Value()) })...)
	if !found {
		errs = append(errs,
			field.Invalid(p, usual.String(), "default value is not valid according to the requestPolicy"))
	}
	return errs
}

// checkRequestRange checks a range of amounts: within the capacity, with the default (usual)
// inside. The maximum and the step are optional; with a step, the default and the maximum are a
// whole number of steps above the minimum.
func checkRequestRange(p *field.Path, r *resourcev1.CapacityRequestPolicyRange, usual,
	capacity meta.Quantity) field.ErrorList {
	if r.Min == nil {
		return field.ErrorList{field.Required(p.Child("min"), "required when validRange is defined")}
	}
	var errs field.ErrorList
	above := func(name string, value, limit meta.Quantity, msg string) {
		if value.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(p.Child(name), value.String(), fmt.Sprintf("%s: %s", msg, limit)))
		}
	}
	above("min", *r.Min, capacity, "min is larger than capacity value")
	if usual.Cmp(*r.Min) < 0 {
		errs = append(errs,
			field.Invalid(p.Child("min"), usual.String(), fmt.Sprintf("default is less than min: %s", r.Min)))
	}
	if r.Max != nil {
		above("max", *r.Min, *r.Max, "min is larger than max")
		above("max", *r.Max, capacity, "max is larger than capacity value")
		above("max", usual, *r.Max, "default is more than max")
	}
	if r.Step == nil {
		return errs
	}
	step := p.Child("step")
	if first := r.Min.Add(*r.Step); first.Cmp(capacity) > 0 {
		errs = append(errs, field.Invalid(step, r.Step.String(),
			fmt.Sprintf("one step %s is larger than capacity value: %s", first, capacity)))
	}
	errs = append(errs, checkStep(step, r, usual)...)
	if r.Max != nil {
		errs = append(errs, checkStep(step, r, *r.Max)...)
	}
	return errs
}

// checkStep reports a value that is not the minimum plus a multiple of the step. A step of zero
// allows no value.
func checkStep(p *field.Path, r *resourcev1.CapacityRequestPolicyRange, value meta.Quantity) field.ErrorList {
	if step := r.Step.Value(); step != 0 && (value.Value()-r.Min.Value())%step == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(p, value.String(),
		fmt.Sprintf("value is not a multiple of a given step (%s) from (%s)", r.Step, r.Min))}
}
