package rbac

import (
	"context"
	"errors"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/rbacv1"
)

// TestMissingIsBounded checks that MissingRights returns at most maxMissingRights rights, and that
// it stops when its context ends.
func TestMissingIsBounded(t *testing.T) {
	var words []string
	for i := range 5000 {
		words = append(words, string(rune('a'+i%26))+string(rune('a'+i/26)))
	}
	rules := []rbacv1.PolicyRule{{Verbs: words, APIGroups: words, Resources: words, ResourceNames: words}}
	if got, err := MissingRights(t.Context(), nil, rules); len(got) != maxMissingRights || err != nil {
		t.Errorf("got %d rights, %v, want %d", len(got), err, maxMissingRights)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := MissingRights(ctx, rules, rules); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
