package extensions

import (
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Resources returns the resources of the group apiextensions.k8s.io.
func Resources() []registry.Resource { return []registry.Resource{definitions()} }

const definitionKind = "CustomResourceDefinition"

// definitions makes the resource customresourcedefinitions. A deleted definition stays,
// Terminating, until the objects of its resource are gone: a finalizer says so, which the server
// adds.
func definitions() registry.Resource {
	return registry.Typed(registry.ResourceOf[*apiextensionsv1.CustomResourceDefinition]{
		GroupResource: meta.GroupResource{Group: apiextensionsv1.GroupVersion.Group,
			Resource: "customresourcedefinitions"},
		Kind:       definitionKind,
		ShortNames: []string{"crd", "crds"},
		Categories: []string{"api-extensions"},
		Strategy: registry.StrategyOf[*apiextensionsv1.CustomResourceDefinition]{
			Metadata:  registry.MetaCompare,
			Prepare:   prepareDefinition,
			Judge:     judgeDefinition,
			Warnings:  warnOfFormats,
			Terminate: terminate,
			// Its objects go with it, whatever the client says of dependents.
			NoGarbageCollection: true,
		},
		Status: &registry.StatusOf[*apiextensionsv1.CustomResourceDefinition]{
			Prepare: prepareDefinitionStatus, Validate: checkDefinitionStatus,
		},
		Generation:   []string{"spec"},
		StoredAsJSON: true,
	})
}

// prepareDefinition brings the values in schemas into their normal form, and notes in which version
// objects are stored from now on.
func prepareDefinition(_ *registry.Request, d, _ *apiextensionsv1.CustomResourceDefinition) {
	for i := range d.Spec.Versions {
		if v := &d.Spec.Versions[i]; v.Schema != nil && anyIn(v.Schema.OpenAPIV3Schema, hasValue) {
			normalize(v.Schema.OpenAPIV3Schema)
		}
	}
	noteStorage(d)
}

// prepareDefinitionStatus has a status without versions begin anew with the one in which objects
// are stored. Defaults do so, too, but by the spec that the client sent, which does not count here
// and may be missing.
func prepareDefinitionStatus(_ *registry.Request, d, _ *apiextensionsv1.CustomResourceDefinition) {
	if len(d.Status.StoredVersions) == 0 {
		noteStorage(d)
	}
}

// noteStorage notes in which version objects are stored.
func noteStorage(d *apiextensionsv1.CustomResourceDefinition) {
	i := slices.IndexFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Storage
	})
	if i >= 0 && !slices.Contains(d.Status.StoredVersions, d.Spec.Versions[i].Name) {
		d.Status.StoredVersions = append(d.Status.StoredVersions, d.Spec.Versions[i].Name)
	}
}

// terminate says that a definition is being deleted.
func terminate(d *apiextensionsv1.CustomResourceDefinition) {
	if !slices.Contains(d.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
		d.Finalizers = append(d.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer)
	}
	SetCondition(d, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	}, *d.DeletionTimestamp)
}

// judgeDefinition judges a definition as long as the request lasts: rules may be about its
// defaults.
func judgeDefinition(r *registry.Request, _ field.ErrorList,
	d, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	return checkDefinition(r.Context, d, old)
}

// warnOfFormats tells of formats that are new in the schemas of a definition and that nothing
// checks.
func warnOfFormats(d, old *apiextensionsv1.CustomResourceDefinition) []string {
	var formats []string
	unchecked := func(spec *apiextensionsv1.CustomResourceDefinitionSpec, found func(format string)) {
		anyPart(spec, func(s *apiextensionsv1.JSONSchemaProps) bool {
			if s.Format != "" && !schema.KnownFormat(s.Type, s.Format) {
				found(s.Format)
			}
			return false
		})
	}
	unchecked(&d.Spec, func(format string) {
		if !slices.Contains(formats, format) {
			formats = append(formats, format)
		}
	})
	if old != nil {
		unchecked(&old.Spec, func(format string) {
			formats = slices.DeleteFunc(formats, func(f string) bool { return f == format })
		})
	}
	for i, format := range formats {
		formats[i] = fmt.Sprintf("unrecognized format %q", format)
	}
	return formats
}
