package filters

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// impersonationMetrics count and time impersonations under Kubernetes' names.
type impersonationMetrics struct {
	requests  byMode // requests with Impersonate-* headers
	questions byMode // calls of the authorizer
}

// byMode are attempts by mode of impersonation and by decision. A combination is looked up when it
// first happens, so that modes that nobody uses are not shown.
type byMode struct {
	attempts
	// attemptOf is indexed by the mode plus 1 (0: no mode allowed it), and by denied and allowed.
	attemptOf [1 + len(impersonationModes)][2]atomic.Pointer[attempt]
}

// took counts an attempt in mode m. m is nil if no mode allowed the impersonation.
func (b *byMode) took(m *impersonationMode, allowed bool, d time.Duration) {
	index, decision, label := 1+slices.Index(impersonationModes[:], m), 0, "denied"
	if allowed {
		decision, label = 1, "allowed"
	}
	cached := &b.attemptOf[index][decision]
	a := cached.Load()
	if a == nil {
		looked := b.with(m.label(), label)
		a = &looked
		cached.Store(a)
	}
	a.took(d)
}

// newImpersonationMetrics registers the metrics with reg, which may be nil.
func newImpersonationMetrics(reg prometheus.Registerer) *impersonationMetrics {
	m, labels := &impersonationMetrics{}, []string{"mode", "decision"}
	m.requests.attempts = newAttempts(reg, labels,
		"apiserver_impersonation_attempts_total", "Number of requests that impersonate a user, by mode and decision.",
		"apiserver_impersonation_attempts_duration_seconds",
		"Time to decide whether a request may impersonate a user, in seconds, by mode and decision.")
	m.questions.attempts = newAttempts(reg, labels,
		"apiserver_impersonation_authorization_attempts_total", "Number of authorization checks for impersonation, by mode and decision.",
		"apiserver_impersonation_authorization_attempts_duration_seconds",
		"Time of an authorization check for impersonation, in seconds, by mode and decision.")
	return m
}
