package apply

import (
	"maps"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
)

// kubectl is the manager that used to apply by itself, and left what it had applied in an annotation. What that lists it
// may change when it comes to apply here, unless others have changed it since. As long as the annotation is there it is kept
// up to date, so that there is a way back.
const (
	kubectl     = "kubectl"
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// lastApplied returns the fields that the annotation lists and that are as it says; nil if there is none that makes sense.
func (w *write) lastApplied() *Set {
	live, m := w.before, &w.meter
	decoded, err := jsontext.Decode([]byte(annotationsOf(live.tree)[lastApplied]), m)
	if err != nil {
		return nil
	}
	config, _ := decoded.(map[string]any)
	if kindOf(config) != w.Kind || Check(m, live.tree, live.schema, false) != nil || Check(m, config, live.schema, false) != nil {
		return nil
	}
	fields, err := FieldsOf(m, config, live.schema)
	if err != nil {
		return nil
	}
	c, err := Compare(m, config, live.tree, live.schema)
	if err != nil {
		return nil
	}
	return fields.Subtract(m, c.Modified).Subtract(m, c.Added).Subtract(m, c.Removed)
}

// noteApplied returns tree with config in the annotation, nil if there is none or it says so already. If that makes the
// annotations too large, there is none any more. Annotations that are null are empty from then on.
func noteApplied(m *meter.Meter, tree any, config map[string]any) (any, error) {
	annotations := annotationsOf(tree)
	if annotations[lastApplied] == "" {
		return nil, nil
	}
	noted := annotationsOf(config)
	delete(noted, lastApplied)
	text, err := jsontext.AppendTree(nil, withAnnotations(config, noted), jsontext.HTML)
	if err != nil {
		return nil, err
	}
	annotations[lastApplied] = string(append(text, '\n'))
	size := 0
	for name, value := range annotations {
		size += len(name) + len(value)
	}
	if size > meta.MaxAnnotationsSize {
		delete(annotations, lastApplied)
	}
	out := withAnnotations(tree, annotations)
	if same(m, tree, out) {
		return nil, nil
	}
	return out, nil
}

// annotationsOf returns the annotations of an object as a tree, nil if it has none.
func annotationsOf(tree any) map[string]string {
	object, _ := at(tree, "metadata", "annotations").(map[string]any)
	if object == nil {
		return nil
	}
	annotations := make(map[string]string, len(object))
	for name, value := range object {
		annotations[name], _ = open(value).(string)
	}
	return annotations
}

// withAnnotations returns an object with other annotations, without any if they are nil.
func withAnnotations(tree any, annotations map[string]string) any {
	object, _ := at(tree).(map[string]any)
	metadata, ok := at(object["metadata"]).(map[string]any)
	if !ok {
		return tree
	}
	object, metadata = maps.Clone(object), maps.Clone(metadata)
	object["metadata"] = metadata
	delete(metadata, "annotations")
	if annotations != nil {
		values := make(map[string]any, len(annotations))
		for name, value := range annotations {
			values[name] = value
		}
		metadata["annotations"] = values
	}
	return object
}
