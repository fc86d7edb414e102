package filters

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/router/request"
)

// accessMetrics count and time authentication and authorization of requests, under the names that Kubernetes uses. What belongs to a
// result is looked up once, when the metrics are made.
type accessMetrics struct {
	users    *prometheus.CounterVec
	byUser   map[string]prometheus.Counter // by userLabel
	authn    attempts
	authz    attempts
	known    attempt // authentication: somebody is known,
	unknown  attempt // nobody is,
	mistaken attempt // or it has failed
	allowed  attempt // authorization
	denied   attempt
	unsaid   attempt // nobody had an opinion
	failed   attempt
}

// attempts are all attempts to do something, by result.
type attempts struct {
	total   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

// attempt counts those with one result.
type attempt struct {
	total   prometheus.Counter
	seconds prometheus.Observer
}

func newAttempts(total, seconds, what string) attempts {
	result := []string{"result"}
	return attempts{
		prometheus.NewCounterVec(prometheus.CounterOpts{Name: total, Help: what + " of requests, by result."}, result),
		prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: seconds, Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
			Help: "Time that the " + strings.ToLower(what) + " of a request takes, in seconds."}, result),
	}
}

func (a *attempts) of(result string) attempt {
	return attempt{a.total.WithLabelValues(result), a.seconds.WithLabelValues(result)}
}

func (a attempt) took(d time.Duration) {
	a.total.Inc()
	a.seconds.Observe(d.Seconds())
}

func newAccessMetrics() *accessMetrics {
	m := &accessMetrics{
		users: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "authenticated_user_requests",
			Help: "Requests whose user is known, by sort of user."}, []string{"username"}),
		byUser: map[string]prometheus.Counter{},
		authn:  newAttempts("authentication_attempts", "authentication_duration_seconds", "Authentication"),
		authz:  newAttempts("authorization_attempts_total", "authorization_duration_seconds", "Authorization"),
	}
	for _, name := range append(slices.Clip(namedUsers), mailUser, otherUser) {
		m.byUser[name] = m.users.WithLabelValues(name)
	}
	m.known, m.unknown, m.mistaken = m.authn.of("success"), m.authn.of("failure"), m.authn.of("error")
	m.allowed, m.denied, m.unsaid, m.failed = m.authz.of("allowed"), m.authz.of("denied"), m.authz.of("no-opinion"), m.authz.of("error")
	return m
}

func (m *accessMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.users, m.authn.total, m.authn.seconds, m.authz.total, m.authz.seconds}
}

// authenticated counts a request whose user was looked for. m may be nil.
func (m *Metrics) authenticated(user *request.User, err error, took time.Duration) {
	if m == nil {
		return
	}
	switch a := m.access; {
	case err != nil:
		a.mistaken.took(took)
	case user == nil:
		a.unknown.took(took)
	default:
		a.byUser[userLabel(user.Name)].Inc()
		a.known.took(took)
	}
}

// authorized counts a request that was judged. m may be nil.
func (m *Metrics) authorized(decision request.Decision, err error, took time.Duration) {
	if m == nil {
		return
	}
	switch a := m.access; {
	case decision == request.Allow:
		a.allowed.took(took)
	case err != nil:
		a.failed.took(took)
	case decision == request.Deny:
		a.denied.took(took)
	default:
		a.unsaid.took(took)
	}
}

// Users are told apart by sort, as names are many, and nobody's business. Some have a sort of their own.
var namedUsers = []string{"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"}

const (
	mailUser  = "email_id"
	otherUser = "other"
)

// userLabel is the sort of a user.
func userLabel(name string) string {
	if slices.Contains(namedUsers, name) {
		return name
	}
	if strings.IndexByte(name, '@') >= 0 {
		return mailUser
	}
	return otherUser
}
