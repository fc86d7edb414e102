package hookfiles

import (
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/registry/admissionregistration"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the checks that objects of the API do not have.

// checkName checks that the name of an object ends in the reserved suffix, and that there is no
// other object of the kind and name. It notes where the object is.
func (r *reader) checkName(file, kind, name string) error {
	if !strings.HasSuffix(name, admissionregistration.ReservedSuffix) {
		return fmt.Errorf("%q in file %q must have a name ending with %q", name, file,
			admissionregistration.ReservedSuffix)
	}
	key := kind + "/" + name
	if earlier, is := r.files[key]; is {
		return fmt.Errorf("duplicate name %q found in file %q (previously seen in %q)", name, file, earlier)
	}
	r.files[key] = file
	return nil
}

// check checks that an object asks for nothing that is in the API.
func check(file, kind string, obj meta.Object) error {
	name := obj.GetObjectMeta().Name
	switch o := obj.(type) {
	case *v1.ValidatingWebhookConfiguration:
		for i := range o.Webhooks {
			if err := checkClient(o.Webhooks[i].Name, name, file, &o.Webhooks[i].ClientConfig); err != nil {
				return err
			}
		}
	case *v1.MutatingWebhookConfiguration:
		for i := range o.Webhooks {
			if err := checkClient(o.Webhooks[i].Name, name, file, &o.Webhooks[i].ClientConfig); err != nil {
				return err
			}
		}
	case *v1.ValidatingAdmissionPolicy:
		return checkParamKind(kind, name, o.Spec.ParamKind)
	case *v1.MutatingAdmissionPolicy:
		return checkParamKind(kind, name, o.Spec.ParamKind)
	case *v1.ValidatingAdmissionPolicyBinding:
		return checkBinding(name, o.Spec.PolicyName, o.Spec.ParamRef)
	case *v1.MutatingAdmissionPolicyBinding:
		return checkBinding(name, o.Spec.PolicyName, o.Spec.ParamRef)
	}
	return nil
}

// checkClient checks that a webhook has no service. A valid webhook without a service has a URL.
func checkClient(webhook, configuration, file string, c *v1.WebhookClientConfig) error {
	if c.Service == nil {
		return nil
	}
	return fmt.Errorf("webhook %q in %q (file %q): clientConfig.service is not supported for static manifests; use "+
		"clientConfig.url instead", webhook, configuration, file)
}

func checkParamKind(kind, policy string, params *v1.ParamKind) error {
	if params == nil {
		return nil
	}
	return fmt.Errorf("%s %q: spec.paramKind is not supported for static manifests", kind, policy)
}

func checkBinding(binding, policy string, params *v1.ParamRef) error {
	switch {
	case !strings.HasSuffix(policy, admissionregistration.ReservedSuffix):
		return fmt.Errorf("binding %q: spec.policyName %q must end with %q", binding, policy,
			admissionregistration.ReservedSuffix)
	case params != nil:
		return fmt.Errorf("binding %q: spec.paramRef is not supported for static manifests", binding)
	}
	return nil
}

// checkReferences checks that each binding is for a policy in the directory.
func checkReferences(objects []meta.Object) error {
	policies := map[string]bool{}
	for _, obj := range objects {
		if _, binding := policyOf(obj); !binding {
			policies[obj.GetObjectMeta().Name] = true
		}
	}
	for _, obj := range objects {
		if policy, binding := policyOf(obj); binding && !policies[policy] {
			return fmt.Errorf("binding %q references policy %q which does not exist in the manifest directory",
				obj.GetObjectMeta().Name, policy)
		}
	}
	return nil
}

// policyOf returns the name of the policy that obj binds, if obj is a binding.
func policyOf(obj meta.Object) (policy string, is bool) {
	switch o := obj.(type) {
	case *v1.ValidatingAdmissionPolicyBinding:
		return o.Spec.PolicyName, true
	case *v1.MutatingAdmissionPolicyBinding:
		return o.Spec.PolicyName, true
	}
	return "", false
}
