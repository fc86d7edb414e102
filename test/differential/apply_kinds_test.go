package differential

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// shapeNode is the schema of a place in an object. Objects are made up from it, and both sides get
// it as OpenAPI.
type shapeNode struct {
	typ      string // of OpenAPI; "" is any value
	fields   map[string]*shapeNode
	elem     *shapeNode // of a list or map
	listType string
	keys     []string
	byDef    string // the default
	preserve bool
	intOr    bool
	// flips has true for each generation of the schema in which the list or object is atomic,
	// although it is granular in others.
	flips [generations]bool
}

// generations is the number of schemas that a kind has one after another.
const generations = 3

// shapeNames are the names of made-up fields and entries. Few names make many overlaps.
var shapeNames = []string{"a", "b", "c", "d"}

// makeShape makes up a schema.
func makeShape(r *rand.Rand, depth int) *shapeNode {
	n := &shapeNode{typ: pick(r, "string", "string", "integer", "boolean", "object", "object", "array", "array", "array", "map", "map", "")}
	if depth == 0 && (n.typ == "object" || n.typ == "array" || n.typ == "map") {
		n.typ = pick(r, "string", "integer")
	}
	for i := range n.flips {
		n.flips[i] = r.IntN(5) == 0
	}
	if r.IntN(3) > 0 { // mostly schemas do not change
		n.flips[1], n.flips[2] = n.flips[0], n.flips[0]
	}
	switch n.typ {
	case "object":
		n.fields = map[string]*shapeNode{}
		for _, name := range shapeNames {
			if r.IntN(3) > 0 {
				n.fields[name] = makeShape(r, depth-1)
			}
		}
		n.preserve = r.IntN(8) == 0
	case "map":
		n.typ = "object"
		n.elem = makeShape(r, depth-1)
	case "array":
		switch n.listType = pick(r, "", "atomic", "set", "map", "map", "map"); n.listType {
		case "set":
			n.elem = &shapeNode{typ: pick(r, "string", "integer")}
		case "map":
			n.elem = makeShape(r, 1)
			n.elem.typ, n.elem.elem, n.elem.listType, n.elem.keys, n.elem.preserve = "object", nil, "", nil, false
			if n.elem.fields == nil {
				n.elem.fields = map[string]*shapeNode{"a": makeShape(r, depth-1), "b": makeShape(r, 0)}
			}
			n.keys = []string{"name"}
			n.elem.fields["name"] = &shapeNode{typ: "string"}
			if r.IntN(3) == 0 {
				n.keys = []string{"name", "port"}
				n.elem.fields["port"] = &shapeNode{typ: pick(r, "integer", "string")}
			}
			if r.IntN(4) == 0 {
				n.keys = append(n.keys, "proto")
				n.elem.fields["proto"] = &shapeNode{typ: "string", byDef: "TCP"}
			}
		default:
			n.elem = makeShape(r, depth-1)
		}
	case "string":
		n.intOr = r.IntN(10) == 0
	}
	return n
}

// openAPI writes the schema in a generation.
func (n *shapeNode) openAPI(generation int) map[string]any {
	out := map[string]any{}
	switch {
	case n.intOr:
		out["x-kubernetes-int-or-string"] = true
	case n.typ != "":
		out["type"] = n.typ
	default:
		out["x-kubernetes-preserve-unknown-fields"] = true
	}
	if n.byDef != "" {
		out["default"] = n.byDef
	}
	if n.preserve {
		out["x-kubernetes-preserve-unknown-fields"] = true
	}
	if n.fields != nil {
		properties := map[string]any{}
		for name, field := range n.fields {
			properties[name] = field.openAPI(generation)
		}
		out["properties"] = properties
	}
	flip := n.flips[generation]
	switch {
	case n.typ == "object" && flip:
		out["x-kubernetes-map-type"] = "atomic"
	case n.typ == "array" && flip && n.listType != "":
		out["x-kubernetes-list-type"] = "atomic"
	case n.listType != "":
		out["x-kubernetes-list-type"] = n.listType
		if n.listType == "map" {
			out["x-kubernetes-list-map-keys"] = anys(n.keys)
		}
	}
	if n.elem != nil {
		where := "additionalProperties"
		if n.typ == "array" {
			where = "items"
		}
		out[where] = n.elem.openAPI(generation)
	}
	return out
}

// renamed returns the schema of an object with other names for its fields.
func (n *shapeNode) renamed(suffix string) *shapeNode {
	out := *n
	out.fields = map[string]*shapeNode{}
	for name, field := range n.fields {
		out.fields[name+suffix] = field
	}
	return &out
}

// definitions are the schemas of the built-in kinds that this test writes, and of the types that
// they use, as kube-apiserver makes them.
var definitions = sync.OnceValue(func() map[string]*spec.Schema {
	config := &common.OpenAPIV3Config{
		Info: &spec.Info{},
		Definitions: openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
			return spec.MustCreateRef("#/components/schemas/" + name)
		}),
		GetDefinitionName: func(name string) (string, spec.Extensions) { return name, nil },
	}
	return must1(builder3.BuildOpenAPIDefinitionsForResources(config, objectMeta, "io.k8s.api.core.v1.ConfigMap", "io.k8s.api.core.v1.Pod",
		"io.k8s.api.core.v1.Service", "io.k8s.api.apps.v1.Deployment"))
})

// objectMeta is the name of the schema of metadata.
var objectMeta = metav1.ObjectMeta{}.OpenAPIModelName()

// metaDefinitions are the definitions that metadata needs.
var metaDefinitions = sync.OnceValue(func() map[string]*spec.Schema {
	out := map[string]*spec.Schema{}
	var add func(name string)
	add = func(name string) {
		if out[name] != nil {
			return
		}
		out[name] = definitions()[name]
		text, _ := json.Marshal(out[name])
		for _, part := range strings.Split(string(text), `"$ref":"#/components/schemas/`)[1:] {
			ref, _, _ := strings.Cut(part, `"`)
			add(ref)
		}
	}
	add(objectMeta)
	return out
})

// readShape makes a shapeNode of a definition.
func readShape(name string, known map[string]*shapeNode) *shapeNode {
	if n := known[name]; n != nil {
		return n
	}
	n := &shapeNode{}
	known[name] = n
	fillShape(n, definitions()[name], known)
	return n
}

func fillShape(n *shapeNode, s *spec.Schema, known map[string]*shapeNode) {
	child := func(s *spec.Schema) *shapeNode {
		ref := s.Ref.String()
		if ref == "" && len(s.AllOf) == 1 {
			ref = s.AllOf[0].Ref.String()
		}
		if ref != "" {
			return readShape(strings.TrimPrefix(ref, "#/components/schemas/"), known)
		}
		c := &shapeNode{}
		fillShape(c, s, known)
		return c
	}
	if len(s.Type) > 0 {
		n.typ = s.Type[0]
	}
	n.listType, _ = s.Extensions.GetString("x-kubernetes-list-type")
	n.keys, _ = s.Extensions.GetStringSlice("x-kubernetes-list-map-keys")
	for name := range s.Properties {
		if n.fields == nil {
			n.fields = map[string]*shapeNode{}
		}
		field := s.Properties[name]
		n.fields[name] = child(&field)
	}
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		n.elem = child(s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		n.elem = child(s.AdditionalProperties.Schema)
	}
	if n.listType == "" && n.typ == "array" {
		if strategy, _ := s.Extensions.GetString("x-kubernetes-patch-strategy"); strings.HasPrefix(strategy, "merge") {
			n.listType = "set"
			if key, ok := s.Extensions.GetString("x-kubernetes-patch-merge-key"); ok {
				n.listType, n.keys = "map", []string{key}
			}
		}
	}
}

// treeMaker makes up objects by their schemas.
type treeMaker struct {
	*rand.Rand
	wrong int // one of this many values has a wrong type; 0: none has
	odd   int // one of this many elements of lists lacks a key, and as many repeat another element
	depth int // levels of objects
}

// value makes up a value.
func (g *treeMaker) value(n *shapeNode, depth int) any {
	if g.wrong > 0 && g.IntN(g.wrong) == 0 {
		return g.any(1)
	}
	if n.intOr && g.IntN(2) == 0 {
		return int64(g.IntN(3))
	}
	switch n.typ {
	case "string":
		return pick(g.Rand, "", "x", "x", "y", "y", "z")
	case "integer", "number":
		return int64(g.IntN(4))
	case "boolean":
		return g.IntN(2) == 0
	case "object":
		return g.object(n, depth)
	case "array":
		list := []any{}
		if depth > 0 {
			for range g.IntN(4) {
				list = g.add(n, list, depth)
			}
		}
		return list
	}
	return g.any(2)
}

func (g *treeMaker) object(n *shapeNode, depth int) map[string]any {
	out := map[string]any{}
	if depth <= 0 {
		return out
	}
	for _, name := range sortedNames(n.fields) {
		if len(n.fields) < 8 && g.IntN(2) == 0 || g.IntN(len(n.fields)+1) < 4 {
			out[name] = g.value(n.fields[name], depth-1)
		}
	}
	if n.elem != nil || n.preserve {
		for range g.IntN(4) {
			name := pick(g.Rand, "k", "l", "m", "n")
			if n.elem != nil {
				out[name] = g.value(n.elem, depth-1)
			} else {
				out[name] = g.any(2)
			}
		}
	}
	return out
}

// add appends an element to a list. If the list must not repeat it and has it already, add mostly
// does not.
func (g *treeMaker) add(n *shapeNode, list []any, depth int) []any {
	e := g.value(n.elem, depth-1)
	if n.listType == "map" {
		object, ok := e.(map[string]any)
		if !ok {
			return append(list, e)
		}
		for _, key := range n.keys {
			if k := n.elem.fields[key]; k == nil || k.byDef == "" || g.IntN(2) == 0 {
				object[key] = pick(g.Rand, "x", "y", "z")
				if k != nil && k.typ == "integer" {
					object[key] = int64(g.IntN(3))
				}
			}
			if g.IntN(g.odd) == 0 {
				delete(object, key)
			}
		}
	}
	if g.IntN(g.odd) > 0 {
		same := func(other any) bool { return string(identity(n, e)) == string(identity(n, other)) }
		if (n.listType == "map" || n.listType == "set") && slices.ContainsFunc(list, same) {
			return list
		}
	}
	return append(slices.Clip(list), e)
}

// identity is the part of an element that must be unique in its list.
func identity(n *shapeNode, e any) []byte {
	object, ok := e.(map[string]any)
	if n.listType != "map" || !ok {
		return encode(e)
	}
	keys := map[string]any{}
	for _, key := range n.keys {
		keys[key] = object[key]
		if field := n.elem.fields[key]; object[key] == nil && field != nil && field.byDef != "" {
			keys[key] = field.byDef
		}
	}
	return encode(keys)
}

// any makes up a value of any type.
func (g *treeMaker) any(depth int) any {
	switch c := g.IntN(9); {
	case c == 0:
		return nil
	case c < 3:
		return pick(g.Rand, "x", "y")
	case c == 3:
		return int64(g.IntN(3))
	case c == 4:
		return 1.5
	case c == 5:
		return true
	case depth > 0 && c == 6:
		return []any{g.any(depth - 1), g.any(depth - 1)}
	case depth > 0:
		return map[string]any{"p": g.any(depth - 1), "q": g.any(depth - 1)}
	}
	return "x"
}

// mutate returns a value with some change in it.
func (g *treeMaker) mutate(n *shapeNode, v any, depth int) any {
	if depth <= 0 || g.IntN(8) == 0 {
		return g.value(n, depth)
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			out[name] = value
		}
		names := sortedNames(n.fields)
		if n.elem != nil && n.typ == "object" {
			names = append(names, "k", "l", "m", "n")
		}
		if len(names) == 0 {
			return g.value(n, depth)
		}
		for range 1 + g.IntN(2) {
			name := pick(g.Rand, names...)
			if had := sortedNames(v); len(had) > 0 && g.IntN(2) == 0 {
				name = pick(g.Rand, had...)
			}
			field := n.fields[name]
			if field == nil {
				field = n.elem
			}
			if field == nil || n.typ != "object" {
				field = &shapeNode{}
			}
			switch old, ok := out[name]; {
			case ok && g.IntN(3) == 0:
				delete(out, name)
			case ok:
				out[name] = g.mutate(field, old, depth-1)
			default:
				out[name] = g.value(field, depth-1)
			}
		}
		return out
	case []any:
		if n.elem == nil || n.typ != "array" {
			break
		}
		out := slices.Clone(v)
		switch i := g.IntN(len(out) + 1); {
		case i == len(out):
			out = g.add(n, out, depth)
		case g.IntN(3) == 0:
			out = slices.Delete(out, i, i+1)
		case g.IntN(5) == 0:
			g.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		default:
			was := out[i]
			out[i] = g.mutate(n.elem, out[i], depth-1)
			keepKeys(n, was, out[i])
		}
		return out
	}
	return g.value(n, depth)
}

// keepKeys gives a changed element of a list the keys that it had.
func keepKeys(n *shapeNode, was, is any) {
	from, ok := was.(map[string]any)
	to, ok2 := is.(map[string]any)
	if n.listType != "map" || !ok || !ok2 {
		return
	}
	for _, key := range n.keys {
		delete(to, key)
		if v, ok := from[key]; ok {
			to[key] = v
		}
	}
}

// some returns a part of a value.
func (g *treeMaker) some(n *shapeNode, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range sortedNames(v) {
			if g.IntN(3) == 0 {
				continue
			}
			field := n.fields[name]
			if field == nil {
				field = n.elem
			}
			if field == nil {
				field = &shapeNode{}
			}
			out[name] = g.some(field, v[name])
		}
		return out
	case []any:
		if n.listType != "map" && n.listType != "set" {
			return v
		}
		out := []any{}
		for _, e := range v {
			if g.IntN(3) > 0 {
				part := g.some(n.elem, e)
				keepKeys(n, e, part)
				out = append(out, part)
			}
		}
		return out
	}
	return v
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}
