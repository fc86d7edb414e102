package filters

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Authenticate finds out who sends a request and turns away those that nobody knows with 401. The reason is logged and
// not told. The credentials are taken off the request, so that nobody behind can pass them on.
// Order: before everything that depends on the user. Cost: that of who, two readings of the clock, and no
// allocation.
func Authenticate(who request.Authenticator, reg prometheus.Registerer, log *zap.Logger, fail ErrorWriter) Filter {
	metrics := newAuthenticationMetrics(reg)
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := of(r)
			began := time.Since(x.info.Received)
			user, err := who.Authenticate(r)
			metrics.count(user, err, time.Since(x.info.Received)-began)
			if err != nil || user == nil {
				logStranger(log, r, err)
				fail(w, r, meta.NewUnauthorized("Unauthorized"))
				return
			}
			x.info.User = user
			delete(r.Header, "Authorization")
			next(w, r)
		}
	}
}

// logStranger says why nobody knows who sends r. It is a function of its own for the sake of the filter's frame, as are
// the rare cases of other filters.
func logStranger(log *zap.Logger, r *http.Request, err error) {
	if line := log.Check(zap.DebugLevel, "request not authenticated"); line != nil {
		line.Write(zap.Error(err), zap.String("source", r.RemoteAddr), zap.String("audit-id", of(r).info.AuditID))
	}
}

// authenticationMetrics count and time authentications, under the names that Kubernetes uses.
// What belongs to a result is looked up once, when the metrics are made.
type authenticationMetrics struct {
	named       []prometheus.Counter // requests of users, by their places in namedUsers
	mail, other prometheus.Counter   // of users whose names are addresses, and of all others
	known       attempt              // somebody is known,
	unknown     attempt              // nobody is,
	mistaken    attempt              // or it has failed
}

func newAuthenticationMetrics(reg prometheus.Registerer) *authenticationMetrics {
	users := register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{Name: "authenticated_user_requests",
		Help: "Requests whose user is known, by sort of user."}, []string{"username"}))
	all := newAttempts(reg, []string{"result"},
		"authentication_attempts", "Authentication of requests, by result.",
		"authentication_duration_seconds", "Time that the authentication of a request takes, in seconds.")
	m := &authenticationMetrics{
		mail: users.WithLabelValues("email_id"), other: users.WithLabelValues("other"),
		known: all.of("success"), unknown: all.of("failure"), mistaken: all.of("error"),
	}
	for _, name := range namedUsers {
		m.named = append(m.named, users.WithLabelValues(name))
	}
	return m
}

// count counts a request whose user was looked for.
func (m *authenticationMetrics) count(user *request.User, err error, took time.Duration) {
	switch {
	case err != nil:
		m.mistaken.took(took)
	case user == nil:
		m.unknown.took(took)
	default:
		m.of(user.Name).Inc()
		m.known.took(took)
	}
}

// Users are told apart by sort, as names are many, and nobody's business. Some have a sort of
// their own.
var namedUsers = []string{"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"}

// of counts users of the sort of one of this name.
func (m *authenticationMetrics) of(name string) prometheus.Counter {
	if i := slices.Index(namedUsers, name); i >= 0 {
		return m.named[i]
	}
	if strings.IndexByte(name, '@') >= 0 {
		return m.mail
	}
	return m.other
}
