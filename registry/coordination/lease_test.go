package coordination

import (
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
)

func TestLease(t *testing.T) {
	s := Resources()[0].Strategy
	for _, tt := range []struct {
		name                  string
		duration, transitions int32
		want                  string
	}{
		{"good", 15, 0, ""},
		{"no duration", 0, 0, "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"},
		{"negative", 5, -1, "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"},
	} {
		l := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: &tt.duration, LeaseTransitions: &tt.transitions}}
		got := ""
		if err := s.Validate(l, nil).ToAggregate(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	word := func(s string) *string { return &s }
	const lonely = "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"
	const unknown = "spec.strategy.strategy: Unsupported value: "
	for _, tt := range []struct {
		holder, strategy *string
		want             string
	}{
		{word("h"), word("OldestEmulationVersion"), ""}, {word("h"), nil, lonely}, {word("h"), word(""), unknown + `"": supported values: "OldestEmulationVersion"` + "\n" + lonely},
		{word(""), nil, ""}, {nil, nil, ""}, {nil, word("a.example/b"), ""},
		{nil, word("Newest"), unknown + `"Newest": supported values: "OldestEmulationVersion"`},
		{nil, word("a/b/c"), `spec.strategy.strategy: Invalid value: "a/b/c": a valid label key must consist of alphanumeric characters, '-', '_' or '.', ` +
			"and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
			"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"},
	} {
		l := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{PreferredHolder: tt.holder, Strategy: (*coordinationv1.CoordinatedLeaseStrategy)(tt.strategy)}}
		checktest.Want(t, s.Validate(l, nil), tt.want)
	}
	if s.AllowUnconditionalUpdate || !s.AllowCreateOnUpdate {
		t.Error("leases are created by PUT, and replaced with a version only")
	}
}

func TestElectionFieldsAreDropped(t *testing.T) {
	s := Resources()[0].Strategy
	strategy, holder := coordinationv1.OldestEmulationVersion, "h"
	l := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{Strategy: &strategy, PreferredHolder: &holder}}
	old := &coordinationv1.Lease{Spec: l.Spec}
	s.Prepare(nil, l, old)
	if l.Spec.Strategy == nil {
		t.Error("strategy: got none, want the old lease's kept")
	}
	for _, one := range []coordinationv1.LeaseSpec{{PreferredHolder: &holder}, {Strategy: &strategy}} {
		s.Prepare(nil, l, &coordinationv1.Lease{Spec: one})
		if l.Spec.Strategy == nil || l.Spec.PreferredHolder == nil {
			t.Errorf("got %+v, want the fields kept of a lease that had one of them", l.Spec)
		}
	}
	s.Prepare(nil, l, nil)
	if l.Spec.Strategy != nil || l.Spec.PreferredHolder != nil {
		t.Errorf("got %+v, want no election fields", l.Spec)
	}
}

func TestTable(t *testing.T) {
	holder := "me"
	l := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	l.Name = "l"
	table := Resources()[0].Table
	cells := table.Cells(l, time.Now())
	if len(cells) != len(table.Columns) || cells[0] != "l" || cells[1] != "me" || cells[2] != "<unknown>" {
		t.Errorf("cells: got %v", cells)
	}
}
