package identity

import (
	"io"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/server/reload"
)

// TestIssuerMetrics: forget deletes the series about the keys of one issuer, and no others.
func TestIssuerMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := newIssuerMetrics()
	if err := reg.Register(m); err != nil {
		t.Fatal(err)
	}
	issuers := func() (found []string) {
		t.Helper()
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, metric := range f.GetMetric() {
				for _, l := range metric.GetLabel() {
					if l.GetName() == "jwt_issuer_hash" {
						found = append(found, l.GetValue())
					}
				}
			}
		}
		slices.Sort(found)
		return found
	}
	for _, issuer := range []string{"https://a", "https://b"} {
		m.keysFetched(issuer, []byte("keys"), nil)
		m.keysFetched(issuer, nil, io.ErrUnexpectedEOF)
	}
	a, b := reload.HashLabel("https://a"), reload.HashLabel("https://b")
	want := []string{a, a, a, b, b, b} // a success, a failure, and the keys
	slices.Sort(want)
	if got := issuers(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	m.forget("https://a")
	if got := issuers(); !slices.Equal(got, []string{b, b, b}) {
		t.Errorf("after forget: got %q, want %s alone", got, b)
	}
}
