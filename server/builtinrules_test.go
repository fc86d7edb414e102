package server

import (
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/cel/rules"
)

// TestBuiltInRules compiles the rules of all built-in kinds. A server compiles each rule only at
// its first use.
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
