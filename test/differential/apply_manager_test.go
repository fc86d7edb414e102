package differential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/apply"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// managerWorkers times managerWorlds kinds are made up, each with managerSteps writes.
const (
	managerWorkers = 3
	managerWorlds  = 280
	managerSteps   = 130
)

// managerStep is something that happens to an object. What it needs is in it, so that it can be done again without the steps
// before it.
type managerStep struct {
	Do      string // put, apply, delete, sleep, schema (Number is the generation), drop (the second version; Number is how), set (the state)
	Version string
	Sub     string // a subresource
	Manager string
	Force   bool
	Number  int
	Object  map[string]any // of the version: what is put, or the configuration
	Managed []any          // entries that the client sends with what it puts; live's if Asis
	Asis    bool
}

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

// TestManagers has kube-apiserver's field manager and Coracle keep managedFields of the same objects through the same writes.
func TestManagers(t *testing.T) {
	start := time.Now()
	var mu sync.Mutex
	meant := map[string]int{}
	var steps, conflicts, failures atomic.Int64
	defer func(handlers []utilruntime.ErrorHandler) { utilruntime.ErrorHandlers = handlers }(utilruntime.ErrorHandlers)
	utilruntime.ErrorHandlers = nil // they sleep until the clock is past the last error
	t.Run("workers", func(t *testing.T) {
		for worker := range managerWorkers {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					for i := range times(managerWorlds) {
						r := random("managers", worker, i)
						run := &managerRun{t: t, world: makeWorld(r, i)}
						run.make(r, managerSteps)
						steps.Add(int64(run.steps))
						conflicts.Add(int64(run.conflicts))
						failures.Add(int64(run.failures))
						mu.Lock()
						for why, n := range run.meant {
							meant[why] += n
						}
						mu.Unlock()
						if t.Failed() {
							return
						}
					}
				})
			})
		}
	})
	for why, n := range meant {
		t.Logf("%d times: %s", n, why)
	}
	t.Logf("%v: %d steps, of which %d ended in conflicts and %d in other errors", time.Since(start), steps.Load(), conflicts.Load(), failures.Load())
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

// apiVersion returns that of a version.
func (w *managerWorld) apiVersion(version string) string {
	return kubeschema.GroupVersion{Group: w.group, Version: version}.String()
}

// moved returns an object in a version, sharing nothing.
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

// managerState is what becomes of an object, and of its kind, on both sides.
type managerState struct {
	generation int
	dropped    int            // 1: the second version is not known any more, 2: it is, but not served
	live       map[string]any // in v1; nil if there is none
	theirs     []metav1.ManagedFieldsEntry
	ours       []meta.ManagedFieldsEntry

	converter managedfields.TypeConverter
	schemas   map[string]*schema.Schema
}

// managerRun is a series of steps.
type managerRun struct {
	t     *testing.T
	world *managerWorld
	state managerState

	steps, conflicts, failures int
	meant                      map[string]int // differences that are
}

// make makes up steps and does them, until one ends differently.
func (run *managerRun) make(r *rand.Rand, n int) {
	run.begin()
	maker := &stepMaker{run: run, treeMaker: treeMaker{Rand: r, wrong: 150, odd: 100, depth: 6}, configs: map[string]map[string]any{}}
	for range n {
		step := maker.step()
		before := run.state
		if diff := run.do(step); diff != "" {
			run.report(before, step, diff)
			return
		}
		run.steps++
	}
}

// report shows a step that ends differently, and the state that it starts from, as small as they can be.
func (run *managerRun) report(before managerState, last managerStep, diff string) {
	steps := []managerStep{
		{Do: "schema", Number: before.generation},
		{Do: "drop", Number: before.dropped},
		{Do: "set", Object: before.live, Managed: anysOf(before.theirs)},
		last,
	}
	again := func(steps []managerStep) (diff string) {
		again := &managerRun{t: run.t, world: run.world}
		again.begin()
		for _, step := range steps {
			diff = again.do(step)
		}
		return diff
	}
	if again(steps) != "" {
		tries := 0
		steps = shrinkObjects(steps, func(steps []managerStep) bool { tries++; return tries < 2000 && again(steps) != "" })
		diff = again(steps)
	}
	var b strings.Builder
	if run.world.renamed {
		for version, shape := range run.world.shapes {
			fmt.Fprintf(&b, "%s: %s\n", version, encode(shape.openAPI(before.generation)))
		}
	}
	for _, step := range steps {
		fmt.Fprintf(&b, "%s\n", encode(step))
	}
	run.t.Errorf("%s\n%s%s", run.world.name, b.String(), diff)
}

// shrinkObjects takes what it can out of the objects of steps.
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

// shrinkValue leaves out of a value each part without which it still fails, the large ones first.
func shrinkValue(v any, fails func(any) bool) any {
	switch object := v.(type) {
	case map[string]any:
		for _, name := range sortedNames(object) {
			less := maps.Clone(object)
			delete(less, name)
			if name != "apiVersion" && name != "kind" && name != "metadata" && fails(less) {
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

func (run *managerRun) begin() {
	run.meant = map[string]int{}
	run.schemas(0, 0)
}

// schemas changes the schemas of the kind.
func (run *managerRun) schemas(generation, dropped int) {
	s := &run.state
	s.generation, s.dropped = generation, dropped
	s.converter = run.world.theirs(run.world, generation, dropped != 2)
	s.schemas = map[string]*schema.Schema{"v1": run.world.ours(run.world, "v1", generation)}
	if run.world.renamed && dropped == 0 {
		s.schemas["v2"] = run.world.ours(run.world, "v2", generation)
	}
}

// do takes a step on both sides and returns how they differ.
func (run *managerRun) do(step managerStep) string {
	s := &run.state
	switch step.Do {
	case "sleep":
		time.Sleep(time.Second)
		return ""
	case "delete":
		s.live, s.theirs, s.ours = nil, nil, nil
		return ""
	case "set":
		s.live, s.theirs, s.ours = step.Object, nil, nil
		must(json.Unmarshal(encode(step.Managed), &s.theirs))
		must(json.Unmarshal(encode(step.Managed), &s.ours))
		return ""
	case "schema":
		run.schemas(step.Number, s.dropped)
		return ""
	case "drop":
		run.schemas(s.generation, step.Number)
		return ""
	}
	if s.dropped != 0 && step.Version == "v2" {
		return "" // nobody can write there
	}
	if s.live == nil && step.Sub != "" && step.Do != "apply" {
		return ""
	}
	theirs, ours := run.doTheirs(step), run.doOurs(step)
	if diff := theirs.differs(ours); diff != "" {
		for why, meant := range managerDifferences {
			if meant(theirs, ours) {
				run.meant[why]++
				s.live, s.theirs, s.ours = nil, nil, nil
				return ""
			}
		}
		return diff
	}
	if theirs.err != nil {
		run.failures++
		if strings.HasPrefix(theirs.err.Error(), "Apply failed with") {
			run.failures--
			run.conflicts++
		}
		if step.Do == "apply" {
			return ""
		}
	}
	s.live = theirs.object
	s.live["metadata"].(map[string]any)["uid"] = "u"
	s.theirs, s.ours = theirs.theirs, ours.ours
	return ""
}

// managerDifferences are the differences that are meant.
var managerDifferences = map[string]func(theirs, ours outcome) bool{
	// Kubernetes looks for mistakes in all of both objects, Coracle where it compares them: not in what is the same and not in
	// what is atomic. Whoever stores objects has looked for them; these have lists whose elements lack keys.
	"an update of an object with mistakes": func(theirs, ours outcome) bool {
		return theirs.update && ours.err == nil && theirs.err != nil && strings.HasPrefix(theirs.err.Error(), "failed to convert ") &&
			strings.Contains(theirs.err.Error(), "to smd typed: ")
	},
}

// outcome is what a step ends with.
type outcome struct {
	object map[string]any // in v1
	theirs []metav1.ManagedFieldsEntry
	ours   []meta.ManagedFieldsEntry
	err    error
	update bool
}

func (theirs outcome) differs(ours outcome) string {
	if theirs.update && theirs.err != nil && ours.err != nil {
		return "" // nobody sees it
	}
	if a, b := errorText(theirs.err), errorText(ours.err); a != b {
		return fmt.Sprintf("error:\nKubernetes: %s\nCoracle:    %s", a, b)
	}
	if theirs.err != nil {
		return ""
	}
	for _, o := range []map[string]any{theirs.object, ours.object} {
		if o["metadata"] == nil { // Kubernetes makes it to put managedFields into
			o["metadata"] = map[string]any{}
		}
	}
	if a, b := encode(tree(theirs.object)), encode(tree(ours.object)); string(a) != string(b) {
		return fmt.Sprintf("object:\nKubernetes: %s\nCoracle:    %s", a, b)
	}
	// The objects are unstructured, which orders fieldsV1 by text; TestApplySets has the order that others have.
	if a, b := encode(tree(theirs.theirs)), encode(tree(ours.ours)); string(a) != string(b) {
		return fmt.Sprintf("managedFields:\nKubernetes: %s\nCoracle:    %s", a, b)
	}
	return ""
}

// errorText says what an error is, to the client that gets it. In which order managers have their conflicts Kubernetes leaves
// to chance.
func errorText(err error) string {
	var theirs *apierrors.StatusError
	var ours *meta.StatusError
	var status any
	switch {
	case err == nil:
		return ""
	case errors.As(err, &theirs):
		status = tree(theirs.ErrStatus)
	case errors.As(err, &ours):
		status = tree(ours.Status)
	default:
		status = tree(meta.NewBadRequest(err.Error()).Status) // kube-apiserver blames itself, Coracle the client
	}
	object := status.(map[string]any)
	if text := fmt.Sprint(object["message"]); strings.HasPrefix(text, "failed to ") {
		// Of several mistakes Kubernetes finds any first; TestApplyWalks compares what it says of one.
		text, _, _ = strings.Cut(text, "): ")
		object["message"], _, _ = strings.Cut(text, "to smd typed: ")
	}
	delete(object, "kind")
	delete(object, "apiVersion")
	delete(object, "metadata")
	if details, ok := object["details"].(map[string]any); ok {
		if causes, ok := details["causes"].([]any); ok {
			slices.SortStableFunc(causes, func(a, b any) int { return strings.Compare(string(encode(a)), string(encode(b))) })
		}
	}
	return string(encode(object))
}

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

// theirFilters and ourFilters are what doors reset, by subresource.
func theirFilters(w *managerWorld, sub string) map[fieldpath.APIVersion]fieldpath.Filter {
	out := map[fieldpath.APIVersion]fieldpath.Filter{}
	for _, version := range []string{"v1", "v2"} {
		var f fieldpath.Filter
		switch sub {
		case "":
			f = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie("status")))
		case "status":
			f = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("metadata", "labels")))
		case "part":
			f = fieldpath.NewIncludeMatcherFilter(fieldpath.MakePrefixMatcherOrDie("spec", "a"), fieldpath.MakePrefixMatcherOrDie("spec", fieldpath.MatchAnyPathElement(), fieldpath.MatchAnyPathElement(), "b"))
		default:
			continue
		}
		out[fieldpath.APIVersion(w.apiVersion(version))] = f
	}
	return out
}

func ourFilters(w *managerWorld, sub string) map[string]apply.Filter {
	out := map[string]apply.Filter{}
	for _, version := range []string{"v1", "v2"} {
		switch sub {
		case "":
			out[w.apiVersion(version)] = apply.Except("status")
		case "status":
			out[w.apiVersion(version)] = apply.Except("spec", "metadata.labels")
		case "part":
			out[w.apiVersion(version)] = apply.Only("spec.a", "spec.*.*.b")
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

// lazyTree returns JSON as a tree, lazy to a degree that the text decides.
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
		Reset:       ourFilters(w, step.Sub),
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

// plain returns a value with the numbers that unstructured objects have.
func plain(v any) any {
	return must1(jsontext.Decode(encode(v), nil))
}

func anysOf[T any](list []T) []any {
	if list == nil {
		return nil
	}
	return plain(list).([]any)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func must1[T any](v T, err error) T {
	must(err)
	return v
}
