package apiextensionsv1

import (
	"strings"

	"github.com/coracle-project/coracle/scheme"
)

// defaultDefinition derives names from the kind, converts by the version alone, and takes the
// storage version for the only one that objects were stored in. A webhook of which nothing is said
// is none.
func defaultDefinition(d *CustomResourceDefinition) {
	defaultNames(&d.Spec.Names)
	if d.Spec.Conversion == nil {
		d.Spec.Conversion = &CustomResourceConversion{Strategy: NoneConverter}
	}
	if w := d.Spec.Conversion.Webhook; w != nil && w.ClientConfig == nil && w.ConversionReviewVersions == nil {
		d.Spec.Conversion.Webhook = nil
	}
	if len(d.Status.StoredVersions) > 0 {
		return
	}
	for _, v := range d.Spec.Versions {
		if v.Storage {
			d.Status.StoredVersions = append(d.Status.StoredVersions, v.Name)
			return
		}
	}
}

// defaultNames derives the names that the spec leaves out from the kind.
func defaultNames(names *CustomResourceDefinitionNames) {
	if names.Singular == "" {
		names.Singular = strings.ToLower(names.Kind)
	}
	if names.ListKind == "" && names.Kind != "" {
		names.ListKind = names.Kind + "List"
	}
}

func defaultServiceReference(s *ServiceReference) { scheme.SetPointer(&s.Port, 443) }
