package differential

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// managerWorld is a kind, in two versions if it is made up.
type managerWorld struct {
	name    string
	group   string
	kind    string
	shapes  map[string]*shapeNode // by version
	theirs  func(w *managerWorld, generation int, second bool) managedfields.TypeConverter
	ours    func(w *managerWorld, version string, generation int) *schema.Schema
	renamed bool // fields of the second version have other names
}

// makeWorld makes up a kind, or takes one of Kubernetes'.
func makeWorld(r *rand.Rand, i int) *managerWorld {
	if i%8 == 7 {
		return builtinWorlds[r.IntN(len(builtinWorlds))]
	}
	spec, status := makeShape(r, 4), makeShape(r, 2)
	for _, n := range []*shapeNode{spec, status} {
		if n.typ != "object" || n.fields == nil {
			*n = shapeNode{typ: "object", fields: map[string]*shapeNode{}}
		}
		for _, name := range shapeNames {
			if n.fields[name] == nil {
				n.fields[name] = makeShape(r, 3)
			}
		}
		n.flips, n.preserve = [generations]bool{}, false
	}
	w := &managerWorld{name: "made up", group: "test.dev", kind: "Thing", theirs: madeUpTheirs, ours: madeUpOurs, renamed: true}
	w.shapes = map[string]*shapeNode{
		"v1": {typ: "object", fields: map[string]*shapeNode{"spec": spec, "status": status}},
		"v2": {typ: "object", fields: map[string]*shapeNode{"spec": spec.renamed("2"), "status": status}},
	}
	return w
}

func madeUpTheirs(w *managerWorld, generation int, second bool) managedfields.TypeConverter {
	models := maps.Clone(metaDefinitions())
	for _, version := range []string{"v1", "v2"} {
		if version == "v2" && !second {
			continue
		}
		api := w.shapes[version].openAPI(generation)
		properties := api["properties"].(map[string]any)
		properties["apiVersion"] = map[string]any{"type": "string"}
		properties["kind"] = map[string]any{"type": "string"}
		properties["metadata"] = map[string]any{"$ref": "#/components/schemas/" + objectMeta}
		api["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": w.group, "version": version, "kind": w.kind}}
		s := &spec.Schema{}
		must(json.Unmarshal(encode(api), s))
		models["dev.test."+version+".Thing"] = s
	}
	return must1(managedfields.NewTypeConverter(models, false))
}

func madeUpOurs(w *managerWorld, version string, generation int) *schema.Schema {
	s, errs := schema.Parse(field.NewPath("schema"), encode(w.shapes[version].openAPI(generation)))
	if len(errs) > 0 {
		panic(errs.ToAggregate().Error())
	}
	return s
}

// builtinWorlds are kinds of Kubernetes.
var builtinWorlds = []*managerWorld{
	builtinWorld("", "ConfigMap", "io.k8s.api.core.v1.ConfigMap", typeinfo.For[corev1.ConfigMap]),
	builtinWorld("", "Pod", "io.k8s.api.core.v1.Pod", typeinfo.For[corev1.Pod]),
	builtinWorld("", "Service", "io.k8s.api.core.v1.Service", typeinfo.For[corev1.Service]),
	builtinWorld("apps", "Deployment", "io.k8s.api.apps.v1.Deployment", typeinfo.For[appsv1.Deployment]),
}

func builtinWorld(group, kind, name string, typ func() *typeinfo.Type) *managerWorld {
	w := &managerWorld{name: kind, group: group, kind: kind}
	known := map[string]*shapeNode{}
	w.shapes = map[string]*shapeNode{"v1": readShape(name, known)}
	var theirs managedfields.TypeConverter
	w.theirs = func(*managerWorld, int, bool) managedfields.TypeConverter {
		if theirs == nil {
			models := maps.Clone(definitions())
			s := *models[name]
			s.VendorExtensible.Extensions = maps.Clone(s.Extensions)
			s.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": group, "version": "v1", "kind": kind}})
			models[name] = &s
			theirs = must1(managedfields.NewTypeConverter(models, false))
		}
		return theirs
	}
	w.ours = func(*managerWorld, string, int) *schema.Schema { return schema.FromType(typ()) }
	return w
}

// apiVersion returns a version with its group.
func (w *managerWorld) apiVersion(version string) string {
	return kubeschema.GroupVersion{Group: w.group, Version: version}.String()
}

// moved returns a copy of an object in another version, which shares nothing with it.
func (w *managerWorld) moved(object map[string]any, version string) map[string]any {
	out := runtime.DeepCopyJSON(object)
	from := strings.TrimPrefix(object["apiVersion"].(string), w.group+"/")
	if from == version {
		return out
	}
	out["apiVersion"] = w.apiVersion(version)
	if spec, ok := out["spec"].(map[string]any); ok {
		renamed := map[string]any{}
		for name, v := range spec {
			if from == "v2" {
				name = strings.TrimSuffix(name, "2")
			} else {
				name += "2"
			}
			renamed[name] = v
		}
		out["spec"] = renamed
	}
	return out
}
