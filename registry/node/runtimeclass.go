package node

import (
	"maps"
	"slices"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/nodev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// runtimeClasses declares runtimeclasses. They are cluster-wide.
func runtimeClasses() registry.Resource {
	return registry.Typed(registry.ResourceOf[*nodev1.RuntimeClass]{
		GroupResource: meta.GroupResource{Group: nodev1.GroupVersion.Group, Resource: "runtimeclasses"},
		Kind:          "RuntimeClass",
		Strategy: registry.StrategyOf[*nodev1.RuntimeClass]{
			Metadata:            registry.MetaRepeat | registry.MetaCompare,
			Validate:            checkRuntimeClass,
			Warnings:            runtimeClassWarnings,
			AllowCreateOnUpdate: true,
		},
		Table: &registry.TableOf[*nodev1.RuntimeClass]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Handler", "Name by which the configuration of nodes knows the runtime.", 0),
				registry.AgeColumn,
			},
			Cells: func(c *nodev1.RuntimeClass, now time.Time) []any {
				return []any{c.Name, c.Handler, registry.Age(&c.ObjectMeta, now)}
			},
		},
	})
}

// checkRuntimeClass checks a class. The handler is immutable, because pods of the class run with
// it; overhead and scheduling only affect pods that are created later.
func checkRuntimeClass(c, old *nodev1.RuntimeClass) field.ErrorList {
	handler := field.NewPath("handler")
	errs := check.Needed(handler, c.Handler, check.DNSLabel)
	if c.Overhead != nil {
		errs = append(errs, podspec.Rules{}.Overhead(field.NewPath("overhead"), c.Overhead.PodFixed)...)
	}
	if s := c.Scheduling; s != nil {
		p := field.NewPath("scheduling")
		errs = append(errs, meta.ValidateLabels(s.NodeSelector, p.Child("nodeSelector"))...)
		errs = append(errs, podspec.Tolerations(p.Child("tolerations"), s.Tolerations)...)
		errs = append(errs, differentTolerations(p.Child("tolerations"), s.Tolerations)...)
	}
	if old != nil {
		errs = append(errs, check.Immutable(handler, &c.Handler, &old.Handler)...)
	}
	return errs
}

// differentTolerations refuses a toleration that equals an earlier one except for
// tolerationSeconds.
func differentTolerations(p *field.Path, list []corev1.Toleration) field.ErrorList {
	var errs field.ErrorList
	seen := map[corev1.Toleration]bool{}
	for i, t := range field.Each(&errs, list) {
		key := *t
		key.TolerationSeconds = nil
		if seen[key] {
			errs = append(errs, field.Duplicate(p.Index(i), govalue.JSON(t)))
		}
		seen[key] = true
	}
	return errs
}

// runtimeClassWarnings tells of deprecated node labels in the selector, sorted by label.
func runtimeClassWarnings(c, _ *nodev1.RuntimeClass) []string {
	if c.Scheduling == nil {
		return nil
	}
	var warnings []string
	for _, key := range slices.Sorted(maps.Keys(c.Scheduling.NodeSelector)) {
		if msg := podspec.NodeLabelWarning(key); msg != "" {
			warnings = append(warnings, "scheduling.nodeSelector: "+msg)
		}
	}
	return warnings
}
