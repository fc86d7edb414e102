package apply

import (
	"context"
	"fmt"
	"strings"
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

// configMap is one of 20 fields, of which one says something.
func configMap(says string) string {
	var b strings.Builder
	b.WriteString(`{"apiVersion":"v1","data":{`)
	for i := range 19 {
		fmt.Fprintf(&b, `"key-%02d":"value %d",`, i, i)
	}
	return b.String() + `"key-19":"` + says + `"},"kind":"ConfigMap","metadata":{"labels":{"app":"x"},"name":"n","namespace":"ns"}}`
}

func raw(text string) any { return jsontext.RawOf([]byte(text)) }

func whole(text string) map[string]any {
	tree, err := jsontext.Decode([]byte(text), nil)
	if err != nil {
		panic(err)
	}
	return tree.(map[string]any)
}

func BenchmarkCheck(b *testing.B) {
	d := configMapDoor()
	tree := raw(configMap("x"))
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(tree, d.Versions.Schema("v1"), true); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	d := configMapDoor()
	live, obj := Object{Tree: raw(configMap("x")), Stored: true}, Object{Tree: raw(configMap("y"))}
	by := Writer{Manager: "m", Now: time.Unix(1e9, 0)}
	var err error
	live.Managed, err = d.Update(b.Context(), Object{Tree: raw(`{"apiVersion":"v1","kind":"ConfigMap"}`)}, live, by)
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
	first, err := d.Apply(b.Context(), Object{Tree: raw(`{"apiVersion":"v1","kind":"ConfigMap"}`)}, whole(configMap("x")), by, false)
	if err != nil {
		b.Fatal(err)
	}
	live := Object{Tree: raw(configMap("x")), Managed: first.Managed, Stored: true}
	config := whole(configMap("y"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Apply(b.Context(), live, config, by, false); err != nil {
			b.Fatal(err)
		}
	}
}
