package registry_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// ancientWidget is a widget in a version that is stored but not served.
type ancientWidget struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Paint           string `json:"paint,omitempty" pb:"7"`
}

// addAncient adds the versions that are stored but not served.
func addAncient(s *scheme.Scheme) {
	gk := meta.GroupKind{Group: v1.Group, Kind: "Widget"}
	s.AddStored(meta.GroupVersion{Group: v1.Group, Version: "v1alpha1"}.WithKind("Widget"), gk, &ancientWidget{})
	s.AddStored(meta.GroupVersion{Group: "before.example.com", Version: "v1"}.WithKind("Widget"), gk, &ancientWidget{})
	scheme.AddConversion(s, func(in *ancientWidget, out *widget) error {
		out.ObjectMeta, out.Spec.Color = *scheme.DeepCopy(&in.ObjectMeta), in.Paint
		return nil
	})
}

// grownWidgets declares widgets that have got defaults since some of them were stored. Each version
// has its own default for the color, which cannot change. Complete sets the size.
func grownWidgets(entries ...storage.Entry) options {
	return options{
		entries: entries,
		types: func(s *scheme.Scheme) {
			addAncient(s)
			scheme.AddDefaulting(s, func(w *widget) { scheme.SetDefault(&w.Spec.Color, "white") })
			scheme.AddDefaulting(s, func(w *oldWidget) { scheme.SetDefault(&w.Colour, "grey") })
			scheme.AddDefaulting(s, func(w *ancientWidget) { scheme.SetDefault(&w.Paint, "black") })
		},
		resource: func(r *registry.ResourceOf[*widget]) {
			r.Complete = func(w *widget) {
				if w.Spec.Size == 0 {
					w.Spec.Size = int64(len(w.Spec.Color))
				}
			}
			r.Strategy.Validate = func(w, old *widget) field.ErrorList {
				if old != nil && w.Spec.Color != old.Spec.Color {
					return field.ErrorList{field.Invalid(field.NewPath("spec", "color"), w.Spec.Color, "field is immutable")}
				}
				return nil
			}
		},
	}
}

// TestRestored reads entries of older servers. An entry gets the defaults of its stored version, is
// converted, and is completed by Complete. All readers see the result, and the next write stores
// it.
func TestRestored(t *testing.T) {
	const other = `"metadata":{"name":"a","namespace":"ns","uid":"u","labels":{"a":"1"}}`
	for _, tt := range []struct{ name, value, color string }{
		{"storage version", `{"kind":"Widget","apiVersion":"test.example.com/v1",` + other + `}`, "white"},
		{"storage version, spaced", "{\"kind\":\"Widget\", \"apiVersion\":\"test.example.com/v1\",\n" + other + `,"spec":{}}`, "white"},
		{"served version", `{"kind":"Widget","apiVersion":"test.example.com/v1beta1",` + other + `}`, "grey"},
		{"stored version", `{"kind":"Widget","apiVersion":"test.example.com/v1alpha1",` + other + `}`, "black"},
		{"stored version that says it", `{"kind":"Widget","apiVersion":"test.example.com/v1alpha1",` + other + `,"paint":"red"}`, "red"},
		{"other group", `{"kind":"Widget","apiVersion":"before.example.com/v1",` + other + `}`, "black"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, grownWidgets(entry("a", tt.value)))
			wantNames(t, "selected by the default", k.names(selectors(t, "ns", "a=1", "spec.color="+tt.color)), "a")
			wantNames(t, "selected by its lack", k.names(selectors(t, "ns", "", "spec.color=")))
			w := k.get("a")
			if w.Spec.Color != tt.color || w.Spec.Size != int64(len(tt.color)) || w.UID != "u" || w.ResourceVersion != "5" {
				t.Fatalf("got %s, want color %s", text(w), tt.color)
			}
			enc, err := k.Get(k.ctx, "ns", "a", "")
			if err != nil {
				t.Fatal(err)
			}
			if data, _ := enc.Stored(); !strings.HasPrefix(string(data), `{"kind":"Widget","apiVersion":"test.example.com/v1",`) {
				t.Errorf("the cache holds %s, want the storage version", data)
			}
			if got := k.stored("a"); got != tt.value {
				t.Fatalf("after reading: stored %s, want it untouched", got)
			}
			if _, _, err := k.put(k.Store, w); err != nil { // a write without a change
				t.Fatalf("an update without a change: %v", err)
			}
			if got := k.stored("a"); !strings.Contains(got, `"color":"`+tt.color+`"`) || !strings.Contains(got, `"size":`) {
				t.Errorf("after an update without a change: stored %s, want the whole object", got)
			}
			if _, err := k.change("a", func(w *widget) { w.Spec.Color = "other" }); !meta.IsInvalid(err) {
				t.Errorf("change of the default: got %v, want an invalid change", err)
			}
		})
	}
}

// TestRestoredWatch: an entry that another server stores while this one runs is completed, too.
func TestRestoredWatch(t *testing.T) {
	k := newKit(t, grownWidgets())
	selected := selectors(t, "ns", "", "spec.color=black")
	c, err := k.Watch(k.ctx, &selected)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	e := entry("a", `{"kind":"Widget","apiVersion":"test.example.com/v1alpha1","metadata":{"name":"a","namespace":"ns"}}`)
	if _, err := k.engine.Put(t.Context(), e.Key, e.Value, storage.Pre{Absent: true}, 0); err != nil {
		t.Fatal(err)
	}
	if got := k.next(c); len(got) != 1 || got[0] != "ADDED a" {
		t.Errorf("got %q, want the event of a", got)
	}
}

// TestWrittenIsComplete: Complete is not called for objects that this process has written, because
// these are complete.
func TestWrittenIsComplete(t *testing.T) {
	o, calls := grownWidgets(), 0
	declare := o.resource
	o.resource = func(r *registry.ResourceOf[*widget]) {
		declare(r)
		r.Complete = func(*widget) { calls++ }
	}
	k := newKit(t, o)
	k.create(named("a", colored("red")))
	wantNames(t, "list", k.names(selectors(t, "ns", "", "")), "a")
	before := calls // the load may also have called Complete for the first object
	k.create(named("b", colored("red")))
	// The cache remembers the last write of each key until the event of that write has come. So the
	// second write of b must wait for the event of the first.
	wantNames(t, "list", k.names(selectors(t, "ns", "", "")), "a", "b")
	if _, err := k.change("b", func(w *widget) { w.Labels = map[string]string{"x": "y"} }); err != nil {
		t.Fatal(err)
	}
	if calls != before {
		t.Errorf("Complete was called %d times for what this process wrote", calls-before)
	}
}

// TestRestoreFails: an entry that cannot be completed is unreadable. Other entries are not
// affected.
func TestRestoreFails(t *testing.T) {
	o := grownWidgets(
		entry("a", `{"kind":"Widget","apiVersion":"test.example.com/v1alpha1","metadata":{"name":"a","namespace":"ns"},"paint":{}}`),
		entry("b", `{"kind":"Widget","apiVersion":"test.example.com/v1alpha1","metadata":{"name":"b","namespace":"ns"}}`),
		entry("c", `{"kind":"Gadget","apiVersion":"test.example.com/v1alpha1","metadata":{"name":"c","namespace":"ns"}}`),
	)
	k := newKit(t, o)
	if w := k.get("b"); w.Spec.Color != "black" {
		t.Errorf("b: got %s", text(w))
	}
	for name, why := range map[string]string{"a": "paint", "c": "Gadget"} {
		var status *meta.StatusError
		if _, err := k.Get(k.ctx, "ns", name, ""); !errors.As(err, &status) || status.Status.Code != 500 || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: got %v, want an error that names %s", name, err, why)
		}
	}
}

// TestCompleteIsNotDecoded: the load decodes an entry only if it may lack something. Complete runs
// on each decoded entry.
func TestCompleteIsNotDecoded(t *testing.T) {
	const (
		head     = `{"kind":"Widget","apiVersion":"test.example.com/v1","metadata":{"name":"a","namespace":"ns","uid":"u"}`
		older    = `{"kind":"Widget","apiVersion":"test.example.com/v1beta1","metadata":{"name":"a","namespace":"ns","uid":"u"}`
		stored   = `{"kind":"Widget","apiVersion":"test.example.com/v1alpha1","metadata":{"name":"a","namespace":"ns","uid":"u"}`
		complete = head + `,"spec":{"color":"red","size":3}}`
	)
	for _, tt := range []struct {
		name, value string
		decoded     int
	}{
		{"complete", complete, 0},
		{"lacks a default", head + `,"spec":{"size":3}}`, 1},
		{"lacks what Complete adds", head + `,"spec":{"color":"red"}}`, 1},
		{"lacks all", head + `}`, 1},
		{"of another version", older + `,"colour":"red"}`, 1},
		{"of a version that is only stored", stored + `,"paint":"red"}`, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, decoded := grownWidgets(entry("a", tt.value)), 0
			declare := o.resource
			o.types = func(s *scheme.Scheme) {
				addAncient(s)
				scheme.AddDefaulting(s, func(w *widget) { scheme.SetDefault(&w.Spec.Color, "white") }, "spec.color")
			}
			o.resource = func(r *registry.ResourceOf[*widget]) {
				declare(r)
				fill := r.Complete
				r.Complete = func(w *widget) {
					decoded++
					fill(w)
				}
				r.CompleteNeeds = []string{"spec.size"}
			}
			k := newKit(t, o)
			wantNames(t, "list", k.names(selectors(t, "ns", "", "")), "a")
			w := k.get("a")
			if decoded != tt.decoded {
				t.Errorf("decoded %d times, want %d", decoded, tt.decoded)
			}
			if w.Spec.Color == "" || w.Spec.Size == 0 {
				t.Errorf("got %s, want a color and a size", text(w))
			}
		})
	}
}

// TestWrongCompleteNeeds: a mistake in CompleteNeeds is an error of the declaration, before any
// object is read.
func TestWrongCompleteNeeds(t *testing.T) {
	res := declaration()
	res.Complete, res.CompleteNeeds = func(*widget) {}, []string{"spec.size", "spec.sise"}
	_, err := newKit(t, options{}).Redeclare(registry.Typed(res))
	if err == nil || !strings.Contains(err.Error(), `CompleteNeeds of widgets.test.example.com: need "spec.sise" of registry_test.widget`) {
		t.Errorf("got %v", err)
	}
}
