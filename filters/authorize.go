package filters

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Authorize asks whether the user may do what the request wants, and answers 403 if not, or 500 if that cannot be
// found out. It knows nothing of what exists, so a stranger cannot tell an unknown resource from a forbidden one.
// Order: last before the handler; a request that came to wait or to be changed is judged as it will be served. Cost:
// that of may, and no allocation. What a handler finds out to be another verb as well, such as an update that creates, it asks
// about by the Rights of the request's Info.
func Authorize(may request.Authorizer, reg prometheus.Registerer, log *zap.Logger, fail ErrorWriter) Filter {
	j, metrics := &judge{may, log}, newAuthorizationMetrics(reg)
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := of(r)
			x.judge, x.info.Rights = j, x
			began := time.Since(x.info.Received)
			decision, reason, err := may.Authorize(r.Context(), &x.info.Attributes)
			metrics.count(decision, err, time.Since(x.info.Received)-began)
			x.info.Judged(decision, reason, err)
			if err := x.judged(&x.info.Attributes, decision, reason, err); err != nil {
				fail(w, r, err)
				return
			}
			next(w, r)
		}
	}
}

// judge is what exchanges that are authorized share.
type judge struct {
	may request.Authorizer
	log *zap.Logger
}

// May implements request.Rights. The error is a 500 if it cannot be found out.
func (x *exchange) May(ctx context.Context, verb string) error {
	a := x.info.Attributes
	a.Verb = verb
	decision, reason, err := x.judge.may.Authorize(ctx, &a)
	return x.judged(&a, decision, reason, err)
}

// judged returns what the user is told of a decision; nil if it allows.
func (x *exchange) judged(a *request.Attributes, decision request.Decision, reason string, err error) error {
	switch {
	case decision == request.Allow:
		return nil
	case err != nil:
		x.judge.log.Warn("authorization failed", zap.Error(err), zap.String("audit-id", x.info.AuditID))
		return meta.NewInternalError(err)
	}
	x.response.Header()["X-Content-Type-Options"] = noSniff
	return request.Forbidden(a, reason)
}

// authorizationMetrics count and time authorizations, under the names that Kubernetes uses.
type authorizationMetrics struct {
	allowed, denied, failed attempt
	unsaid                  attempt // nobody had an opinion
}

func newAuthorizationMetrics(reg prometheus.Registerer) *authorizationMetrics {
	all := newAttempts(reg, []string{"result"},
		"authorization_attempts_total", "Authorization of requests, by result.",
		"authorization_duration_seconds", "Time that the authorization of a request takes, in seconds.")
	return &authorizationMetrics{
		allowed: all.of("allowed"), denied: all.of("denied"), failed: all.of("error"), unsaid: all.of("no-opinion"),
	}
}

// count counts a request that was judged.
func (m *authorizationMetrics) count(decision request.Decision, err error, took time.Duration) {
	switch {
	case decision == request.Allow:
		m.allowed.took(took)
	case err != nil:
		m.failed.took(took)
	case decision == request.Deny:
		m.denied.took(took)
	default:
		m.unsaid.took(took)
	}
}

// noSniff is shared by all answers, full, so that adding to it makes a copy.
var noSniff = []string{"nosniff"}
