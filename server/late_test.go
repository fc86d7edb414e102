package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
)

// Kayak and NarrowKayak are two versions of a kind. The server's scheme does not have their Go
// types.
type Kayak struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Seats           int32      `json:"seats,omitempty" pb:"2" default:"1" check:"min=1"`
	Hatches         []KayakBay `json:"hatches,omitempty" pb:"3" list:"map,key=name" patch:"merge,key=name"`
}

type NarrowKayak struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Crew            int32      `json:"crew,omitempty" pb:"2"`
	Hatches         []KayakBay `json:"hatches,omitempty" pb:"3" list:"map,key=name" patch:"merge,key=name"`
}

type KayakBay struct {
	Name   string `json:"name" pb:"1"`
	Litres int32  `json:"litres,omitempty" pb:"2"`
}

// kayaks declares kayaks with a scheme of their own.
func kayaks(t *testing.T) registry.Resource {
	t.Helper()
	s := scheme.New()
	gk := meta.GroupKind{Group: "kayaks.example.com", Kind: "Kayak"}
	s.AddKnownType(meta.GroupVersionKind{Group: gk.Group, Version: "v2", Kind: gk.Kind}, &Kayak{})
	s.AddKnownType(meta.GroupVersionKind{Group: gk.Group, Version: "v1", Kind: gk.Kind}, &NarrowKayak{})
	scheme.AddConversion(s, func(in *NarrowKayak, out *Kayak) error {
		out.Seats = in.Crew
		return scheme.ConvertFields(s, in, out)
	})
	scheme.AddConversion(s, func(in *Kayak, out *NarrowKayak) error {
		out.Crew = in.Seats
		return scheme.ConvertFields(s, in, out)
	})
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	return registry.Typed(registry.ResourceOf[*Kayak]{
		GroupResource: meta.GroupResource{Group: gk.Group, Resource: "kayaks"}, Kind: gk.Kind, Singular: "kayak", Namespaced: true,
		Type: kind.NewTypes(s, codec.NewFactory(s)).Kind(gk),
	})
}

// TestLateGoType: a kind with Go types that is installed while the server runs works like those
// installed before.
func TestLateGoType(t *testing.T) {
	p := newInProcess(t)
	if err := p.Install(p.Core, server.Group{Name: "kayaks.example.com", Resources: []registry.Resource{kayaks(t)}}); err != nil {
		t.Fatal(err)
	}
	const v1, v2 = "/apis/kayaks.example.com/v1/namespaces/ns/kayaks", "/apis/kayaks.example.com/v2/namespaces/ns/kayaks"
	for _, tt := range []struct {
		code                             int
		method, target, body, want, kind string
	}{
		{201, "POST", v2, `{"metadata":{"name":"a"},"hatches":[{"name":"bow","litres":20}]}`, `"seats":1`, ""},
		{201, "POST", v1, `{"metadata":{"name":"b"},"crew":2}`, `"crew":2`, ""},
		{422, "POST", v2, `{"metadata":{"name":"c"},"seats":-1}`, `must be greater than or equal to 1`, ""},
		{200, "PATCH", v2 + "/a", `{"hatches":[{"name":"stern","litres":30}]}`, `"name":"bow"`, "application/strategic-merge-patch+json"},
		{200, "GET", v1 + "/a", "", `"crew":1`, ""},
		{200, "GET", v1, "", `"crew":2`, ""},
		{200, "GET", "/openapi/v3/apis/kayaks.example.com/v2", "", `"x-kubernetes-patch-merge-key":"name"`, ""},
	} {
		var header []string
		if tt.kind != "" {
			header = []string{"Content-Type", tt.kind}
		}
		if code, body := p.do(tt.method, tt.target, tt.body, header...); code != tt.code || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: got %d %s, want %d with %s", tt.method, tt.target, code, body, tt.code, tt.want)
		}
	}
	for _, target := range []string{v1 + "/a", v2} {
		code, body := p.do("GET", target, "", "Accept", "application/vnd.kubernetes.protobuf")
		if code != http.StatusOK || !codec.IsProtobuf([]byte(body)) {
			t.Errorf("GET %s as protobuf: got %d", target, code)
		}
	}
}
