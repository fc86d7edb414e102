package core

import (
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// podTemplates declares podtemplates. Nothing in the API server uses their objects; clients may
// keep templates in them.
func podTemplates(rules podspec.Rules) registry.Resource {
	return registry.Typed(registry.ResourceOf[*corev1.PodTemplate]{
		GroupResource: meta.GroupResource{Resource: "podtemplates"},
		Kind:          "PodTemplate",
		Namespaced:    true,
		Strategy: registry.StrategyOf[*corev1.PodTemplate]{
			Metadata: registry.MetaChange,
			Prepare: func(_ *registry.Request, t, old *corev1.PodTemplate) {
				podspec.DropDisabledTemplate(t, old,
					func(t *corev1.PodTemplate) *corev1.PodTemplateSpec { return &t.Template })
			},
			Validate: func(t, old *corev1.PodTemplate) field.ErrorList {
				// The function is shared by all requests: a copy keeps one request's old template
				// from the others.
				rules := rules
				if old != nil {
					rules = rules.AfterTemplate(&old.Template)
				}
				return rules.Template(field.NewPath("template"), &t.Template)
			},
			Warnings: func(t, old *corev1.PodTemplate) []string {
				// The generation counts changes of the template: an update of metadata alone
				// repeats no warning.
				if old != nil && t.Generation == old.Generation {
					return nil
				}
				return podspec.TemplateWarnings(field.NewPath("template"), &t.Template)
			},
			AllowUnconditionalUpdate: true,
		},
		Generation: []string{"template"},
		Table: &registry.TableOf[*corev1.PodTemplate]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Containers", "Names of the containers of each pod.", 0),
				registry.Column("Images", "Images of the containers of each pod.", 0),
				registry.Column("Pod Labels", "Labels of the pods.", 0),
			},
			Cells: func(t *corev1.PodTemplate, _ time.Time) []any {
				names, images := podspec.ContainerCells(t.Template.Spec.Containers)
				return []any{t.Name, names, images, registry.Labels(t.Template.Labels)}
			},
		},
		ReturnsDeleted: true,
	})
}
