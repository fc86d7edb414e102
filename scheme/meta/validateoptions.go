package meta

import (
	"fmt"
	"unicode"

	"github.com/coracle-project/coracle/scheme/field"
)

// Validation of the options of requests, which the router calls before it runs a request. The 422
// names the kind of the options, as in NewInvalid(GroupKind{Group: "meta.k8s.io", Kind:
// "CreateOptions"}, "", errs).

// Bounds in bytes.
const (
	maxFieldManagerLength = 128
	maxSubresourceLength  = 256
)

// ValidateCreateOptions checks the options of a create.
func ValidateCreateOptions(o *CreateOptions) field.ErrorList {
	return validateWriteOptions(o.FieldManager, o.DryRun, o.FieldValidation)
}

// ValidateUpdateOptions checks the options of an update.
func ValidateUpdateOptions(o *UpdateOptions) field.ErrorList {
	return validateWriteOptions(o.FieldManager, o.DryRun, o.FieldValidation)
}

// ValidatePatchOptions checks the options of a patch. apply says that it is a server-side apply.
func ValidatePatchOptions(o *PatchOptions, apply bool) field.ErrorList {
	var errs field.ErrorList
	switch {
	case apply && o.FieldManager == "":
		errs = append(errs, field.Required(field.NewPath("fieldManager"), "is required for apply patch"))
	case !apply && o.Force != nil:
		errs = append(errs, field.Forbidden(field.NewPath("force"), "may not be specified for non-apply patch"))
	}
	return append(errs, validateWriteOptions(o.FieldManager, o.DryRun, o.FieldValidation)...)
}

// validateWriteOptions checks the options that create, update and patch have in common.
func validateWriteOptions(manager string, dryRun []string, validation string) field.ErrorList {
	errs := validateFieldManager(manager, field.NewPath("fieldManager"))
	errs = append(errs, validateDryRun(dryRun)...)
	switch validation {
	case "", FieldValidationIgnore, FieldValidationStrict, FieldValidationWarn:
		return errs
	}
	return append(errs, field.NotSupported(field.NewPath("fieldValidation"), validation,
		[]string{"", FieldValidationIgnore, FieldValidationStrict, FieldValidationWarn}))
}

// validateFieldManager checks the name of a field manager.
func validateFieldManager(manager string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(manager) > maxFieldManagerLength {
		errs = append(errs, field.TooLong(path, manager, maxFieldManagerLength))
	}
	for i, r := range manager {
		if errs.Full() {
			break
		}
		if !unicode.IsPrint(r) {
			errs = append(errs, field.Invalid(path, manager,
				fmt.Sprintf("invalid character %#U (at position %d)", r, i)))
		}
	}
	return errs
}

// validateDryRun checks that dryRun contains nothing but All.
func validateDryRun(dryRun []string) field.ErrorList {
	for _, d := range dryRun {
		if d != DryRunAll {
			return field.ErrorList{field.NotSupported(field.NewPath("dryRun"), dryRun, []string{DryRunAll})}
		}
	}
	return nil
}

// ValidateDeleteOptions checks the options of a delete.
func ValidateDeleteOptions(o *DeleteOptions) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("propagationPolicy")
	if o.OrphanDependents != nil && o.PropagationPolicy != nil {
		errs = append(errs, field.Invalid(path, o.PropagationPolicy,
			"orphanDependents and deletionPropagation cannot be both set"))
	}
	if p := o.PropagationPolicy; p != nil && *p != DeletePropagationForeground &&
		*p != DeletePropagationBackground && *p != DeletePropagationOrphan {
		errs = append(errs, field.NotSupported(path, p, []DeletionPropagation{
			DeletePropagationForeground, DeletePropagationBackground, DeletePropagationOrphan, "nil"}))
	}
	errs = append(errs, validateDryRun(o.DryRun)...)
	return append(errs, validateIgnoreReadError(o)...)
}

// validateIgnoreReadError checks that the option to delete unreadable objects is the only one.
func validateIgnoreReadError(o *DeleteOptions) field.ErrorList {
	if !o.IgnoresReadErrors() {
		return nil
	}
	var errs field.ErrorList
	path := field.NewPath(IgnoreReadErrors)
	for _, c := range [...]struct {
		set  bool
		name string
	}{
		{len(o.DryRun) > 0, "dryRun"},
		{o.PropagationPolicy != nil, "propagationPolicy"},
		{o.OrphanDependents != nil, "orphanDependents"},
		{o.GracePeriodSeconds != nil, "gracePeriodSeconds"},
		{o.Preconditions != nil, "preconditions"},
	} {
		if c.set {
			errs = append(errs, field.Invalid(path, true, "cannot be set together with ."+c.name))
		}
	}
	return errs
}

// ValidateListOptions checks the options of a list or watch. watchLists says that a watch may begin
// with the existing objects (feature gate WatchList). It does not check that resourceVersion is a
// number.
func ValidateListOptions(o *ListOptions, watchLists bool) field.ErrorList {
	var errs field.ErrorList
	match, path := o.ResourceVersionMatch, field.NewPath("resourceVersionMatch")
	forbid := func(when bool, detail string) {
		if when {
			errs = append(errs, field.Forbidden(path, detail))
		}
	}
	if o.Watch {
		forbid(o.SendInitialEvents != nil && match != ResourceVersionMatchNotOlderThan,
			"sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
		if o.SendInitialEvents != nil && !watchLists {
			errs = append(errs, field.Forbidden(field.NewPath("sendInitialEvents"),
				"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"))
		}
		if match == "" {
			return errs
		}
		forbid(o.SendInitialEvents == nil,
			"resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
		if match != ResourceVersionMatchNotOlderThan {
			errs = append(errs, field.NotSupported(path, match,
				[]ResourceVersionMatch{ResourceVersionMatchNotOlderThan}))
		}
		forbid(o.Continue != "", "resourceVersionMatch is forbidden when continue is provided")
		return errs
	}
	if match != "" {
		forbid(o.ResourceVersion == "", "resourceVersionMatch is forbidden unless resourceVersion is provided")
		forbid(o.Continue != "", "resourceVersionMatch is forbidden when continue is provided")
		if match != ResourceVersionMatchExact && match != ResourceVersionMatchNotOlderThan {
			errs = append(errs, field.NotSupported(path, match,
				[]ResourceVersionMatch{ResourceVersionMatchExact, ResourceVersionMatchNotOlderThan, ""}))
		}
		forbid(match == ResourceVersionMatchExact && o.ResourceVersion == "0",
			`resourceVersionMatch "exact" is forbidden for resourceVersion "0"`)
	}
	if o.SendInitialEvents != nil {
		errs = append(errs, field.Forbidden(field.NewPath("sendInitialEvents"),
			"sendInitialEvents is forbidden for list"))
	}
	return errs
}
