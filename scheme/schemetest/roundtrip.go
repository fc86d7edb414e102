// Package schemetest tests the conversions that an API registers with a scheme.
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
// A derived conversion converts every field, or the scheme does not complete. A registered
// conversion (scheme.AddConversion) replaces the derived one and converts only the fields that its
// code names, so a field that is added later is lost unless the function begins with
// scheme.ConvertFields. Objects are stored by way of the hub. A field that a version loses on the
// way to the hub and back is lost by every write of a client of that version.
//
// The other direction is not tested: a version need not have every field of the hub.
//
// Tests of API packages call RoundTrip, or Losses to filter the result.
//
// Not here: defaults, and losses between two versions that both convert to the hub without loss.
//
// Read: roundtrip.go, compare.go.
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

// samples is the number of objects of each kind that are converted. It is enough for each field to
// be set in some.
const samples = 30

// Loss describes a field of a version that does not survive the conversion to the hub and back.
type Loss struct {
	// Kind is the kind in the version that loses the field.
	Kind meta.GroupVersionKind
	// Path is the path of the field, such as spec.parts[].name; "" if no sample of the kind
	// converts.
	Path string
	// Never is set if the field survived in no sample in which it was set. Otherwise the values may
	// be to blame: samples respect only what the tags demand.
	Never bool

	detail string
}

// String returns a sentence such as "v1alpha1.Widget: spec.size is lost on the way to the hub and
// back".
func (l Loss) String() string { return l.Kind.Version + "." + l.Kind.Kind + ": " + l.detail }

// RoundTrip reports each of the Losses of all groups as an error of the test.
func RoundTrip(t testing.TB, s *scheme.Scheme, valid func(meta.Object)) {
	t.Helper()
	for _, loss := range Losses(s, valid) {
		t.Error(loss)
	}
}

// Losses converts samples of each kind of the given groups, of all groups if none are given, to the
// hub and back, and returns the fields that do not survive. Samples that do not convert are left
// out. valid, if not nil, changes a sample into an object that conversions accept, where tags do
// not say enough.
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

// isHub reports whether objects of a kind need no conversion, because their type is the hub type or
// the kind has no hub.
func isHub(s *scheme.Scheme, obj meta.Typed, gvk meta.GroupVersionKind) bool {
	hub, err := s.ConvertTo(obj, meta.GroupVersion{Group: gvk.Group, Version: scheme.InternalVersion})
	return err == nil && hub == obj
}

// lossesOf returns the losses of one kind.
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
	case same: // the usual result
		return nil
	}
	c := comparison{fates: map[string]*fate{}}
	for i := range was {
		c.value(typeinfo.Of(typ), "", tree(was[i]), tree(is[i]))
	}
	losses := make([]Loss, 0, len(c.order))
	for _, path := range c.order {
		f := c.fates[path]
		losses = append(losses, Loss{
			Kind: gvk, Path: path, Never: f.had > 0 && f.kept == 0, detail: path + " " + f.detail,
		})
	}
	return losses
}

// newSample returns a sample in which all fields are set.
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

// roundTrip converts an object to its hub and back.
func roundTrip(s *scheme.Scheme, obj meta.Typed, gv meta.GroupVersion) (meta.Typed, error) {
	hub, err := s.ConvertTo(obj, meta.GroupVersion{Group: gv.Group, Version: scheme.InternalVersion})
	if err != nil {
		return nil, err
	}
	return s.ConvertTo(hub, gv)
}

// tree returns the JSON of an object as a tree.
func tree(obj meta.Typed) (v any) {
	data, err := json.Marshal(obj)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		err = d.Decode(&v)
	}
	if err != nil {
		// This cannot happen for a type that typeinfo describes.
		panic(fmt.Sprintf("schemetest: %T has no JSON: %v", obj, err))
	}
	return v
}
