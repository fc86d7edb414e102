package aggregation

import (
	"fmt"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// apiServices makes the resource apiservices. What this server has itself is available from the
// moment on that it is created.
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
			Prepare:  keepMeta,
			Validate: checkAPIServiceStatus,
			Reset:    []string{"metadata", "spec"},
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

// keepMeta is registry.KeepMeta, but that a client is told if it moves the deletion.
func keepMeta(r *registry.Request, s, old *apiregistrationv1.APIService) {
	deleted := s.DeletionTimestamp
	registry.KeepMeta(r, s, old)
	s.DeletionTimestamp = deleted
}

func serviceCell(r *apiregistrationv1.ServiceReference) string {
	if r == nil {
		return "Local"
	}
	return r.Namespace + "/" + r.Name
}

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

func prepareAPIService(r *registry.Request, s, old *apiregistrationv1.APIService) {
	if old == nil && s.Spec.Service == nil {
		apiregistrationv1.SetCondition(s, apiregistrationv1.Local, meta.Time{Time: r.Now})
	}
}
