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

// checkDefinition judges a new definition, or a change of old.
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

// checkChangedSpec judges the spec of a changed definition. What is wrong with the schemas of the
// old one, and may stay so, takes as long to find as what is wrong with the new ones: it is looked
// for only if there is something.
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

// checkDefinitionName wants the name to say which resource is defined.
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

// checkUnchanged keeps what the place of stored objects depends on: always the name of the
// resource, and of one that has been served the rest, too.
func checkUnchanged(p *field.Path, d, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	var errs field.ErrorList
	n, before := &d.Spec.Names, &old.Spec.Names
	if Is(old, apiextensionsv1.Established) {
		scope, had := string(d.Spec.Scope), string(old.Spec.Scope)
		errs = append(errs, check.Immutable(p.Child("scope"), &scope, &had)...)
		errs = append(errs, check.Immutable(p.Child("names", "kind"), &n.Kind, &before.Kind)...)
	}
	errs = append(errs, check.Immutable(p.Child("group"), &d.Spec.Group, &old.Spec.Group)...)
	return append(errs, check.Immutable(p.Child("names", "plural"), &n.Plural, &before.Plural)...)
}

// checkDefinitionStatus judges the status, also when it is written by itself.
func checkDefinitionStatus(d, _ *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	return checkNames(field.NewPath("status", "acceptedNames"), &d.Status.AcceptedNames)
}

// checkNames judges those of the names that are set.
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

func checkLabel(p *field.Path, name string) field.ErrorList {
	if name == "" {
		return nil
	}
	return joined(p, name, "", names.IsDNS1035Label(name))
}

func checkKind(p *field.Path, kind string) field.ErrorList {
	if kind == "" {
		return nil
	}
	return joined(p, kind, "may have mixed case, but should otherwise match: ",
		names.IsDNS1035Label(strings.ToLower(kind)))
}

// joined reports all messages about a value as one.
func joined(p *field.Path, value, prefix string, msgs []string) field.ErrorList {
	if len(msgs) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(p, value, prefix+strings.Join(msgs, ","))}
}

// checkStoredVersions wants the versions in which objects may be stored to be those of the spec,
// the storage version among them.
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
