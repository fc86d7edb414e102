package resource

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// The validation of requests: the part of a claim, or of a claim template, that says which devices
// are wanted and how they are configured. claim.go calls checkRequests. allocation.go uses the
// names of requests (requestsOf) to check that results refer to them.

// Bounds in bytes: of a CEL expression, and of the parameters for a driver.
const (
	maxExpression = 10 << 10
	maxParameters = 10 << 10
)

// checkRequests checks the requests, constraints and configuration of a claim.
func checkRequests(p *field.Path, c *resourcev1.DeviceClaim) field.ErrorList {
	asked := requestsOf(c)
	name := func(r *resourcev1.DeviceRequest) string { return r.Name }
	errs := checkDistinct(p.Child("requests"), c.Requests, maxRequests, checkRequest, name)
	errs = append(errs, checkBounded(p.Child("constraints"), c.Constraints, maxConstraints, asked.constraint)...)
	return append(errs, checkBounded(p.Child("config"), c.Config, maxConfigs, asked.configuration)...)
}

// checkRequest checks a request. It has either one exact request, or a list of subrequests of which
// the first that can be satisfied is allocated.
func checkRequest(p *field.Path, r *resourcev1.DeviceRequest) field.ErrorList {
	errs := check.DNSLabel(p.Child("name"), r.Name)
	const one = "exactly one of `exactly` or `firstAvailable` is required"
	switch several := len(r.FirstAvailable) > 0; {
	case r.Exactly == nil && !several:
		return append(errs, field.Required(p, one))
	case r.Exactly != nil && several:
		return append(errs, field.Invalid(p, nil, one+", but multiple fields are set"))
	case several:
		name := func(r *resourcev1.DeviceSubRequest) string { return r.Name }
		return append(errs,
			checkDistinct(p.Child("firstAvailable"), r.FirstAvailable, maxSubRequests, checkSubRequest, name)...)
	}
	return append(errs, checkExactRequest(p.Child("exactly"), r.Exactly)...)
}

// checkSubRequest checks a subrequest. It has the fields of an exact request and a name, so its
// errors have the same paths.
func checkSubRequest(p *field.Path, r *resourcev1.DeviceSubRequest) field.ErrorList {
	errs := check.DNSLabel(p.Child("name"), r.Name)
	return append(errs, checkExactRequest(p, &resourcev1.ExactDeviceRequest{
		DeviceClassName: r.DeviceClassName, Selectors: r.Selectors, AllocationMode: r.AllocationMode, Count: r.Count,
		Tolerations: r.Tolerations,
	})...)
}

// checkExactRequest checks a request for a count of devices of a class, or for all of them.
func checkExactRequest(p *field.Path, r *resourcev1.ExactDeviceRequest) field.ErrorList {
	errs := check.Needed(p.Child("deviceClassName"), r.DeviceClassName, check.DNSSubdomain)
	errs = append(errs, checkSelectors(p.Child("selectors"), r.Selectors)...)
	switch r.AllocationMode {
	case resourcev1.DeviceAllocationModeAll:
		if r.Count != 0 {
			errs = append(errs,
				field.Invalid(p.Child("count"), r.Count, "must not be specified when allocationMode is 'All'"))
		}
	case resourcev1.DeviceAllocationModeExactCount:
		errs = append(errs, check.Positive(p.Child("count"), r.Count)...)
	default:
		errs = append(errs, check.Supported(p.Child("allocationMode"), r.AllocationMode,
			resourcev1.DeviceAllocationModeAll, resourcev1.DeviceAllocationModeExactCount)...)
	}
	for i, t := range field.Each(&errs, r.Tolerations) {
		errs = append(errs, checkToleration(p.Child("tolerations").Index(i), t)...)
	}
	return errs
}

// checkSelectors checks the CEL expressions that a device must satisfy.
func checkSelectors(p *field.Path, list []resourcev1.DeviceSelector) field.ErrorList {
	return checkBounded(p, list, maxSelectors, func(p *field.Path, s *resourcev1.DeviceSelector) field.ErrorList {
		if s.CEL == nil {
			return field.ErrorList{field.Required(p.Child("cel"), "")}
		}
		if len(s.CEL.Expression) > maxExpression {
			return field.ErrorList{field.TooLong(p.Child("cel", "expression"), s.CEL.Expression, maxExpression)}
		}
		return nil
	})
}

// taintEffects are the effects of taints and tolerations, in the order in which errors list them.
var taintEffects = []resourcev1.DeviceTaintEffect{
	resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNone,
}

// checkToleration checks a toleration of device taints. An empty effect tolerates all effects.
func checkToleration(p *field.Path, t *resourcev1.DeviceToleration) field.ErrorList {
	errs := check.Optional(p.Child("key"), t.Key, check.QualifiedName)
	switch t.Operator {
	case resourcev1.DeviceTolerationOpExists:
		if t.Value != "" {
			errs = append(errs, field.Invalid(p.Child("value"), t.Value, "must be empty for operator `Exists`"))
		}
	case resourcev1.DeviceTolerationOpEqual:
		errs = append(errs, check.Invalid(p.Child("value"), t.Value, names.IsValidLabelValue(t.Value))...)
	default:
		errs = append(errs, check.OneOf(p.Child("operator"), t.Operator,
			resourcev1.DeviceTolerationOpEqual, resourcev1.DeviceTolerationOpExists)...)
	}
	if t.Effect != "" {
		errs = append(errs, check.Supported(p.Child("effect"), t.Effect, taintEffects...)...)
	}
	return errs
}

// requests holds the names of the requests of a claim, each with the names of its subrequests.
type requests map[string]map[string]bool

// requestsOf returns the names of the requests in a claim.
func requestsOf(c *resourcev1.DeviceClaim) requests {
	asked := make(requests, len(c.Requests))
	for i := range c.Requests {
		choices := make(map[string]bool, len(c.Requests[i].FirstAvailable))
		for j := range c.Requests[i].FirstAvailable {
			choices[c.Requests[i].FirstAvailable[j].Name] = true
		}
		asked[c.Requests[i].Name] = choices
	}
	return asked
}

// reference checks a reference to a request, REQUEST or REQUEST/SUBREQUEST. The error about a
// malformed label comes before the error about an unknown name.
func (k requests) reference(p *field.Path, name *string) field.ErrorList {
	const unknown = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
	if strings.Count(*name, "/") > 1 {
		return field.ErrorList{field.Invalid(p, *name, unknown)}
	}
	request, choice, isChoice := strings.Cut(*name, "/")
	errs := check.DNSLabel(p, request)
	if isChoice {
		errs = append(errs, check.DNSLabel(p, choice)...)
	}
	if choices, ok := k[request]; !ok || isChoice && !choices[choice] {
		errs = append(errs, field.Invalid(p, *name, unknown))
	}
	return errs
}

// references checks a list of different references.
func (k requests) references(p *field.Path, list []string) field.ErrorList {
	return checkDistinct(p, list, maxRequests, k.reference, textKey)
}

// constraint checks a constraint: all devices of its requests have the same value of an attribute,
// or all have different values. As in kube-apiserver, distinctAttribute is ignored if both are set,
// and the error about neither being set speaks of multiple fields.
func (k requests) constraint(p *field.Path, c *resourcev1.DeviceConstraint) field.ErrorList {
	errs := k.references(p.Child("requests"), c.Requests)
	switch {
	case c.MatchAttribute != nil:
		return append(errs, checkFullName(p.Child("matchAttribute"), *c.MatchAttribute)...)
	case c.DistinctAttribute != nil:
		return append(errs, checkFullName(p.Child("distinctAttribute"), *c.DistinctAttribute)...)
	}
	return append(errs, field.Required(p,
		`exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`))
}

// configuration checks configuration for the devices of some requests.
func (k requests) configuration(p *field.Path, c *resourcev1.DeviceClaimConfiguration) field.ErrorList {
	errs := k.references(p.Child("requests"), c.Requests)
	return append(errs, checkConfiguration(p, &c.DeviceConfiguration, false)...)
}

// checkConfiguration checks configuration that only the driver understands. anyLength lets its
// parameters be longer than maxParameters.
func checkConfiguration(p *field.Path, c *resourcev1.DeviceConfiguration, anyLength bool) field.ErrorList {
	p = p.Child("opaque")
	if c.Opaque == nil {
		return field.ErrorList{field.Required(p, "")}
	}
	errs := podspec.CSIDriverName(p.Child("driver"), c.Opaque.Driver)
	return append(errs, checkObject(p.Child("parameters"), c.Opaque.Parameters, anyLength)...)
}

// checkObject checks that data for a driver is a JSON object. The errors do not show the data,
// which may be secret.
func checkObject(p *field.Path, data meta.RawExtension, anyLength bool) field.ErrorList {
	const hidden = "<value omitted>"
	if len(data.Raw) == 0 {
		return field.ErrorList{field.Required(p, "")}
	}
	if !anyLength && len(data.Raw) > maxParameters {
		return field.ErrorList{field.TooLong(p, "", maxParameters)}
	}
	var value any
	if err := json.Unmarshal(data.Raw, &value); err != nil {
		return field.ErrorList{field.Invalid(p, hidden, fmt.Sprintf("error parsing data as JSON: %v", err))}
	}
	switch value.(type) {
	case nil:
		return field.ErrorList{field.Required(p, "")}
	case map[string]any:
		return nil
	}
	return field.ErrorList{field.Invalid(p, hidden, "must be a valid JSON object")}
}
