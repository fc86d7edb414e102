// Package scale declares the subresource scale, through which autoscalers and kubectl read and set
// the replicas of an object without knowing its kind. Its kind is autoscaling/v1 Scale.
//
// Laws: a write through the subresource changes the desired number of replicas and nothing else of
// the object. Reading it shows the numbers and the selector at one revision of the object.
//
// The packages that declare kinds with replicas, such as registry/apps, pass the result of Of to
// their declarations. All functions may be called at once.
//
// Not here: the type (scheme/api/autoscalingv1), and how a door with a kind of its own works
// (registry).
package scale

import (
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Size is the fields of an object that its Scale shows.
type Size struct {
	Wanted   **int32                // the field with the desired number of replicas
	Counted  int32                  // the current number of replicas
	Selector meta.LabelRequirements // selects the pods that are the replicas
}

// Of returns the subresource for a kind that has replicas. The function of returns the Size of an
// object; Wanted must point into the object, because an update writes through it.
func Of[T meta.Object](of func(obj T) Size) registry.SubresourceOf[T] {
	return registry.SubresourceOf[T]{
		Name: "scale", Kind: autoscalingv1.GroupVersion.WithKind("Scale"),
		Project: &registry.ProjectionOf[T]{
			Show: func(obj T, _ registry.ProjectionPurpose) (meta.Object, error) { return show(of(obj)), nil },
			Apply: func(obj T, shown meta.Object) error {
				*of(obj).Wanted = new(shown.(*autoscalingv1.Scale).Spec.Replicas)
				return nil
			},
			Validate: checkScale,
			Replicas: "spec.replicas",
			Table:    table,
		},
	}
}

// table shows a Scale as kubectl users know it: its column Available has the current replicas,
// whether they are ready or not.
var table = &registry.Table{
	Columns: []meta.TableColumnDefinition{
		registry.Column("Name", "Name of the object that is scaled.", 0),
		registry.IntegerColumn("Desired", "Number of replicas that are wanted.", 0),
		registry.IntegerColumn("Available", "Number of replicas that there are.", 0),
		registry.AgeColumn,
	},
	Cells: func(shown meta.Object, now time.Time) []any {
		s := shown.(*autoscalingv1.Scale)
		return []any{s.Name, int64(s.Spec.Replicas), int64(s.Status.Replicas), registry.Age(&s.ObjectMeta, now)}
	},
}

func show(size Size) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		Spec:   autoscalingv1.ScaleSpec{Replicas: scheme.OrZero(*size.Wanted)},
		Status: autoscalingv1.ScaleStatus{Replicas: size.Counted, Selector: size.Selector.String()},
	}
}

// Selector compiles the selector of an object for Size.Selector. A selector that does not compile
// selects nothing; validation refuses such selectors.
func Selector(s *meta.LabelSelector) meta.LabelRequirements {
	selector, err := meta.SelectorFrom(s)
	if err != nil {
		selector, _ = meta.SelectorFrom(nil)
	}
	return selector
}

func checkScale(shown meta.Object) field.ErrorList {
	s := shown.(*autoscalingv1.Scale)
	errs := check.ObjectMeta(&s.ObjectMeta, true, names.DNSSubdomainName)
	return append(errs, check.NonNegative(field.NewPath("spec", "replicas"), s.Spec.Replicas)...)
}
