package openapi

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Models of kinds whose schema arrived at run time, that is of custom resources: newBuilder calls
// addCustom. With hundreds of such kinds, reading their schemas is nearly all of the work, so it is
// spread over all processors, and each model is written as text at once to keep memory small.

// addCustom makes the models of all such kinds in docs.
func (b *builder) addCustom(docs []Document) {
	kinds := map[string]Model{}
	for _, doc := range docs {
		for _, r := range doc.Resources {
			for _, m := range []Model{r.Object, r.List} {
				if m.Type == nil && (m.Text != nil || m.Schema != nil && m.Schema().Target().Name == "") {
					kinds[customName(m.Kind)] = m
				}
			}
		}
	}
	if len(kinds) == 0 {
		return
	}
	b.makeHead()
	b.collect(b.head["metadata"]) // all models that the models of custom resources refer to
	todo := make(chan Model)
	var done sync.WaitGroup
	for range min(len(kinds), runtime.GOMAXPROCS(0)) {
		done.Go(func() {
			w := writer{v3: !b.v2}
			for m := range todo {
				b.custom(&w, m)
			}
		})
	}
	for _, m := range kinds {
		todo <- m
	}
	close(todo)
	done.Wait()
}

// custom makes the model of one kind, as text. The schemas of all kinds together would take much
// more memory than the document, so each is written and dropped. w is a buffer that is reused.
func (b *builder) custom(w *writer, m Model) {
	made := &schema.Schema{Name: customName(m.Kind), Kinds: []meta.GroupVersionKind{m.Kind}}
	write := func(dst []byte) []byte {
		w.b = w.b[:0]
		w.schema(b.customModel(m, made))
		return append(dst, w.b...)
	}
	var text []byte
	if m.Text != nil {
		text = m.Text(b.v2, write)
	} else {
		text = write(nil)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.texts[made.Name], b.models[made.Name] = text, made
}

// customModel returns the schema of a custom resource as documents show it: named after the kind,
// and with apiVersion, kind and metadata described. The schema of m itself is not changed.
func (b *builder) customModel(m Model, named *schema.Schema) *schema.Schema {
	s := m.Schema().Target()
	made := &schema.Schema{Type: schema.Object}
	// In version 2 a schema cannot say that unknown fields are kept, and kubectl would refuse them.
	// So nothing is described.
	if !s.Unpublished && !(b.v2 && s.KeepsUnknown()) {
		made = b.publish(s)
		b.addHead(made)
	}
	made.Name, made.Kinds = named.Name, named.Kinds
	selectable(made, m)
	return made
}

// selectable sets the fields that field selectors may name in s, which belongs to the builder.
func selectable(s *schema.Schema, m Model) {
	if len(m.Selectable) == 0 {
		return
	}
	var docs schema.Docs
	if s.Docs != nil {
		docs = *s.Docs
	}
	docs.Selectable = m.Selectable
	s.Docs = &docs
}

// customList returns the schema of the list of a custom resource.
func (b *builder) customList(r Resource, item *schema.Schema) *schema.Schema {
	kind := r.List.Kind
	name := customName(kind)
	if kept := b.models[name]; kept != nil {
		return kept
	}
	itemKind := strings.TrimSuffix(kind.Kind, "List")
	made := &schema.Schema{
		Name: name, Kinds: []meta.GroupVersionKind{kind}, Type: schema.Object, Required: []string{"items"},
		Description: kind.Kind + " is a list of " + itemKind,
		Properties: map[string]*schema.Schema{
			"items": {Type: schema.Array, Items: &schema.Schema{Model: item}, Description: "List of " + r.Name + "."},
		},
	}
	selectable(made, r.Object)
	b.makeHead()
	b.addHead(made)
	made.Properties["metadata"] = &schema.Schema{
		Description: "Standard list metadata.", Model: b.compiler.Type(typeinfo.For[meta.ListMeta]()),
	}
	return made
}

// customName returns the name of the model of a kind: the group reversed, version and kind, as in
// com.example.v1.Widget.
func customName(kind meta.GroupVersionKind) string {
	parts := strings.Split(kind.Group, ".")
	slices.Reverse(parts)
	return strings.Join(append(parts, kind.Version, kind.Kind), ".")
}

// makeHead makes the descriptions that addHead adds.
func (b *builder) makeHead() {
	if b.head != nil {
		return
	}
	types := b.compiler.Type(typeinfo.For[meta.TypeMeta]())
	b.head = map[string]*schema.Schema{
		"apiVersion": types.Properties["apiVersion"],
		"kind":       types.Properties["kind"],
		"metadata": {
			Description: "Standard object's metadata.", Model: b.compiler.Type(typeinfo.For[meta.ObjectMeta]()),
		},
	}
}

// addHead describes apiVersion, kind and metadata in s, which belongs to the builder.
func (b *builder) addHead(s *schema.Schema) {
	properties := make(map[string]*schema.Schema, len(s.Properties)+len(b.head))
	maps.Copy(properties, s.Properties)
	maps.Copy(properties, b.head)
	s.Properties = properties
}

// publish returns a copy of the schema s in the form in which documents show it.
func (b *builder) publish(s *schema.Schema) *schema.Schema {
	if s == nil || s.Go != nil || s.Model != nil {
		return s
	}
	out := *s
	if b.v2 {
		simplify(&out)
	} else if s.IntOrString {
		out.Limits = s.UnfoldIntOrString()
	}
	out.Items, out.AdditionalProperties = b.publish(out.Items), b.publish(out.AdditionalProperties)
	if out.Properties != nil {
		properties := make(map[string]*schema.Schema, len(out.Properties))
		for name, p := range out.Properties {
			properties[name] = b.publish(p)
		}
		out.Properties = properties
	}
	if out.EmbeddedResource && !(b.v2 && out.PreserveUnknown) {
		b.addHead(&out)
		out.Required = slices.Clone(out.Required)
		for _, name := range []string{"kind", "apiVersion"} {
			if !slices.Contains(out.Required, name) {
				out.Required = append(out.Required, name)
			}
		}
	}
	return &out
}

// simplify removes from s what version 2 cannot express and kubectl would misread.
func simplify(s *schema.Schema) {
	if s.Limits != nil {
		limits := *s.Limits
		limits.AllOf, limits.AnyOf, limits.OneOf, limits.Not = nil, nil, nil, nil
		s.Limits = &limits
	}
	if s.Nullable || s.PreserveUnknown {
		s.Items, s.Properties = nil, nil
	}
	if s.Nullable || s.Type == schema.Array && s.Items == nil || s.Type == schema.Object && s.PreserveUnknown {
		s.Type, s.Nullable = "", false
	}
	for name, p := range s.Properties {
		if p.Nullable {
			s.Required = slices.DeleteFunc(slices.Clone(s.Required), func(r string) bool { return r == name })
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Nullable {
		s.Required = nil
	}
}
