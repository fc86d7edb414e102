package differential

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/apply"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

const (
	applySchemas    = 400 // that are made up
	applyWalks      = 150 // of each
	applyModelWalks = 60  // of each model of a built-in kind
)

// bothTypes is a type as structured-merge-diff and Coracle have it.
type bothTypes struct {
	theirs typed.ParseableType
	ours   *schema.Schema
}

// TestApplyWalk makes up schemas of custom resources and objects, and has both sides check, compare and merge these, and so on.
// Their schema comes from the same text by the way that it takes in kube-apiserver.
func TestApplyWalk(t *testing.T) {
	for i := range times(applySchemas) {
		r := random("apply walk", i)
		text := encode2(kindSchema(r))
		b := bothTypes{theirCustomType(t, text), ourCustomType(t, text)}
		other := encode2(kindSchema(r))
		changed := bothTypes{theirCustomType(t, other), ourCustomType(t, other)}
		for range applyWalks {
			walkBoth(t, r, b, changed)
			if t.Failed() {
				t.Fatalf("schema %d: %s\nchanged: %s", i, text, other)
			}
		}
	}
}

// TestApplyModels is TestApplyWalk for every model of the built-in kinds: its schema means to Coracle what it means to Kubernetes.
func TestApplyModels(t *testing.T) {
	models := ourModels()
	parser := typed.Parser{Schema: smd.Schema{Types: theirModels(t, models).Types}}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		b := bothTypes{parser.Type(name), models[name]}
		if _, ok := parser.Schema.FindNamedType(name); !ok {
			t.Errorf("Kubernetes has no model %s", name)
			continue
		}
		if strings.HasPrefix(name, "io.k8s.apimachinery.pkg.apis.meta.v1.Table") {
			continue // is never written. Kubernetes takes its cells for objects
		}
		t.Run(name, func(t *testing.T) {
			r := random("apply model", name)
			probe(t, r, b)
			for i := 0; i < times(applyModelWalks) && !t.Failed(); i++ {
				walkBoth(t, r, b, b)
			}
		})
	}
}

// theirModels are those models of Kubernetes that Coracle has, and what they use, made as kube-apiserver makes them.
func theirModels(t *testing.T, models map[string]*schema.Schema) *smd.Schema {
	t.Helper()
	ref := func(name string) spec.Ref { return spec.MustCreateRef("#/components/schemas/" + name) }
	definitions := openapi.GetOpenAPIDefinitions(ref)
	config := &common.OpenAPIV3Config{
		Info: &spec.Info{}, Definitions: definitions,
		GetDefinitionName: func(name string) (string, spec.Extensions) { return name, nil },
	}
	var names []string
	for name := range models {
		if _, ok := definitions[name]; ok {
			names = append(names, name)
		}
	}
	specs, err := builder3.BuildOpenAPIDefinitionsForResources(config, names...)
	if err != nil {
		t.Fatal(err)
	}
	made, err := schemaconv.ToSchemaFromOpenAPI(specs, false)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// ourModels are the models that Coracle's kinds reach.
func ourModels() map[string]*schema.Schema {
	s := scheme.New()
	api.AddToScheme(s)
	models := map[string]*schema.Schema{}
	var add func(s *schema.Schema)
	add = func(s *schema.Schema) {
		if s == nil || models[s.Name] == s {
			return
		}
		if s.Name != "" {
			models[s.Name] = s
		}
		add(s.Model)
		add(s.Items)
		add(s.AdditionalProperties)
		for _, p := range s.Properties {
			add(p)
		}
	}
	var compiler schema.Compiler
	for _, gvk := range s.AllKinds() {
		if typ := s.Type(gvk); typ != nil {
			add(compiler.Type(typ))
		}
	}
	return models
}

// probe sets each field of a model to values of each sort.
func probe(t *testing.T, r *rand.Rand, b bothTypes) {
	t.Helper()
	fields := map[string]bool{"unknown": true}
	for name := range b.ours.Properties {
		fields[name] = true
	}
	if atom, _ := b.theirs.Schema.Resolve(b.theirs.TypeRef); atom.Map != nil {
		for _, f := range atom.Map.Fields {
			if !fields[f.Name] {
				t.Errorf("Coracle has no field %s", f.Name)
			}
		}
	}
	probes := []any{
		nil, "text", int64(1), 1.5, true, []any{}, []any{"a", "b"}, []any{int64(1)}, []any{nil}, []any{[]any{}}, []any{map[string]any{"unknown": "a"}}, []any{map[string]any{}},
		[]any{map[string]any{"name": "a", "port": int64(1), "containerPort": int64(1), "type": "a", "uid": "a", "key": "a", "ip": "a", "mountPath": "a", "devicePath": "a", "topologyKey": "a"}},
		map[string]any{}, map[string]any{"unknown": "a"}, map[string]any{"unknown": []any{"a"}}, map[string]any{"unknown": map[string]any{"a": "b"}},
	}
	for _, v := range probes {
		same1(t, r, b, v)
		for name := range fields {
			same1(t, r, b, map[string]any{name: v})
			same1(t, r, b, map[string]any{name: map[string]any{"a": v}})
			same1(t, r, b, map[string]any{name: []any{v}})
			if t.Failed() {
				t.Fatalf("field %s", name)
			}
		}
	}
}

// same1 compares what both sides say of one tree, and reports whether it is right by both.
func same1(t *testing.T, r *rand.Rand, b bothTypes, tree any) (*typed.TypedValue, bool) {
	t.Helper()
	ok := false
	var theirs *typed.TypedValue
	for _, repeats := range []bool{false, true} {
		var options []typed.ValidationOptions
		if repeats {
			options = append(options, typed.AllowDuplicates)
		}
		v, err := typed.AsTyped(value.NewValueInterface(clone(tree)), b.theirs.Schema, b.theirs.TypeRef, options...)
		ours := apply.Check(lazy(r, tree), b.ours, repeats)
		sameError(t, fmt.Sprintf("Check, repeats %v", repeats), tree, err, ours)
		ok, theirs = err == nil, v
	}
	if !ok || t.Failed() {
		return nil, false
	}
	fields, err := theirs.ToFieldSet()
	if err != nil {
		t.Fatalf("Kubernetes finds no fields: %v of %s", err, encode2(tree))
	}
	ours, err := apply.FieldsOf(lazy(r, tree), b.ours)
	if err != nil {
		t.Errorf("FieldsOf: %v", err)
	}
	sameSet(t, "FieldsOf "+encode2(tree), fields, ours)
	return theirs, !t.Failed()
}

// walkBoth makes up two objects and a set of fields, and compares everything that can be done with them.
func walkBoth(t *testing.T, r *rand.Rand, b, changed bothTypes) {
	t.Helper()
	live := made(r, b.theirs.Schema, b.theirs.TypeRef, 5)
	config := mixed(r, live, made(r, b.theirs.Schema, b.theirs.TypeRef, 5))
	theirLive, ok := same1(t, r, b, live)
	theirConfig, ok2 := same1(t, r, b, config)
	if !ok || !ok2 {
		return
	}
	before := encode2(live) + encode2(config)
	what := fmt.Sprintf("%s and %s", encode2(live), encode2(config))
	want, err := theirLive.Compare(theirConfig)
	got, ourErr := apply.Compare(lazy(r, live), lazy(r, config), b.ours)
	if err != nil || ourErr != nil {
		t.Errorf("Compare: Kubernetes %v, Coracle %v: %s", err, ourErr, what)
		return
	}
	sameSet(t, "Added, "+what, want.Added, got.Added)
	sameSet(t, "Modified, "+what, want.Modified, got.Modified)
	sameSet(t, "Removed, "+what, want.Removed, got.Removed)

	if apply.Check(config, b.ours, false) == nil {
		merged, err := theirLive.Merge(theirConfig)
		ourMerged, ourErr := apply.Merge(lazy(r, live), lazy(r, config), b.ours)
		if sameError(t, "Merge", what, err, ourErr); err == nil {
			sameTree(t, "Merge, "+what, merged.AsValue().Unstructured(), ourMerged)
		}
	}

	a, _ := theirLive.ToFieldSet()
	c, _ := theirConfig.ToFieldSet()
	theirs, ours := someOf(t, r, a.Union(c))
	what = fmt.Sprintf("%s of %s", theirs, encode2(live))
	sameTree(t, "Remove "+what, theirLive.RemoveItems(theirs).AsValue().Unstructured(), apply.Remove(lazy(r, live), ours, b.ours))
	sameTree(t, "Extract "+what, theirLive.ExtractItems(theirs).AsValue().Unstructured(), apply.Extract(lazy(r, live), ours, b.ours))

	if r.IntN(3) == 0 {
		theirs, ours = bothSets(t, fieldsText(r, 4))
	}
	empty := typed.AsTypedUnvalidated(value.NewValueInterface(nil), changed.theirs.Schema, changed.theirs.TypeRef)
	reconciled, err := typed.ReconcileFieldSetWithSchema(theirs, empty)
	if reconciled == nil {
		reconciled = theirs
	}
	ourReconciled, ourErr := apply.Reconcile(ours, changed.ours)
	if err != nil || ourErr != nil {
		t.Errorf("Reconcile: Kubernetes %v, Coracle %v", err, ourErr)
		return
	}
	sameSet(t, "Reconcile "+theirs.String(), reconciled, ourReconciled)
	if after := encode2(live) + encode2(config); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

// sameError compares what is wrong by both sides. In which order they look at fields, and so which unknown one is found, is
// chance with Kubernetes.
func sameError(t *testing.T, what string, of any, theirs, ours error) {
	t.Helper()
	if (theirs == nil) != (ours == nil) {
		t.Errorf("%s: Kubernetes says %v, Coracle %v, of %v", what, theirs, ours, of)
		return
	}
	const undeclared = "field not declared in schema"
	if theirs == nil || strings.Contains(theirs.Error(), undeclared) && strings.Contains(ours.Error(), undeclared) {
		return
	}
	if letters(theirs.Error()) != letters(ours.Error()) {
		t.Errorf("%s:\nKubernetes: %v\nCoracle:    %v\nof %v", what, theirs, ours, of)
	}
}

func sameTree(t *testing.T, what string, theirs, ours any) {
	t.Helper()
	text, err := jsontext.AppendTree(nil, ours, jsontext.Plain)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := jsontext.Decode(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := encode2(tree), encode2(theirs); got != want {
		t.Errorf("%s:\nKubernetes: %s\nCoracle:    %s", what, want, got)
	}
}

// someOf returns some fields of a set, as both sides have them.
func someOf(t *testing.T, r *rand.Rand, of *fieldpath.Set) (*fieldpath.Set, *apply.Set) {
	t.Helper()
	some := &fieldpath.Set{}
	rate := pick(r, 2, 3, 8)
	of.Iterate(func(p fieldpath.Path) {
		if r.IntN(rate) == 0 {
			some.Insert(p.Copy())
		}
	})
	text, err := some.ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	return bothSets(t, string(text))
}

// kindSchema makes up the schema of a kind.
func kindSchema(r *rand.Rand) map[string]any {
	s := map[string]any{"type": "object", "properties": map[string]any{
		"spec": valueSchema(r, 4, false), "status": valueSchema(r, 3, false), "a": valueSchema(r, 2, false),
	}}
	if r.IntN(6) == 0 {
		s["x-kubernetes-preserve-unknown-fields"] = true
	}
	return s
}

// valueSchema makes up the schema of a value.
func valueSchema(r *rand.Rand, depth int, key bool) map[string]any {
	s := map[string]any{}
	choice := r.IntN(14)
	if depth == 0 || key {
		choice = 8 + r.IntN(6)
	}
	switch choice {
	case 0, 1, 2, 3:
		s["type"] = "object"
		properties := map[string]any{}
		for range r.IntN(4) {
			properties[pick(r, "a", "b", "c", "d")] = valueSchema(r, depth-1, false)
		}
		if len(properties) > 0 || r.IntN(2) == 0 {
			s["properties"] = properties
		}
		if r.IntN(5) == 0 {
			s["x-kubernetes-preserve-unknown-fields"] = true
		}
		if r.IntN(8) == 0 {
			s["x-kubernetes-embedded-resource"] = true
			if len(properties) == 0 {
				s["x-kubernetes-preserve-unknown-fields"] = true
			}
		}
	case 4:
		s["type"] = "object"
		s["additionalProperties"] = valueSchema(r, depth-1, false)
		if r.IntN(8) == 0 {
			s["additionalProperties"] = true
		}
	case 5, 6, 7:
		listSchema(r, s, depth)
	case 8:
		s["x-kubernetes-preserve-unknown-fields"] = true
	case 9:
		s["x-kubernetes-int-or-string"] = true
	default:
		s["type"] = pick(r, "string", "string", "integer", "number", "boolean")
		if r.IntN(6) == 0 {
			s["format"] = pick(r, "date-time", "byte", "int64")
		}
	}
	if s["type"] == "object" && r.IntN(5) == 0 {
		s["x-kubernetes-map-type"] = pick(r, "atomic", "granular")
	}
	if r.IntN(6) == 0 {
		s["nullable"] = true
	}
	return s
}

func listSchema(r *rand.Rand, s map[string]any, depth int) {
	s["type"] = "array"
	switch r.IntN(5) {
	case 0:
		s["items"] = valueSchema(r, depth-1, false)
	case 1:
		s["items"] = valueSchema(r, depth-1, false)
		s["x-kubernetes-list-type"] = "atomic"
	case 2:
		items := valueSchema(r, depth-1, true)
		delete(items, "nullable")
		s["items"] = items
		s["x-kubernetes-list-type"] = "set"
	default:
		items := map[string]any{"type": "object"}
		properties := map[string]any{"a": valueSchema(r, depth-1, true), "b": valueSchema(r, depth-1, true)}
		delete(properties["a"].(map[string]any), "nullable")
		delete(properties["b"].(map[string]any), "nullable")
		for range r.IntN(3) {
			properties[pick(r, "c", "d")] = valueSchema(r, depth-1, false)
		}
		items["properties"] = properties
		s["items"] = items
		s["x-kubernetes-list-type"] = "map"
		s["x-kubernetes-list-map-keys"] = pick(r, []any{"a"}, []any{"a", "b"}, []any{"b", "a"})
		if b := properties["b"].(map[string]any); r.IntN(2) == 0 && b["type"] == "string" && b["format"] == nil {
			b["default"] = "TCP"
		} else if b["type"] == "integer" && r.IntN(2) == 0 {
			b["default"] = int64(80)
		}
	}
}

// theirCustomType has Kubernetes make a type of the schema of a custom resource.
func theirCustomType(t *testing.T, text string) typed.ParseableType {
	t.Helper()
	var props apiextensions.JSONSchemaProps
	if err := json.Unmarshal([]byte(text), &props); err != nil {
		t.Fatal(err)
	}
	crd := &apiextensions.CustomResourceDefinition{}
	crd.Spec.Group = "example.com"
	crd.Spec.Names = apiextensions.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget", ListKind: "WidgetList"}
	crd.Spec.Versions = []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &props}}}
	doc, err := builder.BuildOpenAPIV3(crd, "v1", builder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Components.Schemas["com.example.v1.Widget"].Properties) < 4 {
		t.Fatalf("not structural: %s", text)
	}
	models, err := schemaconv.ToSchemaFromOpenAPI(doc.Components.Schemas, false)
	if err != nil {
		t.Fatal(err)
	}
	parser := typed.Parser{Schema: smd.Schema{Types: models.Types}}
	return parser.Type("com.example.v1.Widget")
}

func ourCustomType(t *testing.T, text string) *schema.Schema {
	t.Helper()
	s, errs := schema.Parse(nil, []byte(text))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return s
}

// made makes up a value of a type: mostly one that fits.
func made(r *rand.Rand, s *smd.Schema, ref smd.TypeRef, depth int) any {
	atom, _ := s.Resolve(ref)
	switch r.IntN(300) {
	case 0:
		return pick[any](r, "a", int64(1), true, []any{}, []any{"a"}, []any{nil}, map[string]any{}, map[string]any{"a": "a"}, map[string]any{"a": map[string]any{"b": "c"}})
	case 1, 2, 3, 4, 5, 6:
		return nil
	}
	var choices []any
	if atom.Map != nil {
		choices = append(choices, atom.Map)
	}
	if atom.List != nil {
		choices = append(choices, atom.List)
	}
	if atom.Scalar != nil {
		choices = append(choices, atom.Scalar)
	}
	if len(choices) == 0 {
		return "x"
	}
	switch c := choices[r.IntN(len(choices))].(type) {
	case *smd.Map:
		return madeMap(r, s, c, depth)
	case *smd.List:
		list := []any{}
		for range pick(r, 0, 1, 2, 3, 4) {
			if depth > 0 {
				list = append(list, made(r, s, c.ElementType, depth-1))
			}
		}
		return list
	case *smd.Scalar:
		return madeScalar(r, *c)
	}
	return nil
}

func madeMap(r *rand.Rand, s *smd.Schema, m *smd.Map, depth int) any {
	out := map[string]any{}
	if depth <= 0 {
		return out
	}
	rate := 2
	if len(m.Fields) > 8 {
		rate = len(m.Fields) / 4
	}
	for _, f := range m.Fields {
		if r.IntN(rate) != 0 || rate == 2 && r.IntN(3) == 0 {
			continue
		}
		out[f.Name] = made(r, s, f.Type, depth-1)
	}
	if (m.ElementType != smd.TypeRef{}) {
		for range r.IntN(4) {
			if name := pick(r, "a", "b", "c", "d", "x.y/z"); out[name] == nil {
				if _, ok := m.FindField(name); !ok {
					out[name] = made(r, s, m.ElementType, depth-1)
				}
			}
		}
	} else if r.IntN(400) == 0 {
		out["unknown"] = "a"
	}
	return out
}

func madeScalar(r *rand.Rand, s smd.Scalar) any {
	switch s {
	case smd.Numeric:
		return pick[any](r, int64(0), int64(1), int64(2), int64(80), 1.5, int64(1)<<60, 2.0)
	case smd.Boolean:
		return r.IntN(2) == 0
	case smd.String:
		return pick(r, "a", "b", "c", "", "<é\n>", "TCP")
	}
	return pick[any](r, "a", "b", "1Gi", int64(1), 1.0, 2.5, true, "2020-01-01T00:00:00Z")
}

// mixed returns a tree with parts of two.
func mixed(r *rand.Rand, a, b any) any {
	switch x := a.(type) {
	case map[string]any:
		y, _ := b.(map[string]any)
		out := map[string]any{}
		for _, k := range jsontext.Keys(x) {
			if v, ok := y[k]; ok {
				out[k] = mixed(r, x[k], v)
			} else if r.IntN(4) > 0 {
				out[k] = clone(x[k])
			}
		}
		for _, k := range jsontext.Keys(y) {
			if _, ok := x[k]; !ok && r.IntN(2) == 0 {
				out[k] = clone(y[k])
			}
		}
		return out
	case []any:
		y, _ := b.([]any)
		out := []any{}
		for _, v := range x {
			if r.IntN(4) > 0 {
				out = append(out, clone(v))
			}
		}
		for i, v := range y {
			if i < len(x) && r.IntN(2) == 0 {
				out = append(out, mixed(r, x[i], v))
			} else if r.IntN(3) == 0 {
				out = append(out, clone(v))
			}
		}
		if r.IntN(3) == 0 {
			r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		return out
	}
	if r.IntN(4) == 0 {
		return clone(b)
	}
	return a
}

// clone copies a tree.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	}
	return v
}

// lazy returns a copy of a tree in which some values are text.
func lazy(r *rand.Rand, v any) any {
	switch r.IntN(5) {
	case 0:
		if v != nil {
			return jsontext.Raw(appendShuffled(nil, r, v))
		}
	case 1:
		return clone(v)
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range jsontext.Keys(v) {
			out[k] = lazy(r, v[k])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = lazy(r, e)
		}
		return out
	}
	return v
}

// appendShuffled appends the text of a tree: fields in any order, maybe with white space.
func appendShuffled(dst []byte, r *rand.Rand, v any) []byte {
	space := func() {
		if r.IntN(10) == 0 {
			dst = append(dst, ' ')
		}
	}
	switch v := v.(type) {
	case map[string]any:
		dst = append(dst, '{')
		keys := jsontext.Keys(v)
		if r.IntN(2) == 0 {
			r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		}
		for i, k := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			space()
			dst = append(jsontext.AppendString(dst, k, jsontext.HTML), ':')
			space()
			dst = appendShuffled(dst, r, v[k])
		}
		space()
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			space()
			dst = appendShuffled(dst, r, e)
		}
		space()
		return append(dst, ']')
	}
	dst, _ = jsontext.AppendTree(dst, v, pick(r, jsontext.HTML, jsontext.Plain))
	return dst
}

// encode2 is the text of a tree.
func encode2(v any) string {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}
