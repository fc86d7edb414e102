package filters

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// impersonationMetrics count and time what Impersonate does, under the names that Kubernetes uses.
type impersonationMetrics struct {
	requests  byMode // with its headers
	questions byMode // to the authorizer
}

// byMode are attempts by mode of impersonation and by decision. What belongs to both is looked up when it first happens: modes that
// nobody uses are not shown.
type byMode struct {
	attempts
	known [1 + len(impersonationModes)][2]atomic.Pointer[attempt] // the first mode is none; denied and allowed
}

// took counts an attempt; m is nil if no mode allowed it.
func (b *byMode) took(m *impersonationMode, allowed bool, d time.Duration) {
	place, decision, label := 1+slices.Index(impersonationModes[:], m), 0, "denied"
	if allowed {
		decision, label = 1, "allowed"
	}
	known := &b.known[place][decision]
	a := known.Load()
	if a == nil {
		looked := b.of(m.label(), label)
		a = &looked
		known.Store(a)
	}
	a.took(d)
}

func newImpersonationMetrics(reg prometheus.Registerer) *impersonationMetrics {
	m, labels := &impersonationMetrics{}, []string{"mode", "decision"}
	m.requests.attempts = newAttempts(reg, labels,
		"apiserver_impersonation_attempts_total", "Requests to be served as somebody else, by how that was allowed.",
		"apiserver_impersonation_attempts_duration_seconds", "Time to decide whether a request may be served as somebody else, in seconds.")
	m.questions.attempts = newAttempts(reg, labels,
		"apiserver_impersonation_authorization_attempts_total", "Questions to the authorizer for impersonation.",
		"apiserver_impersonation_authorization_attempts_duration_seconds", "Time of questions to the authorizer for impersonation, in seconds.")
	return m
}
