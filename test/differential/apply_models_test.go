package differential

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/schema"
)

// TestApplyModels is TestApplyWalk for every model of the built-in kinds.
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
			continue // clients never write a table; Kubernetes takes its cells for objects
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

// theirModels are Kubernetes' models that Coracle has, and the models that they use, made as
// kube-apiserver makes them.
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
	type object = map[string]any
	type list = []any
	probes := []any{
		nil, "text", int64(1), 1.5, true,
		list{}, list{"a", "b"}, list{int64(1)}, list{nil}, list{list{}}, list{object{"unknown": "a"}}, list{object{}},
		list{object{"name": "a", "port": int64(1), "containerPort": int64(1), "type": "a", "uid": "a", "key": "a", "ip": "a"}},
		object{}, object{"unknown": "a"}, object{"unknown": list{"a"}}, object{"unknown": object{"a": "b"}},
	}
	for _, v := range probes {
		judgeTree(t, r, b, v)
		for name := range fields {
			judgeTree(t, r, b, map[string]any{name: v})
			judgeTree(t, r, b, map[string]any{name: map[string]any{"a": v}})
			judgeTree(t, r, b, map[string]any{name: []any{v}})
			if t.Failed() {
				t.Fatalf("field %s", name)
			}
		}
	}
}
