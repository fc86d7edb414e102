package autoscaling

import (
	"fmt"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv2"
	"github.com/coracle-project/coracle/scheme/meta"
)

// autoscalers declares horizontalpodautoscalers.
func autoscalers() registry.Resource {
	return registry.Typed(registry.ResourceOf[*autoscalingv2.HorizontalPodAutoscaler]{
		GroupResource: meta.GroupResource{
			Group: autoscalingv2.GroupVersion.Group, Resource: "horizontalpodautoscalers",
		},
		Kind: "HorizontalPodAutoscaler", ShortNames: []string{"hpa"}, Categories: []string{"all"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*autoscalingv2.HorizontalPodAutoscaler]{
			Metadata:                 registry.MetaChange,
			Validate:                 checkAutoscaler,
			Canonicalize:             completeBehavior,
			AllowUnconditionalUpdate: true,
		},
		Status: &registry.StatusOf[*autoscalingv2.HorizontalPodAutoscaler]{Validate: checkAutoscalerStatus},
		Table: &registry.TableOf[*autoscalingv2.HorizontalPodAutoscaler]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Reference", "Object whose scale is changed.", 0),
				registry.Column("Targets", "What was last measured, and what it should be.", 0),
				registry.Column("MinPods", "Fewest replicas.", 0),
				registry.Column("MaxPods", "Most replicas.", 0),
				registry.Column("Replicas", "Number of replicas that were last seen.", 0),
				registry.AgeColumn,
			},
			Cells: autoscalerCells,
		},
	})
}

// completeBehavior gives a behavior its defaults (KEP-853). A client of autoscaling/v1 sends the
// behavior in an annotation, which the defaults of that version do not reach. The defaults are
// those of autoscaling/v2, the version that is stored.
func completeBehavior(a *autoscalingv2.HorizontalPodAutoscaler) {
	if a.Spec.Behavior != nil {
		autoscalingv2.CompleteBehavior(a.Spec.Behavior)
	}
}

func autoscalerCells(a *autoscalingv2.HorizontalPodAutoscaler, now time.Time) []any {
	least := registry.Unset
	if n := a.Spec.MinReplicas; n != nil {
		least = fmt.Sprint(*n)
	}
	ref := &a.Spec.ScaleTargetRef
	return []any{
		a.Name, ref.Kind + "/" + ref.Name, targetsCell(a.Spec.Metrics, a.Status.CurrentMetrics),
		least, int64(a.Spec.MaxReplicas),
		int64(a.Status.CurrentReplicas), registry.Age(&a.ObjectMeta, now),
	}
}

// maxTargets is how many metrics a row shows. "+ N more..." stands for the others.
const maxTargets = 2

// targetsCell prints the metrics of a spec, such as "cpu: 35%/80%, 4/2 (avg)". The n-th metric of
// the status belongs to the n-th of the spec.
func targetsCell(specs []autoscalingv2.MetricSpec, statuses []autoscalingv2.MetricStatus) string {
	if len(specs) == 0 {
		return registry.None
	}
	var list []string
	for i := range specs[:min(len(specs), maxTargets)] {
		var status autoscalingv2.MetricStatus
		if i < len(statuses) {
			status = statuses[i]
		}
		list = append(list, targetText(&specs[i], &status))
	}
	return registry.More(strings.Join(list, ", "), len(specs)-maxTargets)
}

// targetText prints one metric as its measured value, a slash, and the value that it should have. A
// metric whose source is missing reads "<unknown type>"; only invalid objects have one.
func targetText(spec *autoscalingv2.MetricSpec, status *autoscalingv2.MetricStatus) string {
	switch {
	case spec.Type == autoscalingv2.ExternalMetricSourceType && spec.External != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.External != nil {
			current = &status.External.Current
		}
		return valueText(&spec.External.Target, current)
	case spec.Type == autoscalingv2.ObjectMetricSourceType && spec.Object != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.Object != nil {
			current = &status.Object.Current
		}
		return valueText(&spec.Object.Target, current)
	case spec.Type == autoscalingv2.PodsMetricSourceType && spec.Pods != nil:
		current := registry.Unknown
		if status.Pods != nil {
			current = quantityText(status.Pods.Current.AverageValue)
		}
		return current + "/" + quantityText(spec.Pods.Target.AverageValue)
	case spec.Type == autoscalingv2.ResourceMetricSourceType && spec.Resource != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.Resource != nil {
			current = &status.Resource.Current
		}
		return string(spec.Resource.Name) + ": " + utilizationText(&spec.Resource.Target, current)
	case spec.Type == autoscalingv2.ContainerResourceMetricSourceType && spec.ContainerResource != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.ContainerResource != nil {
			current = &status.ContainerResource.Current
		}
		return string(spec.ContainerResource.Name) + ": " + utilizationText(&spec.ContainerResource.Target, current)
	}
	return "<unknown type>"
}

// quantityText prints a quantity, "<nil>" for none, as kube-apiserver does.
func quantityText(q *meta.Quantity) string {
	if q == nil {
		return "<nil>"
	}
	return q.String()
}

// valueText prints the average over the pods, "3/2 (avg)", if the target names one, else the value.
// current is nil if nothing was measured.
func valueText(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	was := registry.Unknown
	if target.AverageValue != nil {
		if current != nil && current.AverageValue != nil {
			was = current.AverageValue.String()
		}
		return was + "/" + target.AverageValue.String() + " (avg)"
	}
	if current != nil {
		was = quantityText(current.Value)
	}
	return was + "/" + quantityText(target.Value)
}

// utilizationText prints the use of a resource, as an average amount if the target names one, else
// in percent of the request: "35%/80%". current is nil if nothing was measured.
func utilizationText(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	was := registry.Unknown
	if target.AverageValue != nil {
		if current != nil {
			was = quantityText(current.AverageValue)
		}
		return was + "/" + target.AverageValue.String()
	}
	if current != nil && current.AverageUtilization != nil {
		was = fmt.Sprintf("%d%%", *current.AverageUtilization)
	}
	should := "<auto>"
	if target.AverageUtilization != nil {
		should = fmt.Sprintf("%d%%", *target.AverageUtilization)
	}
	return was + "/" + should
}
