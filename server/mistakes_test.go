//go:build !race

package server

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Bounds for an object with many mistakes: the errors or warnings of one check (a check has several
// parts, each with a bound of its own), the bytes that all checks allocate, and the bytes of an
// answer.
const (
	manyMistakes     = 600
	maxFound         = manyMistakes - 100
	maxCheckBytes    = 64 << 20
	maxInvalidAnswer = 256 << 10
)

// TestValidatorsStop gives each served kind objects in which one list or map is long and all its
// elements are wrong, for each list and map of the kind. Every check must stop after a number of
// errors. A validator that loops over the input of a client itself, instead of using field.Each or
// field.Entries, fails here.
//
// Many kinds contain a pod template, whose lists are most of the work. Its rules are those of pods.
// The lists of pods are filled with every kind of mistake, those of templates with one.
func TestValidatorsStop(t *testing.T) {
	s := scheme.New()
	groups := coreGroups(APIConfig{}, surroundings{})
	for _, g := range groups {
		g.AddToScheme(s)
	}
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	template := typeinfo.For[corev1.PodTemplateSpec]()
	for _, g := range groups {
		for i := range g.Resources {
			r := &g.Resources[i]
			t.Run(r.GroupResource.String(), func(t *testing.T) {
				gvk := meta.GroupVersionKind{Group: g.Name, Version: scheme.InternalVersion, Kind: r.Kind}
				empty, err := s.NewObject(gvk)
				if err != nil {
					t.Fatal(err)
				}
				typ := typeinfo.Of(reflect.TypeOf(empty))
				for n, way := range listsOf(typ, nil) {
					kinds := mistakeKinds
					if slices.ContainsFunc(way, func(f *typeinfo.Field) bool { return f.Type == template }) {
						kinds = kinds[n%len(kinds):][:1]
					}
					for _, kind := range kinds {
						obj := reflect.New(typ.Go)
						long(obj.Elem(), way, kind)
						checkMistakes(t, way.String()+", "+kind.name, r, obj.Interface().(meta.Object), empty.(meta.Object))
					}
				}
			})
		}
	}
}

// checkMistakes runs everything that checks a whole object before it is stored.
func checkMistakes(t *testing.T, name string, r *registry.Resource, obj, empty meta.Object) {
	path := field.NewPath("metadata")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	defer func() {
		runtime.ReadMemStats(&after)
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > maxCheckBytes {
			t.Errorf("%s: the checks took %d MiB", name, bytes>>20)
		}
	}()
	check := func(what string, run func() field.ErrorList) {
		errs := run()
		answer, err := json.Marshal(meta.NewInvalid(meta.GroupKind{Kind: r.Kind}, "x", errs).Status)
		if err != nil || len(errs) > maxFound || len(answer) > maxInvalidAnswer {
			t.Errorf("%s: %s: got %d errors, an answer of %d KiB, %v", name, what, len(errs), len(answer)>>10, err)
		}
	}
	if f := r.Strategy.ValidateRequest; f != nil {
		r.Strategy.Validate = func(obj, old meta.Object) field.ErrorList {
			return f(&registry.Request{Context: context.Background()}, nil, obj, old)
		}
	}
	if f := r.Strategy.ValidateIn; f != nil { // another version than the kind's own has more checks
		r.Strategy.Validate = func(obj, old meta.Object) field.ErrorList { return f(meta.GroupVersion{Version: "other"}, obj, old) }
	}
	strategies := []registry.Strategy{r.Strategy}
	if st := r.Status; st != nil {
		strategies = append(strategies, registry.Strategy{Validate: st.Validate, Warnings: st.Warnings})
	}
	for _, sub := range r.Subresources {
		strategies = append(strategies, registry.Strategy{Validate: sub.Validate, Warnings: sub.Warnings})
	}
	check("metadata", func() field.ErrorList {
		errs := meta.ValidateObjectMeta(obj.GetObjectMeta(), r.Namespaced, names.DNSSubdomainName, path)
		errs = append(errs, meta.ValidateFinalizerNames(obj.GetObjectMeta().Finalizers, path)...)
		return append(errs, meta.ValidateObjectMetaUpdate(obj.GetObjectMeta(), empty.GetObjectMeta(), path)...)
	})
	if r.Strategy.Validate != nil {
		check("create", func() field.ErrorList { return r.Strategy.Validate(obj, nil) })
	}
	warnings := func(list []string) {
		if len(list) > maxFound {
			t.Errorf("%s: got %d warnings", name, len(list))
		}
	}
	if r.Strategy.Warnings != nil {
		warnings(r.Strategy.Warnings(obj, nil))
	}
	check("declared checks", func() field.ErrorList {
		return append(typeinfo.Validate(obj, nil), typeinfo.Validate(obj, obj)...)
	})
	for _, s := range strategies {
		if s.Validate != nil {
			check("update to it", func() field.ErrorList { return s.Validate(obj, empty) })
			check("update from it", func() field.ErrorList { return s.Validate(empty, obj) })
			check("update of it", func() field.ErrorList { return s.Validate(obj, obj) })
		}
		if s.Warnings != nil {
			warnings(s.Warnings(obj, empty))
		}
	}
}

// way is the path from an object to one of its lists or maps, through the first element of each
// list on the way.
type way []*typeinfo.Field

func (w way) String() string {
	text := ""
	for _, f := range w {
		text += "." + f.Name
	}
	return text
}

// listsOf returns the ways to all lists and maps of a struct. Recursive types are entered once.
func listsOf(t *typeinfo.Type, entered []*typeinfo.Type) (ways []way) {
	if slices.Contains(entered, t) {
		return nil
	}
	entered = append(entered, t)
	for _, f := range t.Fields {
		below := f.Type
		for below.Kind == typeinfo.List || below.Kind == typeinfo.Map {
			if below == f.Type {
				ways = append(ways, way{f})
			}
			below = below.Elem
		}
		if below.Kind != typeinfo.Struct {
			continue
		}
		for _, rest := range listsOf(below, entered) {
			ways = append(ways, append(way{f}, rest...))
		}
	}
	return ways
}

// mistakeKind is the content of the elements of a list.
type mistakeKind struct {
	name   string
	empty  bool
	text   string // the value of all strings
	number int64
}

var mistakeKinds = []mistakeKind{
	{name: "empty", empty: true, text: "Not Valid!"},
	{name: "wrong", text: "Not Valid!", number: -7},
	{name: "all the same", text: "a", number: 1},
}

// long fills the list or map at the end of a way with many elements.
func long(v reflect.Value, w way, kind mistakeKind) {
	f := w[0]
	v = v.FieldByIndex(f.Index)
	if len(w) > 1 {
		into(v, f.Type, f.Pointer, func(v reflect.Value) { long(v, w[1:], kind) })
		return
	}
	into(v, nil, f.Pointer, func(v reflect.Value) {
		elem := reflect.New(f.Type.Go.Elem()).Elem()
		if !kind.empty {
			kind.fill(elem, f.Type.Elem, f.Type.ElemPointer, 4, nil)
		}
		if f.Type.Kind == typeinfo.List {
			v.Set(reflect.MakeSlice(f.Type.Go, manyMistakes, manyMistakes))
			for i := range manyMistakes {
				v.Index(i).Set(elem)
			}
			return
		}
		v.Set(reflect.MakeMap(f.Type.Go))
		for i := range manyMistakes {
			v.SetMapIndex(reflect.ValueOf(fmt.Sprint(kind.text, i)).Convert(f.Type.Key), elem)
		}
	})
}

// into calls do with a new value of type t at v: behind a pointer, or as the only element of lists
// and maps. If t is nil, the value is v itself.
func into(v reflect.Value, t *typeinfo.Type, pointer bool, do func(reflect.Value)) {
	if pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch {
	case t != nil && t.Kind == typeinfo.List:
		v.Set(reflect.MakeSlice(t.Go, 1, 1))
		into(v.Index(0), t.Elem, t.ElemPointer, do)
	case t != nil && t.Kind == typeinfo.Map:
		elem := reflect.New(t.Go.Elem()).Elem()
		into(elem, t.Elem, t.ElemPointer, do)
		v.Set(reflect.MakeMap(t.Go))
		v.SetMapIndex(reflect.ValueOf("a").Convert(t.Key), elem)
	default:
		do(v)
	}
}

// fill sets all strings and numbers below v, up to a depth. Recursive types are entered once.
func (k mistakeKind) fill(v reflect.Value, t *typeinfo.Type, pointer bool, depth int, entered []*typeinfo.Type) {
	if depth == 0 {
		return
	}
	into(v, t, pointer, func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			v.SetString(k.text)
		case reflect.Int32, reflect.Int64:
			v.SetInt(k.number)
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Struct:
			below := typeinfo.Of(v.Type())
			if below.Kind != typeinfo.Struct || slices.Contains(entered, below) {
				return
			}
			entered := append(entered[:len(entered):len(entered)], below)
			for _, f := range below.Fields {
				k.fill(v.FieldByIndex(f.Index), f.Type, f.Pointer, depth-1, entered)
			}
		}
	})
}
