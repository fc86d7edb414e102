package meta

import (
	"fmt"
	"strings"
	"testing"
)

func TestDropRepeatedOwners(t *testing.T) {
	yes, no, also := true, false, true
	a := OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "a", UID: "1"}
	other, controls, same, denies := a, a, a, a
	other.Name = "b" // the same uid, but not the same reference
	controls.Controller, same.Controller, denies.Controller = &yes, &also, &no
	for _, tt := range []struct {
		name     string
		refs     []OwnerReference
		admitted bool
		left     int
		warning  string
	}{
		{"none", nil, false, 0, ""},
		{"one", []OwnerReference{a}, false, 1, ""},
		{"different", []OwnerReference{a, other, controls, denies}, false, 4, ""},
		{"twice", []OwnerReference{a, other, a}, false, 2, ".metadata.ownerReferences contains duplicate entries; API server dedups owner " +
			"references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: 1"},
		{"by value", []OwnerReference{controls, same, controls}, true, 1, ".metadata.ownerReferences contains duplicate entries after mutating " +
			"admission happens; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix " +
			"your requests; duplicate UID(s) observed: 1, 1"},
	} {
		m := &ObjectMeta{OwnerReferences: tt.refs}
		if got := DropRepeatedOwners(m, tt.admitted); got != tt.warning || len(m.OwnerReferences) != tt.left {
			t.Errorf("%s: got %q, %d left, want %q, %d", tt.name, got, len(m.OwnerReferences), tt.warning, tt.left)
		}
	}
}

// TestManyOwners has as many references as a request can have. Each of them is visited once.
func TestManyOwners(t *testing.T) {
	const many = 100_000
	m := &ObjectMeta{OwnerReferences: make([]OwnerReference, many)}
	allocs := testing.AllocsPerRun(1, func() {
		m.OwnerReferences = m.OwnerReferences[:1:1]
		m.OwnerReferences = append(m.OwnerReferences, make([]OwnerReference, many)...)
		if warning := DropRepeatedOwners(m, false); len(m.OwnerReferences) != 1 || len(warning) > 4096 || strings.Count(warning, ",") < maxRepeatedOwners-1 {
			t.Errorf("got %d left, a warning of %d bytes", len(m.OwnerReferences), len(warning))
		}
	})
	if allocs > 50 {
		t.Errorf("got %v allocations for %d references", allocs, many)
	}
	for i := range many {
		m.OwnerReferences = append(m.OwnerReferences, OwnerReference{UID: "one", Name: fmt.Sprint(i)})
	}
	if DropRepeatedOwners(m, false) != "" || len(m.OwnerReferences) != many+1 {
		t.Errorf("got %d left of %d that differ", len(m.OwnerReferences), many+1)
	}
}
