package apps

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// controllerRevisions declares the resource controllerrevisions. A revision is a snapshot of a
// template to which a controller may return, so its data never changes. Its number may: a
// controller that returns to an old revision renumbers it.
func controllerRevisions() registry.Resource {
	return registry.Typed(registry.ResourceOf[*appsv1.ControllerRevision]{
		GroupResource: resource("controllerrevisions"),
		Kind:          "ControllerRevision",
		Namespaced:    true,
		Strategy: registry.StrategyOf[*appsv1.ControllerRevision]{
			Metadata:                 registry.MetaWhole,
			Validate:                 checkRevision,
			AllowUnconditionalUpdate: true,
		},
		Table: &registry.TableOf[*appsv1.ControllerRevision]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Controller", "Owner whose state the revision holds.", 0),
				registry.Column("Revision", "Number of the revision among the revisions of its controller.", 0),
				registry.AgeColumn,
			},
			Cells: func(r *appsv1.ControllerRevision, now time.Time) []any {
				return []any{r.Name, controllerCell(r.OwnerReferences), r.Revision, registry.Age(&r.ObjectMeta, now)}
			},
		},
	})
}

// controllerCell names the owner that is the controller in the form that kubectl accepts, such as
// statefulset.apps/web.
func controllerCell(owners []meta.OwnerReference) string {
	for _, o := range owners {
		if scheme.OrZero(o.Controller) {
			gv, _ := meta.ParseGroupVersion(o.APIVersion)
			return strings.ToLower(gv.WithKind(o.Kind).GroupKind().String()) + "/" + o.Name
		}
	}
	return registry.None
}

// checkRevision returns what is wrong with a new revision, or with an update of old.
func checkRevision(r, old *appsv1.ControllerRevision) field.ErrorList {
	errs := check.NotNegative(nil, check.Number{"revision", r.Revision})
	p := field.NewPath("data")
	if old == nil {
		return append(errs, checkData(p, r.Data.Raw)...)
	}
	return append(errs, check.Immutable(p, &r.Data, &old.Data)...)
}

// checkData checks that the data of a new revision at p is a JSON object. The server does not know
// the fields of the object: the controller that wrote it defines them. The message does not show
// the data, which may be long.
func checkData(p *field.Path, data []byte) field.ErrorList {
	if data == nil {
		return field.ErrorList{field.Required(p, "data is mandatory")}
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return field.ErrorList{field.Invalid(p, "<value omitted>", "error parsing data: "+err.Error())}
	}
	switch v.(type) {
	case map[string]any:
		return nil
	case nil:
		return field.ErrorList{field.Required(p, "data is mandatory")}
	}
	return field.ErrorList{field.Required(p, "data must be a valid JSON object")}
}
