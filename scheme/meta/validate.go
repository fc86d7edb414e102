package meta

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// Validation of metadata and label selectors, which all kinds share. The registry calls
// ValidateObjectMeta and ValidateObjectMetaUpdate for each create and update. Texts and order of
// errors are Kubernetes'.

// MaxAnnotationsSize bounds the keys and values of all annotations of an object together, in bytes.
const MaxAnnotationsSize = 256 << 10

const immutableMessage = "field is immutable"

// NameRule checks a name or, if prefix is set, a generateName, and returns what is wrong with it.
// Package names has the usual rules, such as names.DNSSubdomainName.
type NameRule = func(name string, prefix bool) []string

// ValidateObjectMeta checks the metadata of a new object. requiresNamespace says whether the kind
// is namespaced: then a namespace is required, else it is forbidden.
func ValidateObjectMeta(m *ObjectMeta, requiresNamespace bool, nameFn NameRule, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if m.GenerateName != "" {
		for _, msg := range nameFn(m.GenerateName, true) {
			errs = append(errs, field.Invalid(path.Child("generateName"), m.GenerateName, msg))
		}
	}
	// Names are generated before validation, so an object without a name has no generateName
	// either.
	if m.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "name or generateName is required"))
	} else {
		for _, msg := range nameFn(m.Name, false) {
			errs = append(errs, field.Invalid(path.Child("name"), m.Name, msg))
		}
	}
	switch namespace := path.Child("namespace"); {
	case requiresNamespace && m.Namespace == "":
		errs = append(errs, field.Required(namespace, ""))
	case requiresNamespace:
		for _, msg := range names.IsDNS1123Label(m.Namespace) {
			errs = append(errs, field.Invalid(namespace, m.Namespace, msg))
		}
	case m.Namespace != "":
		errs = append(errs, field.Forbidden(namespace, "not allowed on this type"))
	}
	if m.Generation < 0 {
		errs = append(errs, field.Invalid(path.Child("generation"), m.Generation, "must be greater than or equal to 0"))
	}
	errs = append(errs, ValidateLabels(m.Labels, path.Child("labels"))...)
	errs = append(errs, ValidateAnnotations(m.Annotations, path.Child("annotations"))...)
	errs = append(errs, ValidateOwnerReferences(m.OwnerReferences, path.Child("ownerReferences"))...)
	errs = append(errs, ValidateFinalizers(m.Finalizers, path.Child("finalizers"))...)
	return append(errs, ValidateManagedFields(m.ManagedFields, path.Child("managedFields"))...)
}

// ValidateObjectMetaUpdate checks the metadata of an update from old to new.
func ValidateObjectMetaUpdate(new, old *ObjectMeta, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if old.DeletionTimestamp != nil {
		errs = append(errs, validateNoNewFinalizers(new.Finalizers, old.Finalizers, path.Child("finalizers"))...)
	}
	if new.ResourceVersion == "" {
		errs = append(errs, field.Invalid(path.Child("resourceVersion"), new.ResourceVersion,
			"must be specified for an update"))
	}
	if new.Generation < old.Generation {
		errs = append(errs, field.Invalid(path.Child("generation"), new.Generation, "must not be decremented"))
	}
	immutable := func(same bool, name string, value any) {
		if !same {
			errs = append(errs, field.Invalid(path.Child(name), value, immutableMessage))
		}
	}
	sameGrace := (new.DeletionGracePeriodSeconds == nil) == (old.DeletionGracePeriodSeconds == nil) &&
		(new.DeletionGracePeriodSeconds == nil || *new.DeletionGracePeriodSeconds == *old.DeletionGracePeriodSeconds)
	immutable(new.Name == old.Name, "name", new.Name)
	immutable(new.Namespace == old.Namespace, "namespace", new.Namespace)
	immutable(new.UID == old.UID, "uid", new.UID)
	immutable(new.CreationTimestamp.Equal(old.CreationTimestamp), "creationTimestamp", new.CreationTimestamp)
	immutable(new.DeletionTimestamp.Equal(old.DeletionTimestamp), "deletionTimestamp", new.DeletionTimestamp)
	immutable(sameGrace, "deletionGracePeriodSeconds", new.DeletionGracePeriodSeconds)
	errs = append(errs, ValidateLabels(new.Labels, path.Child("labels"))...)
	errs = append(errs, ValidateAnnotations(new.Annotations, path.Child("annotations"))...)
	errs = append(errs, ValidateOwnerReferences(new.OwnerReferences, path.Child("ownerReferences"))...)
	return append(errs, ValidateManagedFields(new.ManagedFields, path.Child("managedFields"))...)
}

// ValidateLabels checks the keys and values of labels, in the order of the keys.
func ValidateLabels(labels map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	bad := func(value string, msgs []string) {
		for _, msg := range msgs {
			errs = append(errs, field.Invalid(path, value, msg))
		}
	}
	for k, v := range field.Entries(&errs, labels) {
		bad(k, names.IsQualifiedName(k))
		bad(v, names.IsValidLabelValue(v))
	}
	return errs
}

// ValidateAnnotations checks the keys of annotations, in their order, and the total size.
func ValidateAnnotations(annotations map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	size := 0
	for k, v := range field.Entries(&errs, annotations) {
		// Kubernetes allows capitals in the prefix for historical reasons.
		for _, msg := range names.IsQualifiedName(strings.ToLower(k)) {
			errs = append(errs, field.Invalid(path, k, msg))
		}
		size += len(k) + len(v)
	}
	if size > MaxAnnotationsSize {
		errs = append(errs, field.TooLong(path, "", MaxAnnotationsSize))
	}
	return errs
}

// ValidateFinalizers checks the form of finalizers.
func ValidateFinalizers(finalizers []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	orphan, foreground := false, false
	for _, f := range field.Each(&errs, finalizers) {
		for _, msg := range names.IsQualifiedName(*f) {
			errs = append(errs, field.Invalid(path, *f, msg))
		}
		orphan = orphan || *f == FinalizerOrphanDependents
		foreground = foreground || *f == FinalizerDeleteDependents
	}
	if orphan && foreground {
		errs = append(errs, field.Invalid(path, finalizers,
			"finalizer orphan and foregroundDeletion cannot be both set"))
	}
	return errs
}

// ValidateFinalizerNames checks that finalizers without a domain are those that Kubernetes defines.
// It is stricter than ValidateFinalizers and applies only to built-in kinds when they are created.
func ValidateFinalizerNames(finalizers []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, f := range field.Each(&errs, finalizers) {
		standard := *f == FinalizerKubernetes || *f == FinalizerOrphanDependents || *f == FinalizerDeleteDependents
		if !strings.Contains(*f, "/") && !standard {
			errs = append(errs, field.Invalid(path.Index(i), *f,
				"name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

// validateNoNewFinalizers checks that no finalizer is added.
func validateNoNewFinalizers(new, old []string, path *field.Path) field.ErrorList {
	var added []string
	known := make(map[string]bool, len(old))
	for _, f := range old {
		known[f] = true
	}
	for _, f := range new {
		if !known[f] {
			known[f] = true
			added = append(added, f)
		}
	}
	if len(added) == 0 {
		return nil
	}
	slices.Sort(added)
	return field.ErrorList{field.Forbidden(path,
		fmt.Sprintf("no new finalizers can be added if the object is being deleted, found new finalizers %#v", added))}
}

// ValidateOwnerReferences checks each reference, and that at most one of them is the controller.
func ValidateOwnerReferences(refs []OwnerReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	controller := ""
	for _, ref := range field.Each(&errs, refs) {
		errs = append(errs, validateOwnerReference(ref, path)...)
		if ref.Controller == nil || !*ref.Controller {
			continue
		}
		name := ref.Kind + "/" + ref.Name
		if controller == "" {
			controller = name
			continue
		}
		errs = append(errs, field.Invalid(path, refs,
			`Only one reference can have Controller set to true. Found "true" in references for `+
				controller+" and "+name))
	}
	return errs
}

// validateOwnerReference checks one reference.
func validateOwnerReference(ref *OwnerReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	gv, ok := ParseGroupVersion(ref.APIVersion)
	if !ok {
		gv = GroupVersion{}
	}
	gvk := gv.WithKind(ref.Kind)
	if gvk.Version == "" {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), ref.APIVersion, "version must not be empty"))
	}
	for _, f := range [...]struct{ name, value string }{
		{"kind", ref.Kind}, {"name", ref.Name}, {"uid", string(ref.UID)},
	} {
		if f.value == "" {
			errs = append(errs, field.Invalid(path.Child(f.name), f.value, "must not be empty"))
		}
	}
	// Events come in great numbers, and garbage collection must not have to follow them.
	if gvk == (GroupVersionKind{Version: "v1", Kind: "Event"}) {
		errs = append(errs, field.Invalid(path, ref, gvk.String()+" is disallowed from being an owner"))
	}
	return errs
}

// ValidateManagedFields checks the entries of managedFields, except their sets of fields.
func ValidateManagedFields(entries []ManagedFieldsEntry, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, e := range field.Each(&errs, entries) {
		path := path.Index(i)
		if e.Operation != ManagedFieldsOperationApply && e.Operation != ManagedFieldsOperationUpdate {
			errs = append(errs, field.Invalid(path.Child("operation"), e.Operation, "must be `Apply` or `Update`"))
		}
		if e.FieldsType != "" && e.FieldsType != "FieldsV1" {
			errs = append(errs, field.Invalid(path.Child("fieldsType"), e.FieldsType, "must be `FieldsV1`"))
		}
		errs = append(errs, validateFieldManager(e.Manager, path.Child("manager"))...)
		if len(e.Subresource) > maxSubresourceLength {
			errs = append(errs, field.TooLong(path.Child("subresource"), e.Subresource, maxSubresourceLength))
		}
	}
	return errs
}

// ValidateLabelSelector checks the label selector of an object. nil is valid.
func ValidateLabelSelector(s *LabelSelector, path *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	errs := ValidateLabels(s.MatchLabels, path.Child("matchLabels"))
	for i, r := range field.Each(&errs, s.MatchExpressions) {
		at := path.Child("matchExpressions").Index(i)
		if !isLabelOperator(r.Operator) {
			errs = append(errs, field.Invalid(at.Child("operator"), r.Operator, "not a valid selector operator"))
		}
		errs = append(errs, ValidateLabelRequirement(r, at)...)
	}
	return errs
}

// isLabelOperator reports whether Kubernetes has the operator.
func isLabelOperator(op LabelSelectorOperator) bool {
	switch op {
	case LabelSelectorOpIn, LabelSelectorOpNotIn, LabelSelectorOpExists, LabelSelectorOpDoesNotExist:
		return true
	}
	return false
}

// ValidateLabelRequirement checks one requirement of a label selector. It does not check the
// operator, which may be unknown.
func ValidateLabelRequirement(r *LabelSelectorRequirement, path *field.Path) field.ErrorList {
	errs := validateValues(string(r.Operator), r.Values, path)
	for _, msg := range names.IsQualifiedName(r.Key) {
		errs = append(errs, field.Invalid(path.Child("key"), r.Key, msg))
	}
	for i, v := range field.Each(&errs, r.Values) {
		for _, msg := range names.IsValidLabelValue(*v) {
			errs = append(errs, field.Invalid(path.Child("values").Index(i), *v, msg))
		}
	}
	return errs
}

// ValidateFieldRequirement checks one requirement of a field selector. It does not check the
// operator, which may be unknown.
func ValidateFieldRequirement(r *FieldSelectorRequirement, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.Key == "" {
		errs = append(errs, field.Required(path.Child("key"), "must be specified"))
	}
	return append(errs, validateValues(string(r.Operator), r.Values, path)...)
}

// validateValues checks that there are values if the operator needs some, and none if it takes
// none.
func validateValues(operator string, values []string, path *field.Path) field.ErrorList {
	switch operator {
	case string(LabelSelectorOpIn), string(LabelSelectorOpNotIn):
		if len(values) == 0 {
			return field.ErrorList{field.Required(path.Child("values"),
				"must be specified when `operator` is 'In' or 'NotIn'")}
		}
	case string(LabelSelectorOpExists), string(LabelSelectorOpDoesNotExist):
		if len(values) > 0 {
			return field.ErrorList{field.Forbidden(path.Child("values"),
				"may not be specified when `operator` is 'Exists' or 'DoesNotExist'")}
		}
	}
	return nil
}
