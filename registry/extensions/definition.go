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

// Resources returns the declarations of the resources of the group apiextensions.k8s.io. There is
// one: customresourcedefinitions.
func Resources() []registry.Resource { return []registry.Resource{definitions()} }

const definitionKind = "CustomResourceDefinition"

// definitions declares the resource customresourcedefinitions. A deleted definition remains, with
// the condition Terminating, until its instances are gone: terminate adds a finalizer, and
// FinishInstanceDeletion removes it. Definitions are always stored as JSON, as kube-apiserver
// stores them.
func definitions() registry.Resource {
	return registry.Typed(registry.ResourceOf[*apiextensionsv1.CustomResourceDefinition]{
		GroupResource: meta.GroupResource{Group: apiextensionsv1.GroupVersion.Group,
			Resource: "customresourcedefinitions"},
		Kind:       definitionKind,
		ShortNames: []string{"crd", "crds"},
		Categories: []string{"api-extensions"},
		Strategy: registry.StrategyOf[*apiextensionsv1.CustomResourceDefinition]{
			Metadata:        registry.MetaCompare,
			Prepare:         prepareDefinition,
			ValidateRequest: validateDefinition,
			Warnings:        warnOfFormats,
			Terminate:       terminate,
			// The instances are deleted with their definition, whatever propagation policy the
			// client asks for.
			NoGarbageCollection: true,
		},
		Status: &registry.StatusOf[*apiextensionsv1.CustomResourceDefinition]{
			Prepare: prepareDefinitionStatus, Validate: checkDefinitionStatus,
		},
		Generation:   []string{"spec"},
		StoredAsJSON: true,
	})
}

// prepareDefinition brings the JSON values in schemas into their normal form, and adds the storage
// version to status.storedVersions.
func prepareDefinition(_ *registry.Request, d, _ *apiextensionsv1.CustomResourceDefinition) {
	for i := range d.Spec.Versions {
		if v := &d.Spec.Versions[i]; v.Schema != nil && anyIn(v.Schema.OpenAPIV3Schema, hasValue) {
			normalize(v.Schema.OpenAPIV3Schema)
		}
	}
	noteStorage(d)
}

// prepareDefinitionStatus fills status.storedVersions with the storage version if a client empties
// the list. The defaults of the version do the same, but they read the spec that the client sent. A
// write to the status ignores that spec, and the client may have left it out.
func prepareDefinitionStatus(_ *registry.Request, d, _ *apiextensionsv1.CustomResourceDefinition) {
	if len(d.Status.StoredVersions) == 0 {
		noteStorage(d)
	}
}

// noteStorage adds the storage version to status.storedVersions, unless the list has it already. No
// version is removed here, because objects may still be stored in an earlier storage version. A
// client that has migrated the objects removes the version.
func noteStorage(d *apiextensionsv1.CustomResourceDefinition) {
	i := slices.IndexFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Storage
	})
	if i >= 0 && !slices.Contains(d.Status.StoredVersions, d.Spec.Versions[i].Name) {
		d.Status.StoredVersions = append(d.Status.StoredVersions, d.Spec.Versions[i].Name)
	}
}

// terminate marks a definition whose deletion begins: with the finalizer that keeps the definition
// until its instances are gone, and with the condition Terminating.
func terminate(d *apiextensionsv1.CustomResourceDefinition) {
	if !slices.Contains(d.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
		d.Finalizers = append(d.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer)
	}
	SetCondition(d, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	}, *d.DeletionTimestamp)
}

// validateDefinition validates a definition within the context of the request, because the rules of
// a schema are run on its defaults, which takes time.
func validateDefinition(r *registry.Request, _ field.ErrorList,
	d, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	return checkDefinition(r.Context, d, old)
}

// warnOfFormats returns a warning for each format in the schemas of d that the server does not
// check and that old, which may be nil, does not have. An unknown format is allowed, and ignored.
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
