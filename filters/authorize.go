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

// Authorize asks may whether the user may do what the request wants. It answers 403 if not, and 500
// if that cannot be found out. It does not know which resources exist, so a client without rights
// cannot tell an unknown resource from a forbidden one. A handler that finds out later that the
// request needs another verb as well, such as an update that creates, asks by Info.Rights.
// Order: last before the handler, after all filters that wait or change the request, so that it
// decides about the request as it will be served. Cost: that of may, and no allocation.
func Authorize(may request.Authorizer, reg prometheus.Registerer, log *zap.Logger, fail ErrorWriter) Filter {
	a := &rightsAuthorizer{may, log, newAuthorizationMetrics(reg)}
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if err := a.refusal(r); err != nil {
				fail(w, r, err)
				return
			}
			next(w, r)
		}
	}
}

// refusal decides about a request, and returns the error for its user, or nil if it is allowed. It
// is a function of its own, so that the filter has a small stack frame.
func (a *rightsAuthorizer) refusal(r *http.Request) error {
	x := exchangeOf(r)
	x.rights, x.info.Rights = a, x
	began := time.Since(x.info.Received)
	ctx, span := x.info.BeginAt(r.Context(), request.SpanAuthorization, "authorization", began)
	decision, reason, err := a.may.Authorize(ctx, &x.info.Attributes)
	took := time.Since(x.info.Received) - began
	span.EndAt(began + took)
	a.metrics.count(decision, err, took)
	x.info.RecordDecision(decision, reason, err)
	return x.refusalOf(&x.info.Attributes, decision, reason, err)
}

// rightsAuthorizer authorizes requests, and further verbs of theirs.
type rightsAuthorizer struct {
	may     request.Authorizer
	log     *zap.Logger
	metrics *authorizationMetrics
}

// May implements request.Rights. If no decision can be found, the error is a 500.
func (x *exchange) May(ctx context.Context, verb string) error {
	a := x.info.Attributes
	a.Verb = verb
	decision, reason, err := x.rights.may.Authorize(ctx, &a)
	return x.refusalOf(&a, decision, reason, err)
}

// refusalOf turns a decision into the error for the user; nil if the request is allowed.
func (x *exchange) refusalOf(a *request.Attributes, decision request.Decision, reason string, err error) error {
	switch {
	case decision == request.Allow:
		return nil
	case err != nil:
		x.rights.log.Warn("authorization failed", zap.Error(err), zap.String("audit-id", x.info.AuditID))
		return meta.NewInternalError(err)
	}
	x.response.Header()["X-Content-Type-Options"] = noSniff
	return request.Forbidden(a, reason)
}

// authorizationMetrics count and time authorizations under Kubernetes' names.
type authorizationMetrics struct {
	allowed, denied, failed attempt
	noOpinion               attempt // no authorizer had an opinion
}

// newAuthorizationMetrics registers the metrics with reg, which may be nil.
func newAuthorizationMetrics(reg prometheus.Registerer) *authorizationMetrics {
	all := newAttempts(reg, []string{"result"},
		"authorization_attempts_total", "Number of attempts to authorize a request, by result.",
		"authorization_duration_seconds", "Time to authorize a request, in seconds, by result.")
	return &authorizationMetrics{
		allowed: all.with("allowed"), denied: all.with("denied"), failed: all.with("error"),
		noOpinion: all.with("no-opinion"),
	}
}

// count counts one authorization, which took the given time.
func (m *authorizationMetrics) count(decision request.Decision, err error, took time.Duration) {
	switch {
	case decision == request.Allow:
		m.allowed.took(took)
	case err != nil:
		m.failed.took(took)
	case decision == request.Deny:
		m.denied.took(took)
	default:
		m.noOpinion.took(took)
	}
}

// noSniff is the value of X-Content-Type-Options, shared by all responses. Its capacity is used up,
// so that appending to it copies it.
var noSniff = []string{"nosniff"}
