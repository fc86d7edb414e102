package extensions

import (
	"context"
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// Validation of a definition: its name, names, status and stored versions, and which fields an
// update may not change. The strategy (definition.go) calls checkDefinition for each write of a
// definition and checkDefinitionStatus for each write of its status; Definition (fromtype.go) calls
// checkDefinition for a definition that it made. definitionspec.go validates the spec.

// checkDefinition validates a new definition if old is nil, else the update of old to d.
func checkDefinition(ctx context.Context, d, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	if old == nil {
		errs = append(errs, checkDefinitionName(d)...)
		errs = append(errs, checkSpec(ctx, spec, &d.Spec, strictRules(&d.Spec))...)
	} else {
		errs = append(errs, checkChangedSpec(ctx, spec, d, old)...)
		errs = append(errs, checkUnchanged(spec, d, old)...)
	}
	errs = append(errs, checkDefinitionStatus(d, old)...)
	errs = append(errs, checkStoredVersions(field.NewPath("status", "storedVersions"), d)...)
	errs = append(errs, checkApproval(d, old)...)
	if d.Spec.PreserveUnknownFields && (old == nil || !old.Spec.PreserveUnknownFields) {
		errs = append(errs, field.Invalid(spec.Child("preserveUnknownFields"), true,
			"cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"))
	}
	return errs
}

// checkChangedSpec validates the spec of d, which replaces old. At first d is held to the rules for
// a new definition. Only if that finds an error, the stored schemas are examined for the violations
// that may remain, and d is validated again: examining them takes as long as validating the new
// ones, and most updates have no error.
func checkChangedSpec(ctx context.Context, p *field.Path,
	d, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	rules := rulesAfter(d, old)
	errs := checkSpec(ctx, p, &d.Spec, rules)
	if len(errs) == 0 {
		return nil
	}
	rules.schemas = RulesFor(&d.Spec, &old.Spec)
	return checkSpec(ctx, p, &d.Spec, rules)
}

// checkDefinitionName requires the name to be <plural>.<group>, so that two definitions never
// define the same resource. kube-apiserver holds generateName to the same rule.
func checkDefinitionName(d *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	var errs field.ErrorList
	want, p := d.Spec.Names.Plural+"."+d.Spec.Group, field.NewPath("metadata")
	const must = `must be spec.names.plural+"."+spec.group`
	if d.GenerateName != "" && d.GenerateName != want {
		errs = append(errs, field.Invalid(p.Child("generateName"), d.GenerateName, must))
	}
	if d.Name != "" && d.Name != want {
		errs = append(errs, field.Invalid(p.Child("name"), d.Name, must))
	}
	return errs
}

// checkUnchanged refuses changes of fields that decide under which keys objects are stored and how
// they are read back. Group and plural never change. Scope and kind must not change after the
// definition was established; before, no object can be stored.
func checkUnchanged(p *field.Path, d, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	var errs field.ErrorList
	n, before := &d.Spec.Names, &old.Spec.Names
	if IsConditionTrue(old, apiextensionsv1.Established) {
		scope, had := string(d.Spec.Scope), string(old.Spec.Scope)
		errs = append(errs, check.Immutable(p.Child("scope"), &scope, &had)...)
		errs = append(errs, check.Immutable(p.Child("names", "kind"), &n.Kind, &before.Kind)...)
	}
	errs = append(errs, check.Immutable(p.Child("group"), &d.Spec.Group, &old.Spec.Group)...)
	return append(errs, check.Immutable(p.Child("names", "plural"), &n.Plural, &before.Plural)...)
}

// checkDefinitionStatus validates acceptedNames. A write to the subresource status is held to this
// rule alone, as in kube-apiserver; storedVersions are validated with the next write of the
// definition.
func checkDefinitionStatus(d, _ *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	return checkNames(field.NewPath("status", "acceptedNames"), &d.Status.AcceptedNames)
}

// checkNames validates the names that are set; an empty name is skipped. checkSpecNames requires
// those that must be set.
func checkNames(p *field.Path, n *apiextensionsv1.CustomResourceDefinitionNames) field.ErrorList {
	errs := checkLabel(p.Child("plural"), n.Plural)
	errs = append(errs, checkLabel(p.Child("singular"), n.Singular)...)
	errs = append(errs, checkKind(p.Child("kind"), n.Kind)...)
	errs = append(errs, checkKind(p.Child("listKind"), n.ListKind)...)
	for i, short := range field.Each(&errs, n.ShortNames) {
		errs = append(errs, joined(p.Child("shortNames").Index(i), *short, "", names.IsDNS1035Label(*short))...)
	}
	if n.Kind != "" && n.Kind == n.ListKind {
		errs = append(errs, field.Invalid(p.Child("listKind"), n.ListKind, "kind and listKind may not be the same"))
	}
	for i, category := range field.Each(&errs, n.Categories) {
		errs = append(errs, joined(p.Child("categories").Index(i), *category, "", names.IsDNS1035Label(*category))...)
	}
	return errs
}

// checkLabel requires a DNS-1035 label, or "".
func checkLabel(p *field.Path, name string) field.ErrorList {
	if name == "" {
		return nil
	}
	return joined(p, name, "", names.IsDNS1035Label(name))
}

// checkKind requires a DNS-1035 label in which upper case is allowed, or "".
func checkKind(p *field.Path, kind string) field.ErrorList {
	if kind == "" {
		return nil
	}
	return joined(p, kind, "may have mixed case, but should otherwise match: ",
		names.IsDNS1035Label(strings.ToLower(kind)))
}

// joined returns one error with all of msgs, where other validation returns one error for each
// message. nil if there are no messages.
func joined(p *field.Path, value, prefix string, msgs []string) field.ErrorList {
	if len(msgs) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(p, value, prefix+strings.Join(msgs, ","))}
}

// checkStoredVersions requires status.storedVersions to have the storage version, and only versions
// of the spec: a version whose objects may be stored must not leave the spec, or these objects
// could not be read.
func checkStoredVersions(p *field.Path, d *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	stored := d.Status.StoredVersions
	if len(stored) == 0 {
		return field.ErrorList{field.Invalid(p, stored, "must have at least one stored version")}
	}
	var errs field.ErrorList
	left := map[string]int{}
	for i, name := range stored {
		left[name] = i
	}
	for _, v := range field.Each(&errs, d.Spec.Versions) {
		if _, ok := left[v.Name]; v.Storage && !ok {
			errs = append(errs, field.Invalid(p, stored, "must have the storage version "+v.Name))
		}
		delete(left, v.Name)
	}
	for i, name := range field.Each(&errs, stored) {
		if at, ok := left[*name]; ok && at == i {
			errs = append(errs, field.Invalid(p.Index(i), *name,
				fmt.Sprintf("missing from spec.versions; %[1]s was previously a "+
					"storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in "+
					"%[1]s and removes %[1]s from status.storedVersions", *name)))
		}
	}
	return errs
}
