//go:build !race

package admissionpolicy_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/admissionpolicy"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// textSize is the length of the validations of a long policy, which is about what etcd takes.
const textSize = 1 << 20

// longPolicy returns a policy with as many validations as fit. each returns the i-th.
func longPolicy(each func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < textSize; i++ {
		fmt.Fprintf(&b, "\n  - {expression: %q}", each(i))
	}
	return validatingPolicy("long", "\n  validations:"+b.String())
}

// others is a policy that refuses all secrets.
const others = `
kind: ValidatingAdmissionPolicy
metadata: {name: others}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [secrets]}]}
  validations: [{expression: "object.metadata.name == ''"}]`

// longWorld is a world whose plugin any number of goroutines may call. began is closed when the
// plugin is about to evaluate the first policy.
func longWorld(t *testing.T, policies ...string) (w *world, began chan struct{}) {
	w = newWorld(t)
	w.set(policies...)
	began = make(chan struct{})
	begin := sync.OnceFunc(func() { close(began) })
	about := &admissionpolicy.World{
		Matching: &matching.World{},
		Namespace: func(_ context.Context, name string) (*corev1.Namespace, error) {
			begin()
			return &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}}, nil
		},
	}
	w.validator = admissionpolicy.NewValidating(about, source(w, &w.validating), source(w, &w.validatingBound))
	return w, began
}

// TestHostileText: a policy of a megabyte of short expressions is compiled, once, in memory that
// its text bounds. Meanwhile others write whom the policy is not for.
func TestHostileText(t *testing.T) {
	for name, tt := range map[string]struct {
		each func(i int) string
		made uint64 // MiB that are allocated at most while the policy is compiled
		kept uint64 // MiB that it takes at most
		want string // in the answer
	}{
		"fields": {func(i int) string { return fmt.Sprintf("object.data.a == '%d'", i) }, 1000, 60,
			"failed expression: object.data.a == '0'"},
		"patterns": {func(int) string { return "object.data.a.matches('((a{10}){10}){10}')" }, 2000, 120, "failed expression"},
		"errors":   {func(i int) string { return fmt.Sprint("no", i) }, 1000, 60, "undeclared reference to 'no0'"},
	} {
		t.Run(name, func(t *testing.T) {
			w, began := longWorld(t, longPolicy(tt.each), validatingBinding("b", "long", "\n  validationActions: [Deny]"),
				others, validatingBinding("c", "others", "\n  validationActions: [Deny]"))
			judge := func() error {
				return w.validator.Validate(t.Context(), w.write(admission.Create, configMap("a", "1"), nil))
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			done := make(chan error, 1)
			go func() { done <- judge() }()
			<-began
			for range 100 {
				secret := w.write(admission.Create, &corev1.Secret{ObjectMeta: meta.ObjectMeta{Name: "s", Namespace: "ns"}}, nil)
				secret.Resource.Resource, secret.Kind.Kind = "secrets", "Secret"
				if err := w.validator.Validate(t.Context(), secret); err == nil || !strings.Contains(err.Error(), "'others'") {
					t.Fatalf("a write that the policy is not for: got %v", err)
				}
			}
			select {
			case err := <-done:
				t.Fatalf("others have waited for the policy: %.300v", err)
			default:
			}
			if err := <-done; err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %.300v, want %q", err, tt.want)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			made, kept := (after.TotalAlloc-before.TotalAlloc)>>20, (after.HeapAlloc-before.HeapAlloc)>>20
			if t.Logf("made %d MiB, keeps %d MiB", made, kept); made > tt.made || after.HeapAlloc > before.HeapAlloc && kept > tt.kept {
				t.Errorf("made %d MiB and keeps %d MiB, want at most %d and %d", made, kept, tt.made, tt.kept)
			}
			again := testing.AllocsPerRun(1, func() { _ = judge() })
			if again*10 > float64(after.Mallocs-before.Mallocs) {
				t.Errorf("the first request allocates %d times, and the next one %v times", after.Mallocs-before.Mallocs, again)
			}
		})
	}
}
