package server_test

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// Punt is a kind with invalid rules in its tags: one compares different types, and one names a
// field that does not exist.
type Punt struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Pole            string     `json:"pole,omitempty" rule:"self > 1"`
	Seats           []PuntSeat `json:"seats,omitempty"`
}

// PuntSeat is a seat of a Punt.
type PuntSeat struct {
	Wide bool `json:"wide" rule:"self.width"`
}

// TestRuleMistakes: a mistake in a rule of a user's own type is an error when the server is made.
func TestRuleMistakes(t *testing.T) {
	_, err := servertest.New(t, server.Config{DataDir: t.TempDir(), API: server.APIConfig{Groups: []server.Group{{
		Name: "punts.example.com",
		AddToScheme: func(s *scheme.Scheme) {
			s.AddKnownTypes(meta.GroupVersion{Group: "punts.example.com", Version: "v1"}, &Punt{})
		},
		Resources: []registry.Resource{registry.Typed(registry.ResourceOf[*Punt]{
			GroupResource: meta.GroupResource{Group: "punts.example.com", Resource: "punts"}, Kind: "Punt",
		})},
	}}}})
	for _, want := range []string{"rules of Punt.punts.example.com", `pole: Invalid value: "self > 1"`, `seats[*].wide: Invalid value: "self.width"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New: got %v, want %s in it", err, want)
		}
	}
}

// Canoe is a kind whose hub has few checks.
type Canoe struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Seats           int32  `json:"seats,omitempty" check:"max=9"`
	Paint           string `json:"paint,omitempty"`
}

// AlphaCanoe is a version with further checks.
type AlphaCanoe struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Seats           int32  `json:"seats,omitempty" check:"min=0,max=1"`
	Paint           string `json:"paint,omitempty" check:"immutable" rule:"self != 'pink'" message:"not pink"`
}

// BetaCanoe is a version with the checks of the hub.
type BetaCanoe struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Seats           int32  `json:"seats,omitempty" check:"max=9"`
	Paint           string `json:"paint,omitempty"`
}

// TestVersionChecks: the checks in the tags of a version apply to writes in that version, and to no
// others.
func TestVersionChecks(t *testing.T) {
	const group = "canoes.example.com"
	p := newInProcess(t, func(c *server.Config) {
		c.API.Core = true
		c.API.Groups = []server.Group{{
			Name: group,
			AddToScheme: func(s *scheme.Scheme) {
				s.AddKnownTypes(meta.GroupVersion{Group: group, Version: "v1"}, &Canoe{})
				s.AddKnownType(meta.GroupVersionKind{Group: group, Version: "v1alpha1", Kind: "Canoe"}, &AlphaCanoe{})
				s.AddKnownType(meta.GroupVersionKind{Group: group, Version: "v1beta1", Kind: "Canoe"}, &BetaCanoe{})
			},
			Resources: []registry.Resource{registry.Typed(registry.ResourceOf[*Canoe]{
				GroupResource: meta.GroupResource{Group: group, Resource: "canoes"}, Kind: "Canoe", Namespaced: true,
			})},
		}}
	})
	const tooMany, pink = "seats: Invalid value: 7: must be less than or equal to 1", `paint: Invalid value: "pink": not pink`
	for _, tt := range []struct {
		method, version, fields string
		wrong                   string // all errors; "" for none
	}{
		{"POST", "v1alpha1", `"seats":7`, tooMany},
		{"POST", "v1beta1", `"seats":10`, "seats: Invalid value: 10: must be less than or equal to 9"},
		{"POST", "v1alpha1", `"seats":7,"paint":"pink"`, "[" + tooMany + ", " + pink + "]"},
		{"POST", "v1", `"seats":7`, ""},
		{"PATCH", "v1alpha1", `"seats":1,"paint":"pink"`, `[paint: Invalid value: "pink": field is immutable, ` + pink + "]"},
		{"PATCH", "v1alpha1", `"seats":7`, tooMany},
		{"PATCH", "v1beta1", `"paint":"red"`, ""},
		{"PATCH", "v1alpha1", `"seats":1,"paint":"blue"`, `paint: Invalid value: "blue": field is immutable`},
		{"PATCH", "v1alpha1", `"seats":1`, ""},
	} {
		at := "/apis/" + group + "/" + tt.version + "/namespaces/ns/canoes"
		if tt.method != "POST" {
			at += "/a"
		}
		code, answer := p.do(tt.method, at, `{"apiVersion":"`+group+"/"+tt.version+`","kind":"Canoe","metadata":{"name":"a"},`+tt.fields+`}`)
		want := ""
		if tt.wrong != "" {
			want = `Canoe.canoes.example.com "a" is invalid: ` + tt.wrong
		}
		if got := status(answer).Message; got != want || (code == 422) != (want != "") {
			t.Errorf("%s in %s of %s: got %d %s, want %q", tt.method, tt.version, tt.fields, code, got, want)
		}
	}
}
