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

// Punt is a kind with rules in its tags: one that compares what cannot be compared, and one of a field that there is not.
type Punt struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Pole            string     `json:"pole,omitempty" rule:"self > 1"`
	Seats           []PuntSeat `json:"seats,omitempty"`
}

// PuntSeat is a part of it.
type PuntSeat struct {
	Wide bool `json:"wide" rule:"self.width"`
}

// TestRuleMistakes: a mistake in a rule of a user's own type is told at start.
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
