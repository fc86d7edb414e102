package apply

import (
	"context"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// one is a kind in one version.
type one struct {
	kind   meta.GroupVersionKind
	schema *schema.Schema
}

func (o one) Schema(apiVersion string) *schema.Schema {
	if apiVersion == o.kind.GroupVersion().String() {
		return o.schema
	}
	return nil
}

func (one) Convert(context.Context, any, string, string) (any, error) { panic("there is one version") }

func (o one) Empty(apiVersion string) (any, error) {
	return map[string]any{"apiVersion": apiVersion, "kind": o.kind.Kind}, nil
}

func configMapDoor() *Door {
	kind := meta.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	return &Door{Versions: one{kind, schema.FromType(typeinfo.For[corev1.ConfigMap]())}, Kind: kind}
}

func BenchmarkUpdate(b *testing.B) {
	d := configMapDoor()
	live, obj := Object{Tree: jsontext.RawOf(configMap("x")), Stored: true}, Object{Tree: jsontext.RawOf(configMap("y"))}
	by := Writer{Manager: "m", Now: time.Unix(1e9, 0)}
	var err error
	live.Managed, err = d.Update(b.Context(), Object{Tree: jsontext.Raw(`{"apiVersion":"v1","kind":"ConfigMap"}`)}, live, by)
	if err != nil {
		b.Fatal(err)
	}
	by.Manager = "other"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Update(b.Context(), live, obj, by); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	d := configMapDoor()
	by := Writer{Manager: "m", Now: time.Unix(1e9, 0)}
	first, err := d.Apply(b.Context(), Object{Tree: jsontext.Raw(`{"apiVersion":"v1","kind":"ConfigMap"}`)}, eager(b, configMap("x")).(map[string]any), by, false)
	if err != nil {
		b.Fatal(err)
	}
	live := Object{Tree: jsontext.RawOf(configMap("x")), Managed: first.Managed, Stored: true}
	config := eager(b, configMap("y")).(map[string]any)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Apply(b.Context(), live, config, by, false); err != nil {
			b.Fatal(err)
		}
	}
}
