package kind_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

func TestConverters(t *testing.T) {
	boom := errors.New("boom")
	for _, tt := range []struct {
		name string
		fn   func(ctx context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error)
		says string // "" for success
	}{
		{"none", nil, ""},
		{"failing", func(context.Context, *scheme.Unstructured, string) (*scheme.Unstructured, error) { return nil, boom },
			"conversion from test.example.com/v1 to test.example.com/v1beta1: boom"},
		{"one that ignores the version", func(_ context.Context, u *scheme.Unstructured, _ string) (*scheme.Unstructured, error) { return u, nil },
			"conversion from test.example.com/v1 to test.example.com/v1beta1: the result is a test.example.com/v1, Kind=Gadget"},
		{"one that makes another kind", func(_ context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error) {
			u.APIVersion, u.Kind = gadgets.Group+"/"+version, "Other"
			return u, nil
		}, "Kind=Other"},
		{"one that returns nothing", func(context.Context, *scheme.Unstructured, string) (*scheme.Unstructured, error) { return nil, nil },
			"the result is null"},
		{"one that waits", func(ctx context.Context, _ *scheme.Unstructured, _ string) (*scheme.Unstructured, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, "context canceled"},
		{"one that answers with a Status", func(context.Context, *scheme.Unstructured, string) (*scheme.Unstructured, error) {
			return nil, &meta.StatusError{Status: meta.Status{Message: "the webhook is down", Code: 500}}
		}, "the webhook is down"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := declaration(t)
			if d.Convert = nil; tt.fn != nil {
				d.Convert = kind.Each(tt.fn)
			}
			k, err := d.New()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			obj := decode(t, k, red)
			out, err := k.Convert(ctx, obj, "v1beta1")
			wantTree(t, "the object that was given", k, obj, red)
			if tt.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				wantTree(t, "the result", k, out, strings.NewReplacer("/v1", "/v1beta1", `"color":"red",`, "").Replace(red))
				return
			}
			if err == nil || out != nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, %v, want an error that says %q", out, err, tt.says)
			}
			if status := (*meta.StatusError)(nil); errors.As(err, &status) && err.Error() != tt.says {
				t.Errorf("got %v, want the text of the Status alone", err)
			}
			if tt.name == "failing" && !errors.Is(err, boom) {
				t.Errorf("got %v, want it to wrap the converter's error", err)
			}
			if same, err := k.Convert(ctx, obj, "v1"); same != obj || err != nil {
				t.Errorf("to its own version: got %v, %v, want the object, unasked", same, err)
			}
		})
	}
}

func TestDynamicRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(d *kind.Dynamic)
	}{
		{"no versions", func(d *kind.Dynamic) { d.Versions = nil }},
		{"an unknown hub", func(d *kind.Dynamic) { d.Hub = "v7" }},
		{"a version twice", func(d *kind.Dynamic) { d.Versions[1].Name = "v1" }},
	} {
		d := declaration(t)
		tt.change(&d)
		if k, err := d.New(); err == nil || k != nil {
			t.Errorf("%s: got %v, %v, want an error", tt.name, k, err)
		}
	}
}

// TestDynamicHub: the hub need not be the preferred version.
func TestDynamicHub(t *testing.T) {
	d := declaration(t)
	d.Hub = "v1beta1"
	k, err := d.New()
	if err != nil {
		t.Fatal(err)
	}
	if got := k.New().GetTypeMeta().GroupVersionKind(); got != v1beta1 {
		t.Errorf("New: got a %v", got)
	}
	hub, err := kind.ToHub(t.Context(), k, decode(t, k, red))
	if err != nil {
		t.Fatal(err)
	}
	wantTree(t, "the hub", k, hub, oldRed)
	if k.Versions()[0].GVK != v1 {
		t.Errorf("preferred: got %v, want v1", k.Versions()[0].GVK)
	}
}

// TestDynamicWithoutSchema: a kind without a schema keeps all fields.
func TestDynamicWithoutSchema(t *testing.T) {
	k, err := kind.Dynamic{GroupKind: gadgets, Versions: []kind.DynamicVersion{{Name: "v1"}}}.New()
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"kind":"Gadget","apiVersion":"test.example.com/v1","metadata":{"name":"a"},"any":{"thing":[1,{"x":null}]}}`
	out, err := k.Decode(codec.DecodeRequest{Data: []byte(text), Strict: true})
	if err != nil || len(out.Strict) > 0 {
		t.Fatalf("got %v, %v", out.Strict, err)
	}
	if err := k.Default(t.Context(), out.Object); err != nil {
		t.Fatal(err)
	}
	wantTree(t, "the object", k, out.Object, text)
	if errs := k.Check(t.Context(), out.Object.(meta.Object), nil, "v1"); len(errs) > 0 {
		t.Errorf("Check: got %v", errs)
	}
}

// TestDefaultTooLarge refuses a small object that defaults would make much larger.
func TestDefaultTooLarge(t *testing.T) {
	s, errs := schema.Parse(nil, []byte(`{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{
		"a":{"type":"string","default":"`+strings.Repeat("x", 1<<20)+`"}}}}}}`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	k, err := kind.Dynamic{GroupKind: gadgets, Versions: []kind.DynamicVersion{{Name: "v1", Schema: s}}}.New()
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]int32{1: 0, 100: 413} {
		obj := decode(t, k, `{"list":[`+strings.Repeat(`{},`, n-1)+`{}]}`)
		var code int32
		var status *meta.StatusError
		if err := k.Default(t.Context(), obj); errors.As(err, &status) {
			code = status.Status.Code
		}
		if code != want {
			t.Errorf("%d elements: got code %d, want %d", n, code, want)
		}
	}
}
