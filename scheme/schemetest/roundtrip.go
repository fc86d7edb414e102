// Package schemetest tests the conversions that a user of package scheme registers.
//
//	func TestConversions(t *testing.T) {
//		s := scheme.New()
//		mygroup.AddToScheme(s)
//		if err := s.Complete(); err != nil {
//			t.Fatal(err)
//		}
//		schemetest.RoundTrip(t, s, nil)
//	}
//
// A derived conversion takes every field along, or the scheme does not complete. A registered one (scheme.AddConversion)
// replaces the derived one and takes what it says, so a field that is added later is forgotten, unless the function begins
// with scheme.ConvertFields. An object is stored by way of the hub: what a version loses on the way there and back, clients
// of that version lose with every write.
//
// The other way is free: a version need not have all that the hub has. Not here: defaults, and what is lost between two
// versions that both fit the hub.
package schemetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/sample"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// samples is how many objects of each kind are converted, enough for each field to be set in some.
const samples = 30

// Loss is a field of a version that does not survive the way to the hub and back.
type Loss struct {
	Kind meta.GroupVersionKind
	Path string // such as spec.parts[].name; empty if no object of the kind converts
	// Never is set if the field survived in no object that had it. Of other losses, the values may be to blame: those of
	// samples are only what the tags ask for.
	Never bool

	detail string
}

// String says what is lost: "v1alpha1.Widget: spec.size is lost on the way to the hub and back".
func (l Loss) String() string { return l.Kind.Version + "." + l.Kind.Kind + ": " + l.detail }

// RoundTrip fails the test for each of the Losses of all groups.
func RoundTrip(t testing.TB, s *scheme.Scheme, valid func(meta.Object)) {
	t.Helper()
	for _, loss := range Losses(s, valid) {
		t.Error(loss)
	}
}

// Losses converts samples of each kind of some groups, of all if none are named, to the hub and back, and returns what does
// not come back as it was. Objects that do not convert are left out. valid, if it is not nil, makes a sample an object as
// conversions know it, where tags do not say enough.
func Losses(s *scheme.Scheme, valid func(meta.Object), groups ...string) []Loss {
	var losses []Loss
	for _, gvk := range s.AllKinds() {
		if len(groups) > 0 && !slices.Contains(groups, gvk.Group) {
			continue
		}
		obj, err := s.NewObject(gvk)
		if _, ok := obj.(meta.Object); err != nil || !ok || isHub(s, obj, gvk) {
			continue
		}
		losses = append(losses, lossesOf(s, gvk, reflect.TypeOf(obj).Elem(), valid)...)
	}
	return losses
}

// isHub reports whether objects of a kind do not convert, because they are of the hub or have none.
func isHub(s *scheme.Scheme, obj meta.Typed, gvk meta.GroupVersionKind) bool {
	hub, err := s.ConvertTo(obj, meta.GroupVersion{Group: gvk.Group, Version: scheme.InternalVersion})
	return err == nil && hub == obj
}

func lossesOf(s *scheme.Scheme, gvk meta.GroupVersionKind, typ reflect.Type, valid func(meta.Object)) []Loss {
	var was, is []meta.Typed
	var refused error
	same := true
	for seed := range uint64(samples) {
		obj := newSample(seed, typ, valid)
		obj.GetTypeMeta().SetGroupVersionKind(gvk)
		back, err := roundTrip(s, obj, gvk.GroupVersion())
		if err != nil {
			refused = err
			continue
		}
		was, is = append(was, obj), append(is, back)
		same = same && reflect.DeepEqual(meta.Typed(obj), back)
	}
	switch {
	case len(was) == 0:
		return []Loss{{Kind: gvk, detail: "no sample converts: " + refused.Error()}}
	case same: // the usual end
		return nil
	}
	c := comparison{fates: map[string]*fate{}}
	for i := range was {
		c.value(typeinfo.Of(typ), "", tree(was[i]), tree(is[i]))
	}
	losses := make([]Loss, 0, len(c.order))
	for _, path := range c.order {
		f := c.fates[path]
		losses = append(losses, Loss{Kind: gvk, Path: path, Never: f.had > 0 && f.kept == 0, detail: path + " " + f.detail})
	}
	return losses
}

func newSample(seed uint64, typ reflect.Type, valid func(meta.Object)) meta.Object {
	obj := reflect.New(typ).Interface().(meta.Object)
	filler := sample.New(seed)
	filler.Density = 1
	filler.Fill(obj)
	if valid != nil {
		valid(obj)
	}
	return obj
}

func roundTrip(s *scheme.Scheme, obj meta.Typed, gv meta.GroupVersion) (meta.Typed, error) {
	hub, err := s.ConvertTo(obj, meta.GroupVersion{Group: gv.Group, Version: scheme.InternalVersion})
	if err != nil {
		return nil, err
	}
	return s.ConvertTo(hub, gv)
}

// tree is an object as JSON has it.
func tree(obj meta.Typed) (v any) {
	data, err := json.Marshal(obj)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		err = d.Decode(&v)
	}
	if err != nil {
		panic(fmt.Sprintf("schemetest: %T has no JSON: %v", obj, err)) // typeinfo describes it
	}
	return v
}
