package admission_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// converts counts the conversions of newThings.
type converts struct {
	n    int
	fail error
}

// newThings makes a kind of v1, the hub, with a default, and v2, whose objects say that they were
// converted.
func newThings(t *testing.T) (kind.Kind, *converts) {
	t.Helper()
	c := &converts{}
	s, errs := schema.Parse(field.NewPath("schema"), []byte(`{"type":"object","properties":{"size":{"type":"integer","default":1},"via":{"type":"string"}}}`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	k, err := kind.Dynamic{
		GroupKind: meta.GroupKind{Group: "test.example.com", Kind: "Thing"},
		Versions:  []kind.DynamicVersion{{Name: "v1", Schema: s}, {Name: "v2", Schema: s}},
		Convert: kind.Each(func(_ context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error) {
			c.n++
			u.APIVersion = "test.example.com/" + version
			return u, errors.Join(c.fail, u.Set(version, "via"))
		}),
	}.New()
	if err != nil {
		t.Fatal(err)
	}
	return k, c
}

func thing(version string, size int64) *scheme.Unstructured {
	u := &scheme.Unstructured{}
	u.APIVersion, u.Kind = "test.example.com/"+version, "Thing"
	if size != 0 {
		_ = u.Set(size, "size")
	}
	return u
}

func sizeOf(obj meta.Typed) int64 {
	size, _ := scheme.At[int64](obj.(*scheme.Unstructured), "size")
	return size
}

// actor is a plugin of functions, each of which may be nil.
type actor struct {
	mutate, validate func(ctx context.Context, a *admission.Attributes) error
}

func (actor) Name() string                     { return "actor" }
func (actor) Handles(admission.Operation) bool { return true }

func (p actor) Mutate(ctx context.Context, a *admission.Attributes) error {
	if p.mutate == nil {
		return nil
	}
	return p.mutate(ctx, a)
}

func (p actor) Validate(ctx context.Context, a *admission.Attributes) error {
	if p.validate == nil {
		return nil
	}
	return p.validate(ctx, a)
}

// TestReplace: if a mutator replaces the object, the new object is defaulted and converted to the
// hub, and all mutators run again on it.
func TestReplace(t *testing.T) {
	for _, tt := range []struct {
		name string
		with *scheme.Unstructured
		in   int // the index of the mutator that replaces; -1 for none
		size int64
		via  string
		seen string // the size that each mutator saw; "!" when reinvoked
	}{
		{"nothing", nil, -1, 7, "", "a7 b7 c7"},
		{"by the first", thing("v1", 5), 0, 5, "", "a7 b5 c5 a5! b5! c5!"},
		{"by the last", thing("v1", 5), 2, 5, "", "a7 b7 c7 a5! b5! c5!"},
		{"without a size", thing("v1", 0), 1, 1, "", "a7 b7 c1 a1! b1! c1!"},
		{"in another version", thing("v2", 5), 1, 5, "v1", "a7 b7 c5 a5! b5! c5!"},
		{"in another version, without a size", thing("v2", 0), 0, 1, "v1", "a7 b1 c1 a1! b1! c1!"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, _ := newThings(t)
			var seen []string
			var chain admission.Chain
			for i, name := range []string{"a", "b", "c"} {
				chain = append(chain, actor{mutate: func(ctx context.Context, a *admission.Attributes) error {
					note := name + string(rune('0'+sizeOf(a.Object)))
					if a.Reinvoked {
						note += "!"
					}
					seen = append(seen, note)
					if i == tt.in { // in the second run, too: a third run does not follow
						return a.Replace(ctx, tt.with.DeepCopy())
					}
					return nil
				}})
			}
			a := &admission.Attributes{Operation: admission.Create, Type: k, Object: thing("v1", 7)}
			if err := chain.Mutate(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			via, _ := scheme.At[string](a.Object.(*scheme.Unstructured), "via")
			if sizeOf(a.Object) != tt.size || via != tt.via || a.Object.(*scheme.Unstructured).APIVersion != "test.example.com/v1" {
				t.Errorf("got %+v, want size %d of the hub, via %q", a.Object, tt.size, tt.via)
			}
			if got := strings.Join(seen, " "); got != tt.seen {
				t.Errorf("the mutators saw %s, want %s", got, tt.seen)
			}
			// A new try runs all mutators from the start. An observer does not change that.
			in := tt.in
			seen, a.Object, tt.in = nil, thing("v1", 7), -1
			if err := chain.Mutate(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(seen, " "); got != "a7 b7 c7" {
				t.Errorf("in the next try the mutators saw %s, want a7 b7 c7", got)
			}
			seen, a.Object, tt.in = nil, thing("v1", 7), in
			observed := chain.WithObserver(func(string) admission.Observer { return func(bool, admission.Operation, time.Duration, bool) {} })
			if err := observed.Mutate(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(seen, " "); got != tt.seen {
				t.Errorf("while they are observed the mutators saw %s, want %s", got, tt.seen)
			}
		})
	}
}

func TestReplaceFails(t *testing.T) {
	k, c := newThings(t)
	a := &admission.Attributes{Operation: admission.Delete, Type: k}
	if err := a.Replace(t.Context(), thing("v1", 5)); err == nil || a.Object != nil {
		t.Errorf("where there is no object: got %v, %v", a.Object, err)
	}
	kept := thing("v1", 7)
	a = &admission.Attributes{Operation: admission.Create, Type: k, Object: kept}
	c.fail = errors.New("boom")
	if err := a.Replace(t.Context(), thing("v2", 5)); !errors.Is(err, c.fail) || a.Object != meta.Object(kept) {
		t.Errorf("by what cannot be converted: got %v, %v", a.Object, err)
	}
	stranger := thing("v1", 5)
	stranger.Kind = "Other"
	if err := a.Replace(t.Context(), stranger); err == nil || a.Object != meta.Object(kept) {
		t.Errorf("by another kind: got %v, %v", a.Object, err)
	}
	calls := 0
	chain := admission.Chain{actor{mutate: func(ctx context.Context, a *admission.Attributes) error {
		calls++
		return a.Replace(ctx, thing("v2", 5))
	}}}
	if err := chain.Mutate(t.Context(), a); !errors.Is(err, c.fail) || calls != 1 {
		t.Errorf("Mutate: got %v after %d calls, want the error after one", err, calls)
	}
}

// TestViews: objects are converted on demand: once for all validators, but each time for mutators,
// which may change the object in between.
func TestViews(t *testing.T) {
	k, c := newThings(t)
	look := func(ctx context.Context, a *admission.Attributes, want int64) error {
		is, err := a.ObjectIn(ctx, "v2")
		if err != nil {
			return err
		}
		was, err := a.OldIn(ctx, "v2")
		if err != nil {
			return err
		}
		for _, obj := range []meta.Typed{is, was} {
			if via, _ := scheme.At[string](obj.(*scheme.Unstructured), "via"); via != "v2" {
				t.Errorf("got %+v, want it in v2", obj)
			}
		}
		if sizeOf(is) != want || sizeOf(was) != 3 {
			t.Errorf("got size %d after %d, want %d after 3", sizeOf(is), sizeOf(was), want)
		}
		same, err := a.ObjectIn(ctx, "v1")
		if err != nil || same != meta.Typed(a.Object) {
			t.Errorf("in its own version: got %v, %v, want the object", same, err)
		}
		return nil
	}
	a := &admission.Attributes{Operation: admission.Update, Type: k, Object: thing("v1", 7), Old: thing("v1", 3)}
	grow := actor{mutate: func(_ context.Context, a *admission.Attributes) error {
		return a.Object.(*scheme.Unstructured).Set(sizeOf(a.Object)+1, "size")
	}}
	var want int64 = 7
	watcher := actor{mutate: func(ctx context.Context, a *admission.Attributes) error {
		defer func() { want++ }()
		return look(ctx, a, want)
	}}
	if err := (admission.Chain{grow, grow}).Mutate(t.Context(), a); err != nil || c.n != 0 {
		t.Fatalf("got %v and %d conversions before any was requested", err, c.n)
	}
	a.Object = thing("v1", 7)
	if err := (admission.Chain{watcher, grow, watcher, grow}).Mutate(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if c.n < 3 {
		t.Errorf("got %d conversions for two looks with a change between them", c.n)
	}
	c.n = 0
	validator := actor{validate: func(ctx context.Context, a *admission.Attributes) error {
		is, err := a.ObjectIn(ctx, "v2")
		if err != nil || sizeOf(is) != 9 {
			t.Errorf("got size %d, %v, want 9", sizeOf(is), err)
		}
		was, err := a.OldIn(ctx, "v2")
		if err != nil || sizeOf(was) != 3 {
			t.Errorf("got size %d, %v, want 3", sizeOf(was), err)
		}
		return err
	}}
	if err := (admission.Chain{validator, validator, validator}).Validate(t.Context(), a); err != nil || c.n != 2 {
		t.Errorf("got %v and %d conversions for three validators, want one of each object", err, c.n)
	}
	// The next try has new objects, which are converted again.
	a.Object, a.Old = thing("v1", 9), thing("v1", 3)
	if err := (admission.Chain{validator}).Validate(t.Context(), a); err != nil || c.n != 4 {
		t.Errorf("got %v and %d conversions, want two more for the next try", err, c.n-2)
	}
}

func TestViewsOfNothing(t *testing.T) {
	k, c := newThings(t)
	a := &admission.Attributes{Operation: admission.Delete, Type: k, Old: thing("v1", 3)}
	if obj, err := a.ObjectIn(t.Context(), "v2"); obj != nil || err != nil {
		t.Errorf("of a deletion: got %v, %v", obj, err)
	}
	if _, err := a.OldIn(t.Context(), "v7"); !scheme.IsNotRegistered(err) {
		t.Errorf("in an unknown version: got %v", err)
	}
	c.fail = errors.New("boom")
	validator := actor{validate: func(ctx context.Context, a *admission.Attributes) error {
		_, err := a.OldIn(ctx, "v2")
		return err
	}}
	if err := (admission.Chain{validator}).Validate(t.Context(), a); !errors.Is(err, c.fail) {
		t.Errorf("got %v, want the converter's error", err)
	}
}

func TestListen(t *testing.T) {
	var heard []string
	a := &admission.Attributes{}
	a.Warn("nobody listens")
	a.Annotate("p/a", "nobody listens")
	a.Listen(func(text string) { heard = append(heard, text) }, func(key, value string) { heard = append(heard, key+"="+value) })
	a.Warn("careful")
	a.Annotate("p/a", "b")
	if !slices.Equal(heard, []string{"careful", "p/a=b"}) {
		t.Errorf("got %q", heard)
	}
}
