package filters

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Authenticate finds the user of a request and answers 401 if there is none. The reason is logged
// and not told to the client. The Authorization header is removed, so that no handler can pass the
// credentials on. The span of a request begins here if tracer is not nil; see beginEarly.
// Order: before everything that depends on the user. Cost: that of who, two readings of the clock,
// and no allocation.
func Authenticate(
	who request.Authenticator, tracer trace.Tracer, reg prometheus.Registerer, log *zap.Logger, fail ErrorWriter,
) Filter {
	a := &authentication{who, tracer, newAuthenticationMetrics(reg), log, fail}
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if a.finds(w, r) {
				next(w, r)
			}
		}
	}
}

// authentication is what Authenticate needs for each request.
type authentication struct {
	who     request.Authenticator
	tracer  trace.Tracer
	metrics *authenticationMetrics
	log     *zap.Logger
	fail    ErrorWriter
}

// finds sets the user of r and returns true, or answers r and returns false. It is a function of
// its own, so that the filter has a small stack frame.
func (a *authentication) finds(w http.ResponseWriter, r *http.Request) bool {
	x := exchangeOf(r)
	began := time.Since(x.info.Received)
	early := beginEarly(a.tracer, x, r)
	ctx, span := x.info.BeginAt(r.Context(), request.SpanAuthentication, authenticationSpan, began)
	asked := r
	if early != nil {
		asked = r.WithContext(ctx)
	}
	user, err := a.who.Authenticate(asked)
	took := time.Since(x.info.Received) - began
	span.EndAt(began + took)
	a.metrics.count(user, err, took)
	if err != nil || user == nil {
		logUnauthenticated(a.log, r, err)
		a.fail(w, r, meta.NewUnauthorized("Unauthorized"))
		if early != nil {
			early.answered(x.response.status(), x.info.Written)
		}
		return false
	}
	x.info.User = user
	delete(r.Header, "Authorization")
	return true
}

// logUnauthenticated logs why a request could not be authenticated.
func logUnauthenticated(log *zap.Logger, r *http.Request, err error) {
	if line := log.Check(zap.DebugLevel, "request not authenticated"); line != nil {
		line.Write(
			zap.Error(err), zap.String("source", r.RemoteAddr), zap.String("audit-id", exchangeOf(r).info.AuditID),
		)
	}
}

// authenticationMetrics count and time authentications under Kubernetes' names. The counter for
// each label value is looked up once, because a lookup costs more than counting.
type authenticationMetrics struct {
	named       []prometheus.Counter // requests of the users in namedUsers, by index
	mail, other prometheus.Counter   // requests of users with an "@" in their names, and of all others
	found       attempt              // the user was found
	notFound    attempt              // no authenticator knew the credentials
	failed      attempt              // the credentials were refused or could not be checked
}

// newAuthenticationMetrics registers the metrics with reg, which may be nil.
func newAuthenticationMetrics(reg prometheus.Registerer) *authenticationMetrics {
	users := register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{Name: "authenticated_user_requests",
		Help: "Number of authenticated requests, by user name; most names count as other."}, []string{"username"}))
	all := newAttempts(reg, []string{"result"},
		"authentication_attempts", "Number of attempts to authenticate a request, by result.",
		"authentication_duration_seconds", "Time to authenticate a request, in seconds, by result.")
	m := &authenticationMetrics{
		mail: users.WithLabelValues("email_id"), other: users.WithLabelValues("other"),
		found: all.with("success"), notFound: all.with("failure"), failed: all.with("error"),
	}
	for _, name := range namedUsers {
		m.named = append(m.named, users.WithLabelValues(name))
	}
	return m
}

// count counts one authentication, which took the given time.
func (m *authenticationMetrics) count(user *request.User, err error, took time.Duration) {
	switch {
	case err != nil:
		m.failed.took(took)
	case user == nil:
		m.notFound.took(took)
	default:
		m.counterOf(user.Name).Inc()
		m.found.took(took)
	}
}

// namedUsers are the user names that are label values of their own. All other names are counted
// together, because user names are many and private. The names are those of kube-apiserver.
var namedUsers = []string{"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"}

// counterOf returns the counter for users with this name.
func (m *authenticationMetrics) counterOf(name string) prometheus.Counter {
	if i := slices.Index(namedUsers, name); i >= 0 {
		return m.named[i]
	}
	if strings.IndexByte(name, '@') >= 0 {
		return m.mail
	}
	return m.other
}
