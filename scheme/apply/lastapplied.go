package apply

import (
	"maps"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
)

// kubectl is the name of the manager for clients that moved from client-side to server-side apply.
// Client-side apply left the applied configuration in the annotation lastApplied. When kubectl
// first applies through the server, it may change the fields that the annotation lists without a
// conflict, unless somebody has changed them since. As long as an object has the annotation,
// applications of kubectl keep it up to date, so that users can go back to client-side apply.
const (
	kubectl     = "kubectl"
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// lastApplied returns the fields that the annotation lists and that still have the value listed
// there; nil if there is no annotation, or if its configuration is of another kind or does not fit
// the schema.
func (w *write) lastApplied() *Set {
	live, m := w.before, &w.meter
	decoded, err := jsontext.Decode([]byte(annotationsOf(live.tree)[lastApplied]), m)
	if err != nil {
		return nil
	}
	config, _ := decoded.(map[string]any)
	if kindOf(config) != w.Kind || Check(m, live.tree, live.schema, false) != nil ||
		Check(m, config, live.schema, false) != nil {
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

// noteApplied returns tree with config in the annotation lastApplied; nil if tree has no such
// annotation, or if it holds config already. If the annotations would exceed their maximal size,
// the annotation is removed instead. An annotation whose value is null becomes an empty string.
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

// annotationsOf returns a copy of the annotations in a tree, nil if it has none.
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

// withAnnotations returns a copy of an object with other annotations, without the field if they are
// nil. An object without metadata is returned as it is.
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
