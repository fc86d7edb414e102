// Package flowcontrol declares the resources of flowcontrol.apiserver.k8s.io, the configuration of
// API priority and fairness (KEP-1040), and the objects of it that every cluster has.
//
// Words. A flow schema assigns requests to a priority level, and divides them into flows. A
// priority level is a share of the requests that the server runs at once; its requests wait in
// queues, or are refused, when the share is used up. Mandatory objects exist in every cluster with
// a fixed spec. Suggested objects are created in a new cluster, and administrators may change them.
//
// Laws:
//
//   - The spec of a mandatory object is the fixed value, but for spec.exempt of the level "exempt".
//   - Only the schema "exempt" has the precedence 1, and only the level "exempt" has the type
//     Exempt.
//
// A server makes its stores from Resources. Its keeper of these objects (server/flows) calls
// Mandatory and Suggested, and owns what they return.
//
// Not here: the verbs (registry), types and defaults (scheme/api/flowcontrolv1), the status of
// schemas and the upkeep of mandatory objects (server/flows), how many requests run at once
// (filters).
//
// Read: doc.go, flowschema.go, flowschemacheck.go, prioritylevel.go, mandatory.go, bootstrap.go.
package flowcontrol

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources returns the declarations of flowschemas and prioritylevelconfigurations.
func Resources() []registry.Resource {
	return []registry.Resource{flowSchemas(), priorityLevels()}
}

// resource returns a resource of the group by its plural name.
func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: flowcontrolv1.GroupVersion.Group, Resource: name}
}

// keepMeta is the Prepare of a status update. It keeps all metadata of the stored object but
// managedFields, which the update of a status changes like any other. Unlike registry.KeepMeta it
// drops metadata from the client before it is validated, so mistakes in it are not reported;
// Kubernetes' strategies of this group do the same.
func keepMeta[T meta.Object](_ *registry.Request, obj, old T) {
	m := obj.GetObjectMeta()
	owners := m.ManagedFields
	*m = scheme.DeepCopy(*old.GetObjectMeta())
	m.ManagedFields = owners
}

// checkConditions checks that each condition of a status has a type, and that no type repeats.
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
