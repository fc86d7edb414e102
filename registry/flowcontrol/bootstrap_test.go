package flowcontrol

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
)

// TestBootstrap checks that the mandatory and suggested objects are valid, that defaults change
// nothing in them, and that each schema refers to a level that exists.
func TestBootstrap(t *testing.T) {
	mandatory, suggested := Mandatory(), Suggested()
	levels := slices.Concat(mandatory.Levels, suggested.Levels)
	schemas := slices.Concat(mandatory.Schemas, suggested.Schemas)
	if len(levels) != 8 || len(schemas) != 11 {
		t.Errorf("got %d levels and %d schemas, want 8 and 11", len(levels), len(schemas))
	}
	names := map[string]bool{}
	for _, l := range levels {
		if names[l.Name] {
			t.Errorf("two levels have the name %s", l.Name)
		}
		names[l.Name] = true
		checktest.Want(t, checktest.Resource(t, Resources(), "PriorityLevelConfiguration").Strategy.Validate(l, nil), "")
		if got := checktest.Decode[flowcontrolv1.PriorityLevelConfiguration](t, encoded(t, l)); !scheme.Equal(&got.Spec, &l.Spec) {
			t.Errorf("defaults change the level %s", l.Name)
		}
	}
	seen := map[string]bool{}
	for _, fs := range schemas {
		if seen[fs.Name] {
			t.Errorf("two schemas have the name %s", fs.Name)
		}
		seen[fs.Name] = true
		if to := fs.Spec.PriorityLevelConfiguration.Name; !names[to] {
			t.Errorf("the schema %s refers to the level %q, which does not exist", fs.Name, to)
		}
		checktest.Want(t, checktest.Resource(t, Resources(), "FlowSchema").Strategy.Validate(fs, nil), "")
		if got := checktest.Decode[flowcontrolv1.FlowSchema](t, encoded(t, fs)); !scheme.Equal(&got.Spec, &fs.Spec) {
			t.Errorf("defaults change the schema %s", fs.Name)
		}
	}
}

func encoded(t *testing.T, obj any) string {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMandatoryIsCopied checks that a change of the objects of one call changes neither those of
// the next call nor validation.
func TestMandatoryIsCopied(t *testing.T) {
	first := Mandatory()
	first.Schemas[0].Spec.Rules[0].Subjects[0].Group.Name = "others"
	*first.Levels[1].Spec.Limited.NominalConcurrencyShares = 99
	next := Mandatory()
	if got := next.Schemas[0].Spec.Rules[0].Subjects[0].Group.Name; got != "system:masters" {
		t.Errorf("got the group %q", got)
	}
	if got := *next.Levels[1].Spec.Limited.NominalConcurrencyShares; got != 5 {
		t.Errorf("got %d shares, want 5", got)
	}
}
