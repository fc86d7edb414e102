package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// This file warns of objects in the files of --policies that have no effect on the objects that
// the command validate checks. Whoever tests policies would take such a run for a success.

// warnOfIdle prints a warning for each policy without a binding, each binding without a policy, and
// each configuration of webhooks.
func (v *validation) warnOfIdle(objects []checked) {
	policies, bound := map[string]bool{}, map[string]bool{} // by policyKey
	for i := range objects {
		switch o := &objects[i]; {
		case !o.policies:
		case o.isPolicy():
			policies[policyKey(o.Kind.Kind, o.Name)] = true
		case o.isBinding():
			bound[policyKey(o.policyKind(), o.policyName())] = true
		}
	}
	for i := range objects {
		o := &objects[i]
		warning := ""
		switch {
		case !o.policies:
		case o.isPolicy() && !bound[policyKey(o.Kind.Kind, o.Name)]:
			warning = "it has no effect, because no binding in the files of --policies names it"
		case o.isBinding() && !policies[policyKey(o.policyKind(), o.policyName())]:
			warning = fmt.Sprintf("it has no effect, because its policy %q is not in the files of --policies", o.policyName())
		case o.Kind.Group == registrationGroup && strings.HasSuffix(o.Kind.Kind, "WebhookConfiguration"):
			warning = "it has no effect, because webhooks are not called"
		}
		if warning != "" {
			fmt.Fprintf(v.errors, "%s: Warning: %s\n", o.about(), warning)
		}
	}
}

// registrationGroup is the API group of policies, bindings and configurations of webhooks.
const registrationGroup = "admissionregistration.k8s.io"

// policyKey identifies a policy: there are two kinds of them.
func policyKey(kind, name string) string { return kind + "/" + name }

// isPolicy reports whether the object is a validating or mutating admission policy.
func (c *checked) isPolicy() bool {
	return c.Kind.Group == registrationGroup && strings.HasSuffix(c.Kind.Kind, "AdmissionPolicy")
}

// isBinding reports whether the object is the binding of such a policy.
func (c *checked) isBinding() bool {
	return c.Kind.Group == registrationGroup && strings.HasSuffix(c.Kind.Kind, "AdmissionPolicyBinding")
}

// policyKind returns the kind of the policy that a binding names.
func (c *checked) policyKind() string { return strings.TrimSuffix(c.Kind.Kind, "Binding") }

// policyName returns the name of the policy that a binding names; "" if it names none.
func (c *checked) policyName() string {
	var binding struct{ Spec struct{ PolicyName string } }
	if json.Unmarshal(c.JSON, &binding) != nil {
		return "" // the check of the object says what is wrong
	}
	return binding.Spec.PolicyName
}
