// Package scale makes the door through which the size of an object is seen and set without knowing
// its kind: scale, whose kind is autoscaling/v1 Scale.
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

// Size is what a scale shows of an object.
type Size struct {
	Wanted   **int32                // how many replicas there should be, where the object says it
	Counted  int32                  // how many there are
	Selector meta.LabelRequirements // which they are
}

// Of makes the door of a kind that has replicas, which of finds in an object.
func Of[T meta.Object](of func(obj T) Size) registry.SubresourceOf[T] {
	return registry.SubresourceOf[T]{
		Name: "scale", Kind: autoscalingv1.GroupVersion.WithKind("Scale"),
		Project: &registry.ProjectionOf[T]{
			Show: func(obj T, _ registry.Occasion) (meta.Object, error) { return show(of(obj)), nil },
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

// table shows a scale as others always have: what it calls available are the replicas that there
// are.
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

// Selector is the selector of an object as a Size has it. One that cannot be compiled, which no
// check lets pass, selects nothing.
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
