package admissionregistration

import (
	"context"
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/registry"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Webhooks and policies that an administrator configures in files have names of their own, so that
// nobody takes an object of the API for one of them. This file has the rules for these names, and
// the validation of the objects in files.

// ReservedSuffix is the end of names that are reserved for webhooks and policies in files.
const ReservedSuffix = ".static.k8s.io"

// reservedText says that a name is reserved.
var reservedText = fmt.Sprintf("names ending with %q are reserved for static manifest-based configurations "+
	"and cannot be managed via the API", ReservedSuffix)

// nameWarnings returns a warning if the name of obj is reserved.
func nameWarnings[T meta.Object](obj, _ T) []string {
	if !strings.HasSuffix(obj.GetObjectMeta().Name, ReservedSuffix) {
		return nil
	}
	return []string{"metadata.name: " + reservedText}
}

// reserveNames makes a strategy refuse new objects with reserved names. Objects that exist can
// still be updated, with a warning.
func reserveNames(s *registry.Strategy) {
	check, plain, warnings := s.ValidateRequest, s.Validate, s.Warnings
	if check == nil {
		check = func(_ *registry.Request, _ field.ErrorList, obj, old meta.Object) field.ErrorList {
			return plain(obj, old)
		}
	}
	s.Validate = nil
	s.ValidateRequest = func(r *registry.Request, found field.ErrorList, obj, old meta.Object) field.ErrorList {
		errs := check(r, found, obj, old)
		if name := obj.GetObjectMeta().Name; old == nil && strings.HasSuffix(name, ReservedSuffix) {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), name, reservedText))
		}
		return errs
	}
	s.Warnings = func(obj, old meta.Object) []string {
		if old == nil {
			return nil
		}
		return warnings(obj, old)
	}
}

// CheckNew returns the errors of an object that comes from a file and not through the API. obj is
// of one of the kinds of Resources, and its defaults are set.
func CheckNew(ctx context.Context, obj meta.Object) field.ErrorList {
	errs := meta.ValidateObjectMeta(obj.GetObjectMeta(), false, names.DNSSubdomainName, field.NewPath("metadata"))
	switch o := obj.(type) {
	case *v1.ValidatingWebhookConfiguration:
		return append(errs, checkValidatingWebhooks(ctx, o, nil)...)
	case *v1.MutatingWebhookConfiguration:
		return append(errs, checkMutatingWebhooks(ctx, o, nil)...)
	case *v1.ValidatingAdmissionPolicy:
		return append(errs, checkValidatingPolicy(ctx, o, nil)...)
	case *v1.ValidatingAdmissionPolicyBinding:
		return append(errs, checkValidatingBinding(o, nil)...)
	case *v1.MutatingAdmissionPolicy:
		return append(errs, checkMutatingPolicy(ctx, o, nil)...)
	case *v1.MutatingAdmissionPolicyBinding:
		return append(errs, checkMutatingBinding(o, nil)...)
	}
	panic(fmt.Sprintf("admissionregistration: CheckNew of a %T", obj))
}
