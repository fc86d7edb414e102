package extensions

import (
	"context"
	"slices"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// Validation of the spec of a definition, called from checkDefinition (definitioncheck.go). First
// the spec is brought into its shared form, and it is decided which violations an update may keep.
// Then checkSpec applies the rules in kube-apiserver's order.

// definitionRules are the rules for a spec that an update may break if the stored definition breaks
// them already (ratcheting). A field that is true applies its rule.
type definitionRules struct {
	// schemas are the rules for all schemas. Use schemasOf, which knows what a version's rules may
	// cost.
	schemas SchemaRules
	// Every version must have a schema.
	openAPISchema bool
	// A conversion webhook must understand a version of ConversionReview that the server can send.
	knownReviews bool
	// The CA bundle of a conversion webhook must hold certificates.
	validCABundle bool
	// manyFields are the versions that may have more than maxSelectableFields, because they had the
	// same list before. The key "" stands for the list that all versions share.
	manyFields map[string]bool
	// sameSchema are the versions whose schema did not change, and whose rules may therefore cost
	// as much as they do. The key "" stands for the schema that all versions share.
	sameSchema map[string]bool
}

// schemasOf returns the rules for the schema of a version. The version "" stands for the schema
// that all versions share.
func (r *definitionRules) schemasOf(version string) SchemaRules {
	rules := r.schemas
	rules.RuleCost = rules.RuleCost && !r.sameSchema[version]
	return rules
}

// strictRules returns the rules for a new definition. They do not include validCABundle: a tool
// such as a certificate manager may fill in the bundle after the definition was created. Until then
// the definition is not established (Distrusted).
func strictRules(spec *apiextensionsv1.CustomResourceDefinitionSpec) definitionRules {
	return definitionRules{schemas: RulesFor(spec, nil), openAPISchema: true, knownReviews: true}
}

// rulesAfter returns the rules for d, which replaces old. The rules for schemas are as strict as
// for a new definition; checkChangedSpec relaxes them if they find an error.
func rulesAfter(d, old *apiextensionsv1.CustomResourceDefinition) definitionRules {
	rules := definitionRules{
		schemas:       RulesFor(&d.Spec, nil),
		openAPISchema: !slices.ContainsFunc(old.Spec.Versions, lacksSchema),
		knownReviews:  true,
		manyFields:    map[string]bool{},
		sameSchema:    map[string]bool{},
	}
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		rules.sameSchema[v.Name] = slices.ContainsFunc(old.Spec.Versions,
			func(o apiextensionsv1.CustomResourceDefinitionVersion) bool {
				return o.Name == v.Name && scheme.Equal(v.Schema, o.Schema)
			})
		if i == 0 {
			rules.sameSchema[""] = rules.sameSchema[v.Name]
		}
	}
	var caBundle []byte
	if c := old.Spec.Conversion; c != nil && c.Webhook != nil {
		versions := c.Webhook.ConversionReviewVersions
		rules.knownReviews = len(versions) == 0 || slices.ContainsFunc(versions, check.KnownReview)
		if c.Webhook.ClientConfig != nil {
			caBundle = c.Webhook.ClientConfig.CABundle
		}
	}
	rules.validCABundle = IsConditionTrue(old, apiextensionsv1.Established) && hasCertificates(caBundle)
	now, before := share(&d.Spec), share(&old.Spec)
	rules.manyFields[""] = hadTooMany(&now.common, &before.common)
	for i := range now.versions {
		v := &now.versions[i]
		for j := range before.versions {
			if before.versions[j].Name == v.Name {
				rules.manyFields[v.Name] = hadTooMany(v, &before.versions[j])
			}
		}
	}
	return rules
}

// lacksSchema reports whether a version has no schema.
func lacksSchema(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
	return v.Schema == nil || v.Schema.OpenAPIV3Schema == nil
}

// hadTooMany reports whether old had more than maxSelectableFields, and v has the same list.
func hadTooMany(v, old *apiextensionsv1.CustomResourceDefinitionVersion) bool {
	return len(old.SelectableFields) > maxSelectableFields && scheme.Equal(&v.SelectableFields, &old.SelectableFields)
}

// shared is a spec in the form in which kube-apiserver validates it: a part that is equal in all
// versions, such as the schema, is moved out of the versions into common. The form is older than
// v1, whose versions each have all parts. It decides which fields the errors name.
type shared struct {
	common   apiextensionsv1.CustomResourceDefinitionVersion // without a name
	versions []apiextensionsv1.CustomResourceDefinitionVersion
}

// share returns spec in its shared form. The versions of spec are not changed; the parts are shared
// with spec.
func share(spec *apiextensionsv1.CustomResourceDefinitionSpec) shared {
	s := shared{versions: slices.Clone(spec.Versions)}
	if len(s.versions) == 0 {
		return s
	}
	first := &spec.Versions[0]
	if sameInAll(spec.Versions, func(v *apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return scheme.Equal(v.Schema, first.Schema)
	}) {
		s.common.Schema = first.Schema
		s.each(func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.Schema = nil })
	}
	if sameInAll(spec.Versions, func(v *apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return scheme.Equal(v.Subresources, first.Subresources)
	}) {
		s.common.Subresources = first.Subresources
		s.each(func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.Subresources = nil })
	}
	if sameInAll(spec.Versions, func(v *apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return scheme.Equal(&v.AdditionalPrinterColumns, &first.AdditionalPrinterColumns)
	}) {
		s.common.AdditionalPrinterColumns = first.AdditionalPrinterColumns
		s.each(func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.AdditionalPrinterColumns = nil })
	}
	if sameInAll(spec.Versions, func(v *apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return scheme.Equal(&v.SelectableFields, &first.SelectableFields)
	}) {
		s.common.SelectableFields = first.SelectableFields
		s.each(func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.SelectableFields = nil })
	}
	return s
}

// sameInAll reports whether same holds for every version after the first. There must be at least
// one version.
func sameInAll(versions []apiextensionsv1.CustomResourceDefinitionVersion,
	same func(*apiextensionsv1.CustomResourceDefinitionVersion) bool) bool {
	for i := range versions[1:] {
		if !same(&versions[1+i]) {
			return false
		}
	}
	return true
}

// each calls do with each version, which do may change.
func (s *shared) each(do func(*apiextensionsv1.CustomResourceDefinitionVersion)) {
	for i := range s.versions {
		do(&s.versions[i])
	}
}

// checkSpec validates a spec by the rules. The errors come in kube-apiserver's order.
func checkSpec(ctx context.Context, p *field.Path, spec *apiextensionsv1.CustomResourceDefinitionSpec,
	rules definitionRules) field.ErrorList {
	s := share(spec)
	errs := checkGroup(p.Child("group"), spec.Group)
	errs = append(errs, check.OneOf(p.Child("scope"), string(spec.Scope), string(apiextensionsv1.ClusterScoped),
		string(apiextensionsv1.NamespaceScoped))...)
	errs = append(errs, s.checkSchemasSet(p.Child("versions"), spec.PreserveUnknownFields, rules)...)
	if spec.PreserveUnknownFields && anyPart(spec, hasDefault) {
		errs = append(errs, field.Invalid(p.Child("preserveUnknownFields"), true,
			"must be false in order to use defaults in the schema"))
	}
	for i, v := range field.Each(&errs, s.versions) {
		at := p.Child("versions").Index(i)
		errs = append(errs, joined(at.Child("name"), v.Name, "", names.IsDNS1035Label(v.Name))...)
		errs = append(errs, checkVersion(ctx, at, v, s.hasStatus(v.Name), rules)...)
	}
	errs = append(errs, s.checkNamesAndStorage(p)...)
	errs = append(errs, checkSpecNames(p.Child("names"), &spec.Names)...)
	errs = append(errs, checkCommon(ctx, p, &s.common, slices.ContainsFunc(spec.Versions, statusEnabled), rules)...)
	return append(errs, checkConversion(p.Child("conversion"), spec, rules)...)
}

// checkGroup requires a group that is a domain with a dot. The groups without a dot, such as apps,
// belong to Kubernetes.
func checkGroup(p *field.Path, group string) field.ErrorList {
	if group == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	return domain(p, group)
}

// checkSchemasSet requires a schema in each version. If the stored definition has a version without
// a schema, a schema is required only in versions that are served, and in none if the definition
// preserves unknown fields: a version without a schema and without preserveUnknownFields would
// prune every field of its objects.
func (s *shared) checkSchemasSet(p *field.Path, preserve bool, rules definitionRules) field.ErrorList {
	if !lacksSchema(s.common) || !rules.openAPISchema && preserve {
		return nil
	}
	var errs field.ErrorList
	for i, v := range field.Each(&errs, s.versions) {
		at := p.Index(i).Child("schema", "openAPIV3Schema")
		switch {
		case !lacksSchema(*v):
		case rules.openAPISchema:
			errs = append(errs, field.Required(at, ""))
		case v.Served:
			errs = append(errs, field.Required(at, "because otherwise all fields are pruned"))
		}
	}
	return errs
}

// statusEnabled reports whether a version has the subresource status.
func statusEnabled(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
	return v.Subresources != nil && v.Subresources.Status != nil
}

// hasStatus reports whether the version called version has the subresource status. If two versions
// have the name, which is an error, the first counts.
func (s *shared) hasStatus(version string) bool {
	if statusEnabled(s.common) {
		return true
	}
	i := slices.IndexFunc(s.versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version
	})
	return statusEnabled(s.versions[i])
}

// checkNamesAndStorage requires the names of versions to be unique, and exactly one version to be
// the storage version.
func (s *shared) checkNamesAndStorage(p *field.Path) field.ErrorList {
	var errs field.ErrorList
	unique, storage := true, 0
	seen := check.Duplicates{}
	for i := range s.versions {
		unique = seen.Add(s.versions[i].Name) && unique
		if s.versions[i].Storage {
			storage++
		}
	}
	if !unique {
		errs = append(errs, field.Invalid(p.Child("versions"), govalue.JSON(s.versions),
			"must contain unique version names"))
	}
	if storage != 1 {
		errs = append(errs, field.Invalid(p.Child("versions"), govalue.JSON(s.versions),
			"must have exactly one version marked as storage version"))
	}
	if len(s.versions) > 0 { // kube-apiserver's internal version repeats the first version's name in spec.version
		errs = append(errs, checkLabel(p.Child("version"), s.versions[0].Name)...)
	}
	return errs
}

// checkSpecNames requires the names without which a resource cannot be served, and validates all
// names.
func checkSpecNames(p *field.Path, n *apiextensionsv1.CustomResourceDefinitionNames) field.ErrorList {
	errs := check.Required(p.Child("plural"), n.Plural)
	errs = append(errs, check.Required(p.Child("singular"), n.Singular)...)
	errs = append(errs, check.Required(p.Child("kind"), n.Kind)...)
	errs = append(errs, check.Required(p.Child("listKind"), n.ListKind)...)
	return append(errs, checkNames(p, n)...)
}

// domain requires a DNS-1123 subdomain with at least one dot.
func domain(p *field.Path, name string) field.ErrorList {
	if errs := joined(p, name, "", names.IsDNS1123Subdomain(name)); errs != nil {
		return errs
	}
	if !slices.Contains([]byte(name), '.') {
		return field.ErrorList{field.Invalid(p, name, "should be a domain with at least one dot")}
	}
	return nil
}
