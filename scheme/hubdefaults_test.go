package scheme_test

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// shapedHub shares Part, which has defaults, with the versions of Gadget. The defaults of its own
// fields are a mistake.
type shapedHub struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Parts           []Part `json:"parts,omitempty"`
	Shape           shape  `json:"shape,omitempty"`
}

type shape struct {
	Form string `json:"form,omitempty" default:"round"`
}

type plainHub struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Parts           []Part     `json:"parts,omitempty"`
	Shape           plainShape `json:"shape,omitempty"`
}

type plainShape struct {
	Form string `json:"form,omitempty"`
}

type shapedGadget struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Parts           []Part     `json:"parts,omitempty"`
	Shape           plainShape `json:"shape,omitempty"`
}

// TestHubDefaults: objects are completed in their versions, so Complete reports defaults of structs
// that only a hub has.
func TestHubDefaults(t *testing.T) {
	gk := meta.GroupKind{Group: v1.Group, Kind: "Gadget"}
	for _, tt := range []struct {
		name string
		add  func(*scheme.Scheme)
		want string
	}{
		{"none of its own", func(s *scheme.Scheme) { s.AddHub(gk, &plainHub{}) }, ""},
		{"a tag", func(s *scheme.Scheme) { s.AddHub(gk, &shapedHub{}) }, "hub of Gadget.test.example.com: the defaults of scheme_test.shape have no effect"},
		{"a function", func(s *scheme.Scheme) {
			s.AddHub(gk, &plainHub{})
			scheme.AddDefaulting(s, func(*plainHub) {})
		}, "hub of Gadget.test.example.com: the defaults of scheme_test.plainHub have no effect"},
		{"a type that is stored", func(s *scheme.Scheme) {
			s.AddHub(gk, &plainHub{})
			s.AddStored(v1beta1.WithKind("Gadget"), gk, &plainHub{})
			scheme.AddDefaulting(s, func(*plainHub) {})
		}, ""},
	} {
		s := scheme.New()
		s.AddKnownType(v1.WithKind("Gadget"), &shapedGadget{})
		tt.add(s)
		switch err := s.Complete(); {
		case tt.want == "" && err != nil:
			t.Errorf("%s: got %v, want no error", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}
