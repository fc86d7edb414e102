package aggregation

import (
	"fmt"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// apiServices declares the resource apiservices. A local APIService has the condition Available
// from its creation on, because no other server has to be asked. A write to the subresource status
// keeps metadata and spec as they are stored. APIServices are always stored as JSON, as
// kube-apiserver stores them.
func apiServices() registry.Resource {
	return registry.Typed(registry.ResourceOf[*apiregistrationv1.APIService]{
		GroupResource: meta.GroupResource{Group: apiregistrationv1.GroupVersion.Group, Resource: "apiservices"},
		Kind:          "APIService",
		Categories:    []string{"api-extensions"},
		Strategy: registry.StrategyOf[*apiregistrationv1.APIService]{
			ValidateName: func(name string, _ bool) []string { return names.IsPathSegmentName(name) },
			Metadata:     registry.MetaCompare | registry.MetaRepeat,
			Prepare:      prepareAPIService,
			Validate:     checkAPIService,
		},
		Status: &registry.StatusOf[*apiregistrationv1.APIService]{
			Prepare:     keepMeta,
			Validate:    checkAPIServiceStatus,
			ResetFields: []string{"metadata", "spec"},
		},
		Table: &registry.TableOf[*apiregistrationv1.APIService]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Service",
					"Namespace and name of the service in front of the server that has the version; Local: this one.",
					0),
				registry.Column("Available", "Whether that server can be reached.", 0),
				registry.AgeColumn,
			},
			Cells: func(s *apiregistrationv1.APIService, now time.Time) []any {
				return []any{s.Name, serviceCell(s.Spec.Service), availableCell(s), registry.Age(&s.ObjectMeta, now)}
			},
		},
		StoredAsJSON: true,
	})
}

// keepMeta resets the metadata to old, as registry.KeepMeta does, except for the deletion
// timestamp: if a client changes it, validation reports that, as in kube-apiserver.
func keepMeta(r *registry.Request, s, old *apiregistrationv1.APIService) {
	deleted := s.DeletionTimestamp
	registry.KeepMeta(r, s, old)
	s.DeletionTimestamp = deleted
}

// serviceCell is the cell Service: the namespace and name of the service, or Local.
func serviceCell(r *apiregistrationv1.ServiceReference) string {
	if r == nil {
		return "Local"
	}
	return r.Namespace + "/" + r.Name
}

// availableCell is the cell Available: the status of the condition, and its reason unless the
// status is true.
func availableCell(s *apiregistrationv1.APIService) string {
	switch c := apiregistrationv1.Condition(s, apiregistrationv1.Available); {
	case c == nil:
		return string(apiregistrationv1.ConditionUnknown)
	case c.Status != apiregistrationv1.ConditionTrue && c.Reason != "":
		return fmt.Sprintf("%s (%s)", c.Status, c.Reason)
	default:
		return string(c.Status)
	}
}

// prepareAPIService makes a new local APIService available.
func prepareAPIService(r *registry.Request, s, old *apiregistrationv1.APIService) {
	if old == nil && s.Spec.Service == nil {
		apiregistrationv1.SetCondition(s, apiregistrationv1.Local, meta.Time{Time: r.Now})
	}
}
