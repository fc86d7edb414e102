package differential

import (
	"maps"
	"slices"
)

// shrinkObjects removes from the objects of steps each part without which the steps still fail.
func shrinkObjects(steps []managerStep, fails func([]managerStep) bool) []managerStep {
	for i := range steps {
		try := func(whole any) bool {
			less := slices.Clone(steps)
			less[i].Object, _ = whole.(map[string]any)["o"].(map[string]any)
			less[i].Managed, _ = whole.(map[string]any)["m"].([]any)
			return fails(less)
		}
		whole := shrinkValue(map[string]any{"o": steps[i].Object, "m": steps[i].Managed}, try).(map[string]any)
		steps[i].Object, _ = whole["o"].(map[string]any)
		steps[i].Managed, _ = whole["m"].([]any)
	}
	return steps
}

// shrinkValue removes from a value each part without which it still fails, large parts first.
func shrinkValue(v any, fails func(any) bool) any {
	switch object := v.(type) {
	case map[string]any:
		for _, name := range sortedNames(object) {
			less := maps.Clone(object)
			delete(less, name)
			if !slices.Contains([]string{"o", "apiVersion", "kind", "metadata"}, name) && fails(less) {
				object = less
				continue
			}
			part := shrinkValue(object[name], func(part any) bool {
				less := maps.Clone(object)
				less[name] = part
				return fails(less)
			})
			object = maps.Clone(object)
			object[name] = part
		}
		return object
	case []any:
		for i := len(object) - 1; i >= 0; i-- {
			if less := slices.Delete(slices.Clone(object), i, i+1); fails(less) {
				object = less
				continue
			}
			part := shrinkValue(object[i], func(part any) bool {
				less := slices.Clone(object)
				less[i] = part
				return fails(less)
			})
			object = slices.Clone(object)
			object[i] = part
		}
		return object
	}
	return v
}
