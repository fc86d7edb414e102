package core

import (
	"slices"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/policyv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestEvictionDryRun: an eviction is a dry run if its body says so or the request does. If they
// disagree, it is refused.
func TestEvictionDryRun(t *testing.T) {
	all, other := []string{meta.DryRunAll}, []string{"Other"}
	for _, tt := range []struct{ body, request, want []string }{
		{nil, nil, nil},
		{all, nil, all},
		{nil, all, all},
		{all, all, all},
	} {
		e := &policyv1.Eviction{DeleteOptions: &meta.DeleteOptions{DryRun: tt.body}}
		got, err := deleteOptions(e, &meta.CreateOptions{DryRun: tt.request})
		if err != nil || !slices.Equal(got.DryRun, tt.want) {
			t.Errorf("body %q, request %q: got %v, %v, want %q", tt.body, tt.request, got, err, tt.want)
		}
	}
	e := &policyv1.Eviction{DeleteOptions: &meta.DeleteOptions{DryRun: all}}
	if _, err := deleteOptions(e, &meta.CreateOptions{DryRun: other}); err == nil {
		t.Error("a body and a request that disagree were accepted")
	}
}
