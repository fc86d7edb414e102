package storage

import (
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The resource csidrivers: how Kubernetes must treat the volumes of a CSI driver. The name of the
// object is the name of the driver.

// csiDrivers declares the resource csidrivers. prepareDriver counts its generation, because it
// begins with 0, where that of other kinds begins with 1.
func csiDrivers() registry.Resource {
	return registry.Typed(registry.ResourceOf[*storagev1.CSIDriver]{
		GroupResource: resource("csidrivers"),
		Kind:          "CSIDriver",
		Strategy: registry.StrategyOf[*storagev1.CSIDriver]{
			Metadata: registry.MetaChange,
			Prepare:  prepareDriver,
			Validate: checkDriver,
			Warnings: driverWarnings,
		},
		Table: &registry.TableOf[*storagev1.CSIDriver]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.BooleanColumn("AttachRequired", "Whether volumes must be attached before they are mounted.",
					0),
				registry.BooleanColumn("PodInfoOnMount", "Whether the driver is told about the pod.", 0),
				registry.BooleanColumn("StorageCapacity",
					"Whether the scheduler looks at the capacity that is reported.", 0),
				registry.Column("TokenRequests", "Whom the tokens are for that the driver gets.", 0),
				registry.BooleanColumn("RequiresRepublish",
					"Whether the driver is asked again and again to mount a volume.", 0),
				registry.Column("Modes", "What volumes can be.", 0),
				registry.AgeColumn,
			},
			Cells: driverCells,
		},
		ReturnsDeleted: true,
	})
}

// prepareDriver drops preventPodSchedulingIfMissing, which is not served, unless the old object has
// it. It also counts changes of the spec.
func prepareDriver(_ *registry.Request, d, old *storagev1.CSIDriver) {
	if old == nil || old.Spec.PreventPodSchedulingIfMissing == nil { // not served
		d.Spec.PreventPodSchedulingIfMissing = nil
	}
	if old != nil && !scheme.Equal(&d.Spec, &old.Spec) {
		d.Generation++
	}
}

// checkDriver validates a driver. Whether its volumes are attached, and what they can be, never
// changes. The path attachedRequired, which is no field, is kube-apiserver's.
func checkDriver(d, old *storagev1.CSIDriver) field.ErrorList {
	spec, p := &d.Spec, field.NewPath("spec")
	errs := check.OptionalOneOf(p.Child("fsGroupPolicy"), spec.FSGroupPolicy,
		storagev1.FileFSGroupPolicy, storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	errs = append(errs, checkTokens(p.Child("tokenRequests"), spec.TokenRequests)...)
	for _, mode := range field.Each(&errs, spec.VolumeLifecycleModes) {
		errs = append(errs, check.Supported(p.Child("volumeLifecycleModes"), *mode,
			storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral)...)
	}
	if s := spec.NodeAllocatableUpdatePeriodSeconds; s != nil && *s < 10 {
		errs = append(errs, field.Invalid(p.Child("nodeAllocatableUpdatePeriodSeconds"), *s,
			"must be greater than or equal to 10 seconds"))
	}
	if spec.ServiceAccountTokenInSecrets != nil && len(spec.TokenRequests) == 0 {
		errs = append(errs, field.Invalid(p.Child("serviceAccountTokenInSecrets"), spec.ServiceAccountTokenInSecrets,
			"serviceAccountTokenInSecrets is set but no tokenRequests are specified"))
	}
	if old == nil {
		return errs
	}
	errs = append(errs, check.Immutable(p.Child("attachedRequired"), spec.AttachRequired, old.Spec.AttachRequired)...)
	return append(errs,
		check.Immutable(p.Child("volumeLifecycleModes"), &spec.VolumeLifecycleModes, &old.Spec.VolumeLifecycleModes)...)
}

// checkTokens checks the service account tokens that the driver wants: one for each audience.
func checkTokens(p *field.Path, tokens []storagev1.TokenRequest) field.ErrorList {
	var errs field.ErrorList
	audiences := check.Duplicates{}
	for i, token := range field.Each(&errs, tokens) {
		if !audiences.Add(token.Audience) {
			errs = append(errs, field.Duplicate(p.Index(i).Child("audience"), token.Audience))
			continue
		}
		if s := token.ExpirationSeconds; s != nil {
			errs = append(errs, podspec.TokenLifetime(p.Index(i).Child("expirationSeconds"), *s)...)
		}
	}
	return errs
}

// driverWarnings recommends serviceAccountTokenInSecrets to a client that creates or changes token
// requests without it.
func driverWarnings(d, old *storagev1.CSIDriver) []string {
	tokens := d.Spec.TokenRequests
	if len(tokens) == 0 || d.Spec.ServiceAccountTokenInSecrets != nil {
		return nil
	}
	if old != nil && scheme.Equal(&tokens, &old.Spec.TokenRequests) {
		return nil
	}
	return []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent " +
		"possible logging of tokens in volume attributes"}
}

// driverCells returns the cells of a table's row.
func driverCells(d *storagev1.CSIDriver, now time.Time) []any {
	spec := &d.Spec
	tokens, modes := registry.Unset, registry.None
	if spec.TokenRequests != nil {
		tokens = joined(spec.TokenRequests, func(t storagev1.TokenRequest) string { return t.Audience })
	}
	if len(spec.VolumeLifecycleModes) > 0 {
		modes = joined(spec.VolumeLifecycleModes, func(m storagev1.VolumeLifecycleMode) string { return string(m) })
	}
	attach := spec.AttachRequired == nil || *spec.AttachRequired
	return []any{
		d.Name, attach, scheme.OrZero(spec.PodInfoOnMount), scheme.OrZero(spec.StorageCapacity),
		tokens, scheme.OrZero(spec.RequiresRepublish), modes,
		registry.Age(&d.ObjectMeta, now),
	}
}

// joined returns the texts of a list with commas between them.
func joined[T any](list []T, text func(T) string) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = text(v)
	}
	return strings.Join(texts, ",")
}
