// Package flowcontrol knows what is special about the resources of flowcontrol.apiserver.k8s.io:
// flow schemas, which sort requests, and priority levels, which say how many of a sort are served
// at once. What the schemas and levels of every cluster look like is fixed: see mandatory.go. What
// else a new cluster has: see bootstrap.go.
//
// Resources returns the declarations that a server makes stores from.
//
// Not here: the verbs (registry), types and defaults (scheme/api/flowcontrolv1), the requests
// (filters).
package flowcontrol

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources returns the resources of the group.
func Resources() []registry.Resource {
	return []registry.Resource{flowSchemas(), priorityLevels()}
}

func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: flowcontrolv1.GroupVersion.Group, Resource: name}
}

// keepMeta keeps all metadata but who owns what, as the doors to status are for the status alone.
// What is wrong in those that a client sends is not told either, unlike with registry.KeepMeta.
func keepMeta[T meta.Object](_ *registry.Request, obj, old T) {
	m := obj.GetObjectMeta()
	owners := m.ManagedFields
	*m = scheme.DeepCopy(*old.GetObjectMeta())
	m.ManagedFields = owners
}

// checkConditions checks that conditions have a type each, and different ones.
func checkConditions[C any](conditions []C, typeOf func(*C) string) field.ErrorList {
	var errs field.ErrorList
	seen := check.Duplicates{}
	for i, c := range field.Each(&errs, conditions) {
		p, t := field.NewPath("status", "conditions").Index(i).Child("type"), typeOf(c)
		if !seen.Add(t) {
			errs = append(errs, field.Duplicate(p, t))
		}
		errs = append(errs, check.Required(p, t)...)
	}
	return errs
}
