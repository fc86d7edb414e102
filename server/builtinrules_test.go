package server

import (
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/cel/rules"
)

// TestBuiltInRules compiles the rules of the kinds that come with the server, which are not looked
// into at start.
func TestBuiltInRules(t *testing.T) {
	s := scheme.New()
	for _, g := range coreGroups(APIConfig{}, surroundings{}) {
		g.AddToScheme(s)
	}
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	for _, gvk := range s.AllKinds() {
		hub, ok := s.HubKind(gvk.GroupKind())
		if !ok {
			continue
		}
		if err := rules.OfType(s.Type(hub)).Err(); err != nil {
			t.Errorf("%s: %v", gvk, err)
		}
	}
}
