package extensions

import (
	"crypto/x509"
	"fmt"
	"iter"
	"slices"

	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The status of a definition: its conditions and the copies of definitions that are kept to decide
// about names. The loop in server/definitions calls UpdateStatus for each state of a definition
// that it sees, and writes the status if it changed. server/bootstrap reads the conditions, too.

// UpdateStatus brings the status of def up to date: status.acceptedNames and all conditions except
// Terminating. It changes def and stores nothing. It reports whether the status changed.
//
// spec is the complete spec of def, because def may have been trimmed (WithoutSchemas). group
// yields the definitions of def's group whose names count as taken, with or without def itself. So
// names belong to the definition that was judged first. now becomes the transition time of
// conditions that change.
//
// Established is set once and never taken back: a definition that lost a name keeps serving.
func UpdateStatus(def *apiextensionsv1.CustomResourceDefinition, spec *apiextensionsv1.CustomResourceDefinitionSpec,
	group iter.Seq[*apiextensionsv1.CustomResourceDefinition], now meta.Time) bool {
	before := def.Status
	before.Conditions = slices.Clone(before.Conditions)
	if !SameNames(&def.Spec.Names, &def.Status.AcceptedNames) {
		names, accepted := acceptNames(def, inUse(&def.Spec.Names, group))
		def.Status.AcceptedNames = names
		SetCondition(def, accepted, now)
		if Condition(def, apiextensionsv1.Established) == nil {
			SetCondition(def, notEstablished, now)
		}
	}
	if IsConditionTrue(def, apiextensionsv1.NamesAccepted) && !IsConditionTrue(def, apiextensionsv1.Established) {
		SetCondition(def, established(def), now)
	}
	setApprovalCondition(def, now)
	setStructuralCondition(def, spec, now)
	return !SameNames(&before.AcceptedNames, &def.Status.AcceptedNames) ||
		!slices.Equal(before.Conditions, def.Status.Conditions)
}

// Served reports whether the resource of def is served: def was established, or has all of its
// names.
func Served(def *apiextensionsv1.CustomResourceDefinition) bool {
	return IsConditionTrue(def, apiextensionsv1.NamesAccepted) || IsConditionTrue(def, apiextensionsv1.Established)
}

// NeedsRedeclaring reports whether the resource must be declared again when a turns into b, two
// states of one definition. A spec that changed (metadata.generation), other accepted names, and
// the beginning or end of Terminating make a difference.
func NeedsRedeclaring(a, b *apiextensionsv1.CustomResourceDefinition) bool {
	return a.Generation != b.Generation || !SameNames(&a.Status.AcceptedNames, &b.Status.AcceptedNames) ||
		IsConditionTrue(a, apiextensionsv1.Terminating) != IsConditionTrue(b, apiextensionsv1.Terminating)
}

// WithoutSchemas returns a copy of def for callers that keep many definitions. Of the spec it drops
// the schemas, subresources, columns and selectable fields. Of the metadata it keeps what
// identifies the definition and what UpdateStatus, NeedsRedeclaring and NeedsInstanceDeletion read.
// The copy shares memory with def.
func WithoutSchemas(def *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	out := *def
	out.ObjectMeta = meta.ObjectMeta{
		Name: def.Name, UID: def.UID, ResourceVersion: def.ResourceVersion, Generation: def.Generation,
		DeletionTimestamp: def.DeletionTimestamp, Finalizers: def.Finalizers,
	}
	if approved, ok := def.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation]; ok {
		out.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: approved}
	}
	out.Spec.Versions = make([]apiextensionsv1.CustomResourceDefinitionVersion, len(def.Spec.Versions))
	for i := range def.Spec.Versions {
		v := &def.Spec.Versions[i]
		out.Spec.Versions[i] = apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served,
			Storage: v.Storage}
	}
	return &out
}

// Condition returns the condition of a type, nil if def has none. The result points into def.
func Condition(def *apiextensionsv1.CustomResourceDefinition,
	typ apiextensionsv1.CustomResourceDefinitionConditionType) *apiextensionsv1.CustomResourceDefinitionCondition {
	for i := range def.Status.Conditions {
		if c := &def.Status.Conditions[i]; c.Type == typ {
			return c
		}
	}
	return nil
}

// IsConditionTrue reports whether def has the condition of a type with the status True.
func IsConditionTrue(def *apiextensionsv1.CustomResourceDefinition,
	typ apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	c := Condition(def, typ)
	return c != nil && c.Status == apiextensionsv1.ConditionTrue
}

// SetCondition adds c to the status of def, or replaces the condition of the same type. now becomes
// its lastTransitionTime if the status of the condition changes; else the former time stays.
// observedGeneration stays as it was.
func SetCondition(def *apiextensionsv1.CustomResourceDefinition, c apiextensionsv1.CustomResourceDefinitionCondition,
	now meta.Time) {
	c.LastTransitionTime = now
	old := Condition(def, c.Type)
	if old == nil {
		def.Status.Conditions = append(slices.Clip(def.Status.Conditions), c)
		return
	}
	if old.Status == c.Status && !old.LastTransitionTime.IsZero() {
		c.LastTransitionTime = old.LastTransitionTime
	}
	c.ObservedGeneration = old.ObservedGeneration
	*old = c
}

// removeCondition removes the condition of a type, if def has it.
func removeCondition(def *apiextensionsv1.CustomResourceDefinition,
	typ apiextensionsv1.CustomResourceDefinitionConditionType) {
	def.Status.Conditions = slices.DeleteFunc(def.Status.Conditions,
		func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == typ
		})
}

// notEstablished is the first condition Established of a definition whose names were not all
// accepted.
var notEstablished = apiextensionsv1.CustomResourceDefinitionCondition{
	Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse,
	Reason: "NotAccepted", Message: "not all names are accepted",
}

// established returns the condition Established of a definition whose names were accepted. The
// status is true unless the server could never call its conversion webhook.
func established(def *apiextensionsv1.CustomResourceDefinition) apiextensionsv1.CustomResourceDefinitionCondition {
	c := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue,
		Reason: "InitialNamesAccepted", Message: "the initial names have been accepted",
	}
	if Distrusted(def) {
		c.Status, c.Reason, c.Message = apiextensionsv1.ConditionFalse, "InvalidCABundle",
			"The conversion webhook CABundle is invalid"
	}
	return c
}

// Distrusted reports whether def has a conversion webhook whose CA bundle holds no certificates, so
// that no connection to the webhook could be verified. As long as that is so, a definition that is
// not established does not become established.
func Distrusted(def *apiextensionsv1.CustomResourceDefinition) bool {
	conv := def.Spec.Conversion
	return conv != nil && conv.Webhook != nil && conv.Webhook.ClientConfig != nil &&
		!hasCertificates(conv.Webhook.ClientConfig.CABundle)
}

// hasCertificates reports whether a PEM bundle is empty, which stands for the system's roots, or
// holds at least one certificate.
func hasCertificates(bundle []byte) bool {
	return len(bundle) == 0 || x509.NewCertPool().AppendCertsFromPEM(bundle)
}

// setApprovalCondition sets the condition KubernetesAPIApprovalPolicyConformant of a definition in
// a group of Kubernetes. Other definitions have no such condition.
func setApprovalCondition(def *apiextensionsv1.CustomResourceDefinition, now meta.Time) {
	if !isProtected(def.Spec.Group) {
		return
	}
	c := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.KubernetesAPIApprovalPolicyConformant, Status: apiextensionsv1.ConditionFalse,
	}
	var state approval
	switch state, c.Message = approvalOf(def); state {
	case approvalMissing:
		c.Reason = "MissingAnnotation"
	case approvalBypassed:
		c.Reason = "UnapprovedAnnotation"
	case approved:
		c.Status, c.Reason = apiextensionsv1.ConditionTrue, "ApprovedAnnotation"
	default:
		c.Reason = "InvalidAnnotation"
	}
	SetCondition(def, c, now)
}

// setStructuralCondition sets the condition NonStructuralSchema of a definition that preserves
// unknown fields, and removes it from any other. Only a definition that is older than structural
// schemas can have preserveUnknownFields, and only its schemas may be not structural: all others
// were refused when they were written. The condition lists the violations. spec is the complete
// spec of def.
func setStructuralCondition(def *apiextensionsv1.CustomResourceDefinition,
	spec *apiextensionsv1.CustomResourceDefinitionSpec,
	now meta.Time) {
	if !spec.PreserveUnknownFields {
		removeCondition(def, apiextensionsv1.NonStructuralSchema)
		return
	}
	c := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.NonStructuralSchema, Status: apiextensionsv1.ConditionTrue, Reason: "Violations",
	}
	p := field.NewPath("spec")
	errs := field.ErrorList{field.Invalid(p.Child("preserveUnknownFields"), true, "must be false")}
	for i, v := range field.Each(&errs, spec.Versions) {
		if lacksSchema(*v) {
			continue
		}
		if name := foreignField(v.Schema.OpenAPIV3Schema); name != "" {
			c.Status, c.Reason = apiextensionsv1.ConditionUnknown, "StructuralError"
			c.Message = fmt.Sprintf("failed to check validation schema for version %s: OpenAPIV3Schema '%s' is not supported", v.Name, name)
			break
		}
		errs = append(errs, validateStructural(p.Child("versions").Index(i).Child("schema", "openAPIV3Schema"),
			v.Schema.OpenAPIV3Schema)...)
	}
	if c.Message == "" {
		c.Message = errs.ToAggregate().Error()
	}
	SetCondition(def, c, now)
}
