package apply_test

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/apply"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// TestPrune applies a Service without the port that the same manager applied before. The fields
// that only this manager owns are removed. If another manager owns the port, the fields of the port
// that no manager owns stay.
func TestPrune(t *testing.T) {
	door := &apply.Door{
		Versions: kinds{"v1": schema.FromType(typeinfo.For[corev1.Service]())}, Kind: meta.GroupVersionKind{Version: "v1", Kind: "Service"},
	}
	const (
		head = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"n","namespace":"ns"},"spec":{"type":"ClusterIP","ports":[`
		port = `{"port":80,"protocol":"TCP","name":"web","nodePort":30080,"targetPort":8080}`
		key  = `"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:protocol":{}`
	)
	entry := func(manager string, operation meta.ManagedFieldsOperationType, fields string) meta.ManagedFieldsEntry {
		return meta.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: &meta.FieldsV1{Raw: []byte(`{"f:spec":{"f:ports":{` + key + fields + `}}}}`)}}
	}
	for _, tt := range []struct {
		name   string
		owners []meta.ManagedFieldsEntry
		left   string
	}{
		{"no other manager owns the port", nil, ``},
		{"another manager owns the port", []meta.ManagedFieldsEntry{entry("other", "Update", `,"f:targetPort":{}`)},
			`{"nodePort":30080,"port":80,"protocol":"TCP","targetPort":8080}`},
	} {
		live := apply.Object{Tree: lazy(head + port + `]}}`), Stored: true,
			Managed: append(tt.owners, entry("me", "Apply", `,"f:name":{}`))}
		applied, err := door.Apply(t.Context(), live, eager(t, strings.TrimSuffix(head, `"type":"ClusterIP","ports":[`)+`}}`), apply.Writer{Manager: "me"}, false)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got, err := jsontext.AppendTree(nil, applied.Tree, jsontext.Plain)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(head+tt.left+`]}}`, `,"ports":[]`, "", 1)
		if !jsontext.Equal(eager(t, string(got)), eager(t, want)) {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, want)
		}
	}
}
