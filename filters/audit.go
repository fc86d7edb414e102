package filters

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/filters/audit"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Auditing decides what is recorded of requests, and takes the events. All fields are required.
type Auditing struct {
	Policy *audit.Policy
	Sink   audit.Sink
	Counts AuditCounts
}

// AuditCounts counts what auditing does. Any goroutine may call it.
type AuditCounts interface {
	// Level counts a request for which the policy has decided the level.
	Level(audit.Level)
	// Event counts an event that was made.
	Event()
	// Rejected counts a request that was refused because its first event could not be stored.
	Rejected()
}

// Audit records requests as the policy of a says: an event when the request is received, one when a
// long-running response begins, and one when the handler has returned or panicked. What the events
// tell of bodies comes from the request's Record. If a is nil, there is no such filter.
// Order: after Authenticate, before Impersonate: an event names who sent the request. Cost: that of
// the policy for a request that is not recorded; else one allocation for the request and one for
// each event.
func Audit(a *Auditing, long func(*request.Info) bool, fail ErrorWriter) Filter {
	if a == nil {
		return nil
	}
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := exchangeOf(r)
			t := a.begin(x, r)
			if t == nil {
				next(w, r)
				return
			}
			if !t.tell(audit.RequestReceived, nil) {
				a.Counts.Rejected()
				t.leave()
				fail(w, r, request.PlainError("failed to store audit event"))
				return
			}
			if long(&x.info) {
				t.record.Began = t.answerBegins
			}
			defer t.end()
			next(w, r)
		}
	}
}

// AuditRefused records the requests that filters outside Audit refuse with fail: those whose sender
// cannot be authenticated, and those with an invalid timeout. Such a request has one event, at the
// stage ResponseStarted. If a is nil, it returns fail.
// Cost: as Audit.
func AuditRefused(a *Auditing, fail ErrorWriter) ErrorWriter {
	if a == nil {
		return fail
	}
	return func(w http.ResponseWriter, r *http.Request, err error) {
		if t := a.begin(exchangeOf(r), r); t != nil {
			t.record.Began = t.answerBegins
			defer t.leave()
		}
		fail(w, r, err)
	}
}

// trail is what auditing keeps of a request that is recorded. It belongs to the goroutine that
// serves the request. Its events refer to parts of it, which do not change after they are told. So
// a trail lives as long as its events, which may wait in a buffer, and leave cuts it off from the
// request and the connection.
type trail struct {
	by       *Auditing
	x        *exchange // nil after leave
	decision audit.Decision
	record   request.Record
	first    audit.Event     // what all events of the request have in common
	object   audit.Reference // what first refers to
	source   [1]string       // the usual SourceIPs of first
	answered *meta.Status    // the outcome that was told last
}

// begin returns the trail of a request, or nil if the policy records nothing of it.
func (a *Auditing) begin(x *exchange, r *http.Request) *trail {
	info := &x.info
	decision := a.Policy.Decide(&info.Attributes)
	a.Counts.Level(decision.Level)
	if decision.Level == audit.None {
		return nil
	}
	t := &trail{by: a, x: x, decision: decision}
	t.record.Received = decision.Level >= audit.Request
	t.record.Answered = decision.Level >= audit.RequestResponse
	t.record.OmitManagedFields = decision.OmitManagedFields
	t.first = audit.Event{
		Level: decision.Level, AuditID: strings.Clone(info.AuditID), RequestURI: r.URL.RequestURI(), Verb: info.Verb,
		User: info.User, UserAgent: boundedAgent(info.UserAgent), Received: info.Received,
		SourceIPs: sourceIPs(r, t.source[:0]),
	}
	if info.IsResource {
		t.object = audit.Reference{
			Resource: info.Resource, Namespace: info.Namespace, Name: info.Name, Subresource: info.Subresource,
			APIGroup: info.Group, APIVersion: info.Version,
		}
		t.first.Object = &t.object
	}
	info.Record = &t.record
	return t
}

// tell makes the event of a stage and gives it to the Sink. It reports false if the request must be
// refused; see audit.Sink.
func (t *trail) tell(stage audit.Stage, status *meta.Status) (stored bool) {
	if t.decision.Omits(stage) {
		return true
	}
	e := new(audit.Event)
	*e = t.first
	e.Stage, e.Time, e.Status = stage, e.Received, status
	e.Annotations = t.annotations()
	if stage != audit.RequestReceived {
		e.Time = time.Now()
		t.complete(e)
	}
	t.by.Counts.Event()
	return t.by.Sink.Process(e)
}

// complete adds to an event what became known after the request was received.
func (t *trail) complete(e *audit.Event) {
	info := &t.x.info
	if info.Impersonator != nil {
		e.Impersonated, e.Constraint = info.User, info.Constraint
	}
	e.RequestObject, e.ResponseObject = t.record.ReceivedObject, t.record.AnsweredObject
	if o := &t.record.Object; e.Object != nil && *o != (request.ObjectName{}) {
		named := t.object
		named.Namespace, named.Name = cmp.Or(named.Namespace, o.Namespace), cmp.Or(named.Name, o.Name)
		named.UID, named.ResourceVersion = string(o.UID), o.ResourceVersion
		e.Object = &named
	}
}

// annotations returns the annotations of an event that is told now. Those that show parts of the
// request's body are only for levels that record it.
func (t *trail) annotations() map[string]string {
	info := &t.x.info
	if len(info.Annotations) == 0 && !info.Decided && info.Reason == "" {
		return nil
	}
	all := make(map[string]string, len(info.Annotations)+2)
	info.AuthorizationAnnotations(func(key, text string) { all[key] = text })
	for key, a := range info.Annotations {
		if !a.Body || t.first.Level >= audit.Request {
			all[key] = a.Text
		}
	}
	return all
}

// answerBegins tells that the header of a response is written.
func (t *trail) answerBegins(code int) { t.tell(audit.ResponseStarted, t.outcome(code)) }

// outcome returns the status of a response with a code: the Status that was answered, or the code
// alone. It is made once, because events that were told refer to it.
func (t *trail) outcome(code int) *meta.Status {
	if t.answered == nil {
		t.answered = new(meta.Status)
		if s := t.record.Status; s != nil {
			*t.answered = *s
		}
		t.answered.Code = int32(code)
	}
	return t.answered
}

// leave ends the trail of a request. What outer filters answer is no longer recorded.
func (t *trail) leave() { t.x.info.Record, t.x = nil, nil }

// end tells how the request ended, and leaves. It is deferred, and passes a panic on.
func (t *trail) end() {
	defer t.leave()
	if reason := recover(); reason != nil {
		t.tell(audit.Panic, &meta.Status{
			Status: meta.StatusFailure, Code: http.StatusInternalServerError, Reason: meta.StatusReasonInternalError,
			Message: fmt.Sprintf("APIServer panic'd: %v", reason),
		})
		panic(reason)
	}
	code := t.x.info.Status
	if code == 0 { // the handler has written nothing
		closed := &meta.Status{Status: meta.StatusSuccess, Code: http.StatusOK, Message: "Connection closed early"}
		if t.record.Began != nil {
			t.tell(audit.ResponseStarted, closed)
		}
		t.tell(audit.ResponseComplete, closed)
		return
	}
	t.annotateLatency()
	t.tell(audit.ResponseComplete, t.outcome(code))
}

// latencyPrefix begins the annotations about the time that parts of a slow request took.
const latencyPrefix = "apiserver.latency.k8s.io/"

// annotateLatency adds the time of each kind of work to the annotations of a slow request, and the
// whole time, if any kind took noticeable time.
func (t *trail) annotateLatency() {
	info := &t.x.info
	whole := time.Since(info.Received)
	if whole <= slowLatency {
		return
	}
	found := false
	for kind, took := range info.Latencies {
		found = true
		info.Annotate(latencyPrefix+kind.String(), took.String())
	}
	if found {
		info.Annotate(latencyPrefix+"total", whole.String())
	}
}

// maxAgent is the longest user agent that is recorded whole, in bytes.
const maxAgent = 1024

// boundedAgent returns a user agent as events show it.
func boundedAgent(agent string) string {
	if len(agent) <= maxAgent {
		return agent
	}
	return agent[:maxAgent] + "...TRUNCATED"
}

// sourceIPs appends the addresses through which a request came: those in X-Forwarded-For, that in
// X-Real-Ip unless it is one of them, and the peer unless it is the last of them. Only the peer is
// certain, because a client may send any header. Texts that are no addresses are left out.
func sourceIPs(r *http.Request, dst []string) []string {
	if forwarded := request.Header(r.Header, "X-Forwarded-For"); forwarded != "" {
		for text := range strings.SplitSeq(forwarded, ",") {
			if ip := canonicalIP(strings.TrimSpace(text)); ip != "" {
				dst = append(dst, ip)
			}
		}
	}
	if ip := canonicalIP(request.Header(r.Header, "X-Real-Ip")); ip != "" && !slices.Contains(dst, ip) {
		dst = append(dst, ip)
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if ip := canonicalIP(host); ip != "" && (len(dst) == 0 || dst[len(dst)-1] != ip) {
		dst = append(dst, ip)
	}
	return dst
}

// canonicalIP returns the canonical text of an address, or "" for a text that is none.
func canonicalIP(text string) string {
	if text == "" {
		return ""
	}
	ip, err := netip.ParseAddr(text)
	if err != nil || ip.Zone() != "" {
		var errs []string
		if ip, errs = names.ParseIP(text, false); len(errs) > 0 {
			return ""
		}
	}
	return ip.Unmap().String()
}
