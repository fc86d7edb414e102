package extensions

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Condition returns the condition of a type, nil if there is none.
func Condition(def *apiextensionsv1.CustomResourceDefinition, typ apiextensionsv1.CustomResourceDefinitionConditionType) *apiextensionsv1.CustomResourceDefinitionCondition {
	for i := range def.Status.Conditions {
		if c := &def.Status.Conditions[i]; c.Type == typ {
			return c
		}
	}
	return nil
}

// Is reports whether the condition of a type is true.
func Is(def *apiextensionsv1.CustomResourceDefinition, typ apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	c := Condition(def, typ)
	return c != nil && c.Status == apiextensionsv1.ConditionTrue
}

// SetCondition sets a condition. The time of its last transition moves if its status changes.
func SetCondition(def *apiextensionsv1.CustomResourceDefinition, c apiextensionsv1.CustomResourceDefinitionCondition, now meta.Time) {
	c.LastTransitionTime = now
	old := Condition(def, c.Type)
	if old == nil {
		def.Status.Conditions = append(slices.Clip(def.Status.Conditions), c)
		return
	}
	if old.Status == c.Status && !old.LastTransitionTime.IsZero() {
		c.LastTransitionTime = old.LastTransitionTime
	}
	c.ObservedGeneration = old.ObservedGeneration
	*old = c
}
