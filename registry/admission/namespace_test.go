package admission_test

import (
	"context"
	"errors"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestNamespaceLookedUpOnce: the plugins of a try share one look-up of the namespace, if it is
// fresh enough for each of them.
func TestNamespaceLookedUpOnce(t *testing.T) {
	f := &fakeNamespaces{cached: map[string]string{"ns": "Active"}, stored: map[string]string{"ns": "Terminating"}}
	namespaces := admission.NewNamespaces(f.lookUp)
	a := &admission.Attributes{Operation: admission.Update, Namespace: "ns"}
	for i, step := range []struct {
		fresh       request.Freshness
		terminating bool
		reads       int
	}{
		{request.Cached, false, 1}, {request.Cached, false, 1}, {request.Consistent, true, 2}, {request.Cached, true, 2},
		{request.Consistent, true, 2},
	} {
		got, err := namespaces.Of(t.Context(), a, step.fresh)
		if err != nil || got.Terminating != step.terminating || f.reads != step.reads {
			t.Errorf("step %d: got %+v, %v after %d reads, want %+v", i, got, err, f.reads, step)
		}
		if phase, _ := got.Labels.Get("phase"); (phase == "Terminating") != step.terminating {
			t.Errorf("step %d: got the label %q", i, phase)
		}
	}
	f.stored["ns"] = "Active"
	if err := (admission.Chain{}).Mutate(t.Context(), a); err != nil { // the next try begins
		t.Fatal(err)
	}
	if got, err := namespaces.Of(t.Context(), a, request.Consistent); err != nil || got.Terminating || f.reads != 3 {
		t.Errorf("in the next try: got %+v, %v after %d reads", got, err, f.reads)
	}
	failed := errors.New("away")
	calls := 0
	namespaces = admission.NewNamespaces(func(context.Context, string, request.Freshness) (admission.Namespace, error) {
		if calls++; calls == 1 {
			return admission.Namespace{}, failed
		}
		return admission.Namespace{Labels: meta.Set(nil)}, nil
	})
	a = &admission.Attributes{Namespace: "ns"}
	if _, err := namespaces.Of(t.Context(), a, request.Consistent); !errors.Is(err, failed) {
		t.Errorf("got %v, want the error of the look-up", err)
	}
	if _, err := namespaces.Of(t.Context(), a, request.Consistent); err != nil {
		t.Errorf("an error was kept: %v", err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = namespaces.Of(t.Context(), a, request.Consistent) }); n > 0 {
		t.Errorf("a look-up in the attributes allocates %v times", n)
	}
}
