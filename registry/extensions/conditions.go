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

// Judge brings the status of a definition up to date: its names, which are given in the order in
// which definitions ask for them, and its conditions, but Terminating. spec is all of its spec,
// whatever def has been trimmed of, and group the definitions of its group, itself among them or
// not. It reports whether anything has changed.
func Judge(def *apiextensionsv1.CustomResourceDefinition, spec *apiextensionsv1.CustomResourceDefinitionSpec,
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
	if Is(def, apiextensionsv1.NamesAccepted) && !Is(def, apiextensionsv1.Established) {
		SetCondition(def, established(def), now)
	}
	judgePolicy(def, now)
	judgeShape(def, spec, now)
	return !SameNames(&before.AcceptedNames, &def.Status.AcceptedNames) ||
		!slices.Equal(before.Conditions, def.Status.Conditions)
}

// Served reports whether the resource of a definition is there for clients.
func Served(def *apiextensionsv1.CustomResourceDefinition) bool {
	return Is(def, apiextensionsv1.NamesAccepted) || Is(def, apiextensionsv1.Established)
}

// Differ reports whether there is something in b that its resource is to be declared anew for,
// beside a.
func Differ(a, b *apiextensionsv1.CustomResourceDefinition) bool {
	return a.Generation != b.Generation || !SameNames(&a.Status.AcceptedNames, &b.Status.AcceptedNames) ||
		Is(a, apiextensionsv1.Terminating) != Is(b, apiextensionsv1.Terminating)
}

// Trim returns a definition without what only its resource needs, for those who keep many: no
// schemas, columns and selectable fields, and of metadata what tells it from others and what Judge
// reads.
func Trim(def *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
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

// Condition returns the condition of a type, nil if there is none.
func Condition(def *apiextensionsv1.CustomResourceDefinition,
	typ apiextensionsv1.CustomResourceDefinitionConditionType) *apiextensionsv1.CustomResourceDefinitionCondition {
	for i := range def.Status.Conditions {
		if c := &def.Status.Conditions[i]; c.Type == typ {
			return c
		}
	}
	return nil
}

// Is reports whether the condition of a type is true.
func Is(def *apiextensionsv1.CustomResourceDefinition, typ apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	c := Condition(def, typ)
	return c != nil && c.Status == apiextensionsv1.ConditionTrue
}

// SetCondition sets a condition. The time of its last transition moves if its status changes.
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

// removeCondition takes a condition out.
func removeCondition(def *apiextensionsv1.CustomResourceDefinition,
	typ apiextensionsv1.CustomResourceDefinitionConditionType) {
	def.Status.Conditions = slices.DeleteFunc(def.Status.Conditions,
		func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == typ
		})
}

// notEstablished is what is said of a definition that has not all of its names.
var notEstablished = apiextensionsv1.CustomResourceDefinitionCondition{
	Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse,
	Reason: "NotAccepted", Message: "not all names are accepted",
}

// established is what is said of a definition that has its names: it is, unless its converter could
// never be trusted.
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

// Distrusted reports whether nobody could trust the converter of a definition, as its bundle has no
// certificates: as long as that is so, one that is not established does not become it.
func Distrusted(def *apiextensionsv1.CustomResourceDefinition) bool {
	conv := def.Spec.Conversion
	return conv != nil && conv.Webhook != nil && conv.Webhook.ClientConfig != nil &&
		!hasCertificates(conv.Webhook.ClientConfig.CABundle)
}

// hasCertificates reports whether a bundle is empty or holds certificates.
func hasCertificates(bundle []byte) bool {
	return len(bundle) == 0 || x509.NewCertPool().AppendCertsFromPEM(bundle)
}

// judgePolicy says of a definition in one of Kubernetes' own groups whether it was approved.
func judgePolicy(def *apiextensionsv1.CustomResourceDefinition, now meta.Time) {
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

// judgeShape says of a definition that is older than structural schemas what keeps its schemas,
// which are those of spec, from being structural. All others were checked when they were written.
func judgeShape(def *apiextensionsv1.CustomResourceDefinition, spec *apiextensionsv1.CustomResourceDefinitionSpec,
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
