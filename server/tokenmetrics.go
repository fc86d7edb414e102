package server

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/filters/authn"
)

// tokenUses are the uses of tokens of service accounts that are counted, by the names that kube-apiserver has for them.
var tokenUses = map[authn.TokenUse][2]string{
	authn.UsedLegacy:      {"legacy_tokens_total", "Tokens of service accounts used that name no audience."},
	authn.UsedStale:       {"stale_tokens_total", "Tokens of service accounts used that should have been replaced."},
	authn.UsedExtended:    {"valid_tokens_total", "Tokens of service accounts used that are good for longer than was asked for."},
	authn.UsedAutomatic:   {"legacy_auto_token_uses_total", "Tokens used of secrets that were made for a service account."},
	authn.UsedManual:      {"legacy_manual_token_uses_total", "Tokens used of secrets that somebody made for a service account."},
	authn.UsedInvalidated: {"invalid_legacy_auto_token_uses_total", "Tokens used of secrets that are marked invalid."},
}

// newTokenMetrics returns what counts them.
func newTokenMetrics(reg prometheus.Registerer) (func(authn.TokenUse), error) {
	counters := map[authn.TokenUse]prometheus.Counter{}
	var errs []error
	for use, m := range tokenUses {
		counters[use] = prometheus.NewCounter(prometheus.CounterOpts{Name: "serviceaccount_" + m[0], Help: m[1]})
		errs = append(errs, reg.Register(counters[use]))
	}
	return func(use authn.TokenUse) { counters[use].Inc() }, errors.Join(errs...)
}
