package resource

import (
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// classes declares the resource deviceclasses.
func classes() registry.Resource {
	return registry.Typed(registry.ResourceOf[*resourcev1.DeviceClass]{
		GroupResource: resource("deviceclasses"),
		Kind:          "DeviceClass",
		Strategy: registry.StrategyOf[*resourcev1.DeviceClass]{
			Metadata:                 registry.MetaWhole,
			ValidateName:             names.LongName,
			Validate:                 checkClass,
			AllowUnconditionalUpdate: true,
		},
		Generation: []string{"spec"},
		Table: &registry.TableOf[*resourcev1.DeviceClass]{
			Columns: []meta.TableColumnDefinition{registry.NameColumn, registry.AgeColumn},
			Cells: func(c *resourcev1.DeviceClass, now time.Time) []any {
				return []any{c.Name, registry.Age(&c.ObjectMeta, now)}
			},
		},
		ReturnsDeleted: true,
	})
}

// checkClass validates a device class. Older releases had no bound for the length of parameters, so
// on update an unchanged configuration may have any length.
func checkClass(c, old *resourcev1.DeviceClass) field.ErrorList {
	spec, p := &c.Spec, field.NewPath("spec")
	errs := checkSelectors(p.Child("selectors"), spec.Selectors)
	anyLength := old != nil && scheme.Equal(&spec.Config, &old.Spec.Config)
	config := func(p *field.Path, c *resourcev1.DeviceClassConfiguration) field.ErrorList {
		return checkConfiguration(p, &c.DeviceConfiguration, anyLength)
	}
	errs = append(errs, checkBounded(p.Child("config"), spec.Config, maxConfigs, config)...)
	if name := spec.ExtendedResourceName; name != nil && !corev1.IsExtendedResource(corev1.ResourceName(*name)) {
		errs = append(errs,
			field.Invalid(p.Child("extendedResourceName"), *name, "must be a valid extended resource name"))
	}
	return errs
}
