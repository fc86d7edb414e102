package podspec

import (
	"fmt"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// checkClaimTemplate checks the template of the claim of an ephemeral volume.
func checkClaimTemplate(p *field.Path, t *corev1.PersistentVolumeClaimTemplate) field.ErrorList {
	errs := ClaimTemplateMeta(p.Child("metadata"), &t.ObjectMeta)
	return append(errs, Claim(p.Child("spec"), &t.Spec, nil)...)
}

// ClaimTemplateMeta returns what is wrong with the metadata at p of a claim template. The created
// claim takes only labels and annotations from it, so nothing else may be set. Fields are reported
// under their Go names in lower camel case (uID), as in kube-apiserver.
func ClaimTemplateMeta(p *field.Path, m *meta.ObjectMeta) field.ErrorList {
	errs := meta.ValidateAnnotations(m.Annotations, p.Child("annotations"))
	errs = append(errs, meta.ValidateLabels(m.Labels, p.Child("labels"))...)
	return append(errs, check.Forbidden(p, "cannot be set", []check.Setting{
		{"name", m.Name != ""}, {"generateName", m.GenerateName != ""}, {"namespace", m.Namespace != ""},
		{"selfLink", m.SelfLink != ""}, {"uID", m.UID != ""}, {"resourceVersion", m.ResourceVersion != ""},
		{"generation", m.Generation != 0}, {"creationTimestamp", m.CreationTimestamp != nil},
		{"deletionTimestamp", m.DeletionTimestamp != nil},
		{"deletionGracePeriodSeconds", m.DeletionGracePeriodSeconds != nil},
		{"ownerReferences", m.OwnerReferences != nil}, {"finalizers", m.Finalizers != nil},
		{"managedFields", m.ManagedFields != nil},
	})...)
}

// Claim returns what is wrong with the spec at p of a PersistentVolumeClaim. old is the spec before
// an update, nil for a new claim and for templates.
func Claim(p *field.Path, spec, old *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	var errs field.ErrorList
	if len(spec.AccessModes) == 0 {
		errs = append(errs, field.Required(p.Child("accessModes"), "at least 1 access mode is required"))
	}
	errs = append(errs, meta.ValidateLabelSelector(spec.Selector, p.Child("selector"))...)
	errs = append(errs, checkAccessModes(p.Child("accessModes"), spec.AccessModes)...)
	storage := p.Child("resources").Key(string(corev1.ResourceStorage))
	if q, ok := spec.Resources.Requests[corev1.ResourceStorage]; !ok {
		errs = append(errs, field.Required(storage, ""))
	} else {
		errs = append(errs, check.PositiveQuantity(storage, q)...)
	}
	if spec.StorageClassName != nil {
		errs = append(errs, check.Optional(p.Child("storageClassName"), *spec.StorageClassName, check.DNSSubdomain)...)
	}
	errs = append(errs, check.OptionalOneOf(p.Child("volumeMode"), spec.VolumeMode,
		corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)...)
	errs = append(errs, checkDataSources(p, spec, old)...)
	if spec.VolumeAttributesClassName != nil {
		errs = append(errs, check.Optional(p.Child("volumeAttributesClassName"), *spec.VolumeAttributesClassName,
			check.DNSSubdomain)...)
	}
	return errs
}

// checkAccessModes checks how a volume may be mounted. ReadWriteOncePod excludes other modes
// (KEP-2485).
func checkAccessModes(p *field.Path, modes []corev1.PersistentVolumeAccessMode) field.ErrorList {
	var errs field.ErrorList
	var once, others bool
	for _, mode := range field.Each(&errs, modes) {
		bad := check.Supported(p, *mode, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce,
			corev1.ReadWriteOncePod)
		errs = append(errs, bad...)
		once = once || *mode == corev1.ReadWriteOncePod
		others = others || *mode != corev1.ReadWriteOncePod && len(bad) == 0
	}
	if once && others {
		errs = append(errs, field.Forbidden(p, "may not use ReadWriteOncePod with other access modes"))
	}
	return errs
}

// checkDataSources checks dataSource and dataSourceRef, which name what fills a new volume. They
// must name the same object, unless the object is in another namespace, which only dataSourceRef
// can name (KEP-3294). If the old claim has an API group in either, any group is allowed: older
// servers did not check groups.
func checkDataSources(p *field.Path, spec, old *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	anyGroup := old != nil && (old.DataSource != nil && old.DataSource.APIGroup != nil ||
		old.DataSourceRef != nil && old.DataSourceRef.APIGroup != nil)
	var errs field.ErrorList
	source, ref := spec.DataSource, spec.DataSourceRef
	if source != nil {
		errs = checkDataSource(p.Child("dataSource"), source.APIGroup, source.Kind, source.Name, anyGroup)
	}
	if ref == nil {
		return errs
	}
	errs = append(errs, checkDataSource(p.Child("dataSourceRef"), ref.APIGroup, ref.Kind, ref.Name, anyGroup)...)
	elsewhere := scheme.OrZero(ref.Namespace) != ""
	if elsewhere {
		errs = append(errs, check.DNSLabel(p.Child("dataSourceRef", "namespace"), *ref.Namespace)...)
	}
	switch shown := (struct{}{}); { // kube-apiserver shows a path in place of the value, as an empty object
	case source == nil:
	case elsewhere:
		errs = append(errs, field.Invalid(p, shown, "may not be specified when dataSourceRef.namespace is specified"))
	case source.Kind != ref.Kind || source.Name != ref.Name || !scheme.Equal(source.APIGroup, ref.APIGroup):
		errs = append(errs, field.Invalid(p, shown, "must match dataSourceRef"))
	}
	return errs
}

// checkDataSource checks one data source. In the core group it can only be a claim to clone;
// without anyGroup another group must be a DNS subdomain.
func checkDataSource(p *field.Path, group *string, kind, name string, anyGroup bool) field.ErrorList {
	errs := check.Required(p.Child("name"), name)
	errs = append(errs, check.Required(p.Child("kind"), kind)...)
	switch {
	case group == nil || *group == "":
		if kind != "PersistentVolumeClaim" {
			errs = append(errs, field.Invalid(p, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
		}
	case !anyGroup:
		errs = append(errs, check.DNSSubdomain(p.Child("apiGroup"), *group)...)
	}
	return errs
}

// ClaimWarnings warns of a request or limit of storage, in the spec of a claim at p, that is no
// whole number of bytes.
func ClaimWarnings(p *field.Path, spec *corev1.PersistentVolumeClaimSpec) []string {
	var warnings []string
	warn := func(list string, amounts corev1.ResourceList) {
		if q := amounts[corev1.ResourceStorage]; !isWhole(q) {
			warnings = append(warnings, fmt.Sprintf("%s: fractional byte value %q is invalid, must be an integer",
				p.Child("resources", list).Key(string(corev1.ResourceStorage)), q.String()))
		}
	}
	warn("requests", spec.Resources.Requests)
	warn("limits", spec.Resources.Limits)
	return warnings
}
