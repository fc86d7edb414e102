package differential

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/coracle-project/coracle/scheme/apply"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// theirConverter converts for Kubernetes.
type theirConverter struct {
	runtime.ObjectConvertor
	run *managerRun
}

func (c theirConverter) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	gv := to.(kubeschema.GroupVersion)
	w := c.run.world
	if gv.Group != w.group || gv.Version != "v1" && (gv.Version != "v2" || !w.renamed || c.run.state.dropped == 1) {
		return nil, runtime.NewNotRegisteredErrForTarget("test", reflect.TypeOf(in).Elem(), to)
	}
	return &unstructured.Unstructured{Object: w.moved(in.(*unstructured.Unstructured).Object, gv.Version)}, nil
}

type theirCreater struct{}

func (theirCreater) New(kind kubeschema.GroupVersionKind) (runtime.Object, error) {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	out.SetGroupVersionKind(kind)
	return out, nil
}

type theirDefaulter struct{}

func (theirDefaulter) Default(runtime.Object) {}

// theirFilters and ourResets are the fields that the door of a subresource resets.
func theirFilters(w *managerWorld, sub string) map[fieldpath.APIVersion]fieldpath.Filter {
	out := map[fieldpath.APIVersion]fieldpath.Filter{}
	for _, version := range []string{"v1", "v2"} {
		var f fieldpath.Filter
		switch sub {
		case "":
			f = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie("status")))
		case "status":
			f = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("metadata", "labels")))
		default:
			continue
		}
		out[fieldpath.APIVersion(w.apiVersion(version))] = f
	}
	return out
}

func ourResets(w *managerWorld, sub string) map[string]*apply.Set {
	out := map[string]*apply.Set{}
	for _, version := range []string{"v1", "v2"} {
		switch sub {
		case "":
			out[w.apiVersion(version)] = apply.Fields("status")
		case "status":
			out[w.apiVersion(version)] = apply.Fields("spec", "metadata.labels")
		}
	}
	return out
}

// doTheirs takes a step in Kubernetes.
func (run *managerRun) doTheirs(step managerStep) outcome {
	w, s := run.world, &run.state
	kind := kubeschema.GroupVersionKind{Group: w.group, Version: step.Version, Kind: w.kind}
	m := must1(managedfields.NewDefaultFieldManager(s.converter, theirConverter{run: run}, theirDefaulter{}, theirCreater{}, kind,
		kubeschema.GroupVersion{Group: w.group, Version: "v1"}, step.Sub, theirFilters(w, step.Sub)))

	live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": w.apiVersion("v1"), "kind": w.kind}}
	if s.live != nil {
		live.Object = runtime.DeepCopyJSON(s.live)
		live.SetManagedFields(s.theirs)
	}
	var out runtime.Object
	var err error
	if step.Do == "apply" {
		config := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(step.Object)}
		out, err = m.Apply(live, config, step.Manager, step.Force)
	} else {
		obj := &unstructured.Unstructured{Object: w.moved(step.Object, "v1")}
		setManaged(obj.Object, step, live)
		out, err = m.Update(live, obj, step.Manager)
		if err != nil {
			obj.SetManagedFields(nil)
			out = obj
		}
	}
	o := outcome{err: err, update: step.Do != "apply"}
	if out != nil && (err == nil || o.update) {
		u := out.(*unstructured.Unstructured)
		o.theirs = u.GetManagedFields()
		u.SetManagedFields(nil)
		o.object = u.Object
	}
	return o
}

// setManaged gives obj the managedFields that the client sends.
func setManaged(obj map[string]any, step managerStep, live *unstructured.Unstructured) {
	managed := any(step.Managed)
	if step.Asis {
		managed = anysOf(live.GetManagedFields())
	}
	if managed.([]any) == nil {
		return
	}
	must(unstructured.SetNestedField(obj, runtime.DeepCopyJSONValue(plain(managed)), "metadata", "managedFields"))
}

// ourVersions converts for Coracle.
type ourVersions struct{ run *managerRun }

func (v ourVersions) short(apiVersion string) string {
	gv, _ := meta.ParseGroupVersion(apiVersion)
	if gv.Group != v.run.world.group {
		return ""
	}
	return gv.Version
}

func (v ourVersions) Schema(apiVersion string) *schema.Schema {
	return v.run.state.schemas[v.short(apiVersion)]
}

func (v ourVersions) Empty(apiVersion string) (any, error) {
	return map[string]any{"apiVersion": apiVersion, "kind": v.run.world.kind}, nil
}

func (v ourVersions) Convert(_ context.Context, in any, from, to string) (any, error) {
	if v.Schema(from) == nil || v.Schema(to) == nil {
		return nil, errors.New("conversion of what has no schema")
	}
	text := must1(jsontext.AppendTree(nil, in, jsontext.Plain))
	out := v.run.world.moved(must1(jsontext.Decode(text, nil)).(map[string]any), v.short(to))
	return lazyTree(encode(out)), nil
}

// lazyTree returns JSON as a tree. The length of the text decides whether all, one level or none of
// it is decoded.
func lazyTree(text []byte) any {
	switch raw := jsontext.RawOf(text); len(text) % 3 {
	case 0:
		return raw
	case 1:
		out, _ := raw.Look(0)
		return out
	}
	return must1(jsontext.Decode(text, nil))
}

// doOurs takes a step in Coracle.
func (run *managerRun) doOurs(step managerStep) outcome {
	w, s := run.world, &run.state
	d := &apply.Door{
		Versions:    ourVersions{run},
		Kind:        meta.GroupVersionKind{Group: w.group, Version: step.Version, Kind: w.kind},
		Subresource: step.Sub,
		ResetFields: ourResets(w, step.Sub),
	}
	by := apply.Writer{Manager: step.Manager, Now: time.Now()}
	live := apply.Object{Tree: must1(d.Versions.Empty(w.apiVersion(step.Version)))}
	if s.live != nil {
		live = apply.Object{Tree: lazyTree(encode(w.moved(s.live, step.Version))), Managed: s.ours, Stored: true}
	}
	if step.Do == "apply" {
		config := must1(jsontext.Decode(encode(step.Object), nil)).(map[string]any)
		applied, err := d.Apply(run.t.Context(), live, config, by, step.Force)
		if err != nil {
			return outcome{err: err}
		}
		out := applied.Tree
		if out == nil {
			out = live.Tree
		}
		text := must1(jsontext.AppendTree(nil, out, jsontext.Plain))
		object := w.moved(must1(jsontext.Decode(text, nil)).(map[string]any), "v1")
		return outcome{object: object, ours: applied.Managed}
	}

	obj := apply.Object{Tree: lazyTree(encode(step.Object))}
	switch {
	case step.Asis:
		obj.Managed = s.ours
	case step.Managed != nil:
		must(json.Unmarshal(encode(step.Managed), &obj.Managed))
	}
	entries, err := d.Update(run.t.Context(), live, obj, by)
	return outcome{object: w.moved(step.Object, "v1"), ours: entries, err: err, update: true}
}
