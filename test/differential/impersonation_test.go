package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	theirrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/request"
)

// opinion is the decision of a made-up authorizer on a question. The question is a text, which is
// equal on both sides.
type opinion struct {
	decision request.Decision
	reason   string
	err      error
}

// oracle is an authorizer that decides at random, but equally for equal questions. It allows
// generous of a hundred questions.
type oracle struct {
	seed     uint64
	generous int
}

func (o oracle) of(question string) opinion {
	h := fnv.New64a()
	fmt.Fprint(h, o.seed, question)
	n := rand.New(rand.NewPCG(h.Sum64(), o.seed))
	if n.IntN(100) < o.generous {
		return opinion{request.Allow, question, nil}
	}
	op := opinion{decision: oneOf(n, request.NoOpinion, request.NoOpinion, request.Deny)}
	if chance(n, 3) {
		op.reason = "because of " + question
	}
	if chance(n, 6) {
		op.err = fmt.Errorf("oops at %s", question)
	}
	return op
}

// Authorize is the oracle for Coracle.
func (o oracle) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	fields, fieldsErr := a.Fields()
	labels, labelsErr := a.Labels()
	var selected []string
	for _, f := range fields {
		op := "="
		if f.Not {
			op = "!="
		}
		selected = append(selected, fmt.Sprintf("%q%s%q", f.Field, op, f.Value))
	}
	for _, l := range labels {
		selected = append(selected, fmt.Sprintf("%q %s %q", l.Key(), l.Operator(), l.Values()))
	}
	op := o.of(fmt.Sprint(userText(a.User.Name, a.User.UID, a.User.Groups, a.User.Extra), a.IsResource, " ", a.Verb, " ", a.Group, "/", a.Version, " ", a.Namespace,
		" ", a.Resource, "/", a.Subresource, " ", a.Name, " ", a.Path, " ", selected, fieldsErr != nil, labelsErr != nil))
	return op.decision, op.reason, op.err
}

// theirOracle is the oracle for Kubernetes.
type theirOracle struct{ oracle }

func (o theirOracle) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	fields, fieldsErr := a.GetFieldSelector()
	labels, labelsErr := a.GetLabelSelector()
	var selected []string
	for _, f := range fields {
		selected = append(selected, fmt.Sprintf("%q%s%q", f.Field, f.Operator, f.Value))
	}
	for _, l := range labels {
		values := l.ValuesUnsorted()
		slices.Sort(values)
		selected = append(selected, fmt.Sprintf("%q %s %q", l.Key(), l.Operator(), values))
	}
	u := a.GetUser()
	op := o.of(fmt.Sprint(userText(u.GetName(), u.GetUID(), u.GetGroups(), u.GetExtra()), a.IsResourceRequest(), " ", a.GetVerb(), " ", a.GetAPIGroup(), "/", a.GetAPIVersion(), " ",
		a.GetNamespace(), " ", a.GetResource(), "/", a.GetSubresource(), " ", a.GetName(), " ", a.GetPath(), " ", selected, fieldsErr != nil, labelsErr != nil))
	return map[request.Decision]authorizer.Decision{
		request.Allow: authorizer.DecisionAllow, request.Deny: authorizer.DecisionDeny, request.NoOpinion: authorizer.DecisionNoOpinion,
	}[op.decision], op.reason, op.err
}

func userText(name, uid string, groups []string, extra map[string][]string) string {
	text := fmt.Sprintf("%s %s %q ", name, uid, groups)
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		text += fmt.Sprintf("%q=%q ", key, extra[key])
	}
	return text
}

// TestImpersonation sends requests of random users with random headers to both filters, with one
// authorizer. It compares as whom a request is served and by which right, and the refusals.
func TestImpersonation(t *testing.T) {
	rnd := random("impersonation")
	answers := map[string]int{}
	for range times(12_000) {
		o := oracle{rnd.Uint64(), oneOf(rnd, 30, 60, 90, 97)}
		ours, theirs := ourImpersonation(o), theirImpersonation(o)
		by := impersonating(rnd)
		for range 4 { // both sides remember the last impersonation mode of a user
			r := impersonationRequest(rnd)
			a, b := heard(theirs, r, by), heard(ours, r, by)
			keys := 0
			for name := range r.Header {
				if strings.HasPrefix(name, "Impersonate-Extra-") {
					keys++
				}
			}
			what, _, _ := strings.Cut(b, " ")
			answers[what]++
			if a != b && (keys < 2 || !strings.HasPrefix(a, "403") || !strings.HasPrefix(b, "403")) { // Kubernetes reports the first key of a map, in random order
				t.Fatalf("%s %s by %s: %v\ntheirs %s\nours   %s", r.Method, r.URL, userText(by.Name, by.UID, by.Groups, by.Extra), r.Header, a, b)
			}
		}
	}
	t.Logf("answers: %v", answers)
	for _, want := range []string{"200", "400", "403", "200:impersonate:user-info", "200:impersonate:serviceaccount", "200:impersonate:arbitrary-node",
		"200:impersonate:associated-node", "200:legacy"} {
		if answers[want] == 0 && count >= 1 {
			t.Errorf("no answer was %s: the test tries too little", want)
		}
	}
}

// impersonating makes up the user who impersonates.
func impersonating(rnd *rand.Rand) *request.User {
	u := &request.User{Name: oneOf(rnd, "bob", "system:serviceaccount:ns:agent", "system:anonymous", "system:serviceaccount:ns:"), UID: oneOf(rnd, "", "1"),
		Groups: oneOf(rnd, nil, []string{"dev"}, []string{"dev", "system:authenticated"})}
	if chance(rnd, 2) {
		u.Extra = map[string][]string{"authentication.kubernetes.io/node-name": oneOf(rnd, []string{"n1"}, []string{"n1"}, []string{"n2"}, []string{"n1", "n2"}, nil)}
		if chance(rnd, 2) {
			u.Extra["authentication.kubernetes.io/pod-name"] = []string{"p"}
		}
	}
	return u
}

func impersonationRequest(rnd *rand.Rand) *http.Request {
	r := httptest.NewRequest(oneOf(rnd, "GET", "POST", "DELETE"), oneOf(rnd, "/api/v1/namespaces/n/pods", "/api/v1/namespaces/n/pods/p/log", "/apis/apps/v1/deployments",
		"/api/v1/nodes/n1?watch=1", "/healthz", "/api/v1/namespaces/n/pods?fieldSelector=spec.nodeName=n1&labelSelector=a+in+(b),c"), nil)
	several := func(name string, n int, values ...string) {
		for range n {
			r.Header.Add(name, oneOf(rnd, values...))
		}
	}
	few := func() int { return oneOf(rnd, 0, 0, 0, 1, 1, 2, 3, 4, 6) }
	if !chance(rnd, 12) {
		several("Impersonate-User", oneOf(rnd, 1, 1, 1, 1, 2), "jane", "jane", "system:node:n1", "system:node:n1", "system:node:", "system:node:N", "system:anonymous",
			"system:serviceaccount:ns:a", "system:serviceaccount:ns:a", "system:serviceaccount:ns:a:b", "system:serviceaccount:n.s:a", "", "<&>\u00e9")
	}
	if chance(rnd, 3) {
		several("Impersonate-Group", few(), "dev", "ops", "system:masters", "system:authenticated", "system:unauthenticated", "system:nodes", "")
	}
	if chance(rnd, 5) {
		several("Impersonate-Uid", oneOf(rnd, 1, 2), "7", "8", "")
	}
	if chance(rnd, 3) {
		for range oneOf(rnd, 1, 1, 1, 2, 5) {
			several("Impersonate-Extra-"+oneOf(rnd, "scopes", "example.com%2fkey", "Example.com%2Fkey", "example.com%2f%4b", "a%zz", "%", "", "example.com%2fkey2", "ex_a%2fb"),
				oneOf(rnd, 1, 1, 2, 5), "v1", "v2", "")
		}
	}
	if chance(rnd, 10) {
		several("Impersonate-Whatever", 1, "a")
	}
	return r
}

// heard returns the outcome of a request: the code, the right and the user as whom it is served, or
// the code and the message.
func heard(h func(by *request.User) http.Handler, r *http.Request, by *request.User) string {
	w := httptest.NewRecorder()
	r = r.Clone(context.Background())
	h(by).ServeHTTP(w, r)
	if w.Code == http.StatusOK {
		return w.Body.String()
	}
	var status struct{ Message, Reason string }
	if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil {
		return fmt.Sprint(w.Code, " ", w.Body)
	}
	return fmt.Sprint(w.Code, " ", status.Reason, " ", status.Message, w.Header()["X-Content-Type-Options"])
}

// tell writes the user that a handler sees.
func tell(w http.ResponseWriter, impersonates bool, constraint, user string, h http.Header) {
	h = h.Clone()
	maps.DeleteFunc(h, func(name string, _ []string) bool { // Kubernetes passes on impersonation headers that it does not use
		return strings.HasPrefix(name, "Impersonate-") && (!impersonates || name == "Impersonate-Whatever")
	})
	switch {
	case constraint != "":
		constraint = ":" + constraint
	case impersonates:
		constraint = ":legacy"
	}
	fmt.Fprintf(w, "200%s %s %v", constraint, user, h)
}

func ourImpersonation(o oracle) func(by *request.User) http.Handler {
	f := filters.Impersonate(o, nil, router.WriteError)
	return func(by *request.User) http.Handler {
		known := func(next http.HandlerFunc) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				request.From(r.Context()).User = by
				next(w, r)
			}
		}
		return filters.Chain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			info := request.From(r.Context())
			u := info.User
			tell(w, info.Impersonator != nil, info.Constraint, userText(u.Name, u.UID, u.Groups, u.Extra), r.Header)
		}), filters.Step{Filter: filters.Begin()}, filters.Step{Filter: filters.Info(router.WriteError)}, filters.Step{Filter: known}, filters.Step{Filter: f})
	}
}

// eventSink keeps the last event of an audit log.
type eventSink struct{ event *auditinternal.Event }

func (s *eventSink) ProcessEvents(events ...*auditinternal.Event) bool {
	s.event = events[len(events)-1]
	return true
}

func theirImpersonation(o oracle) func(by *request.User) http.Handler {
	served := impersonation.WithConstrainedImpersonation(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		u, _ := theirrequest.UserFrom(ctx)
		audit.AuditContextFrom(ctx).ProcessEventStage(ctx, auditinternal.StageResponseComplete)
		event := ctx.Value(sinkKey{}).(*eventSink).event
		constraint := ""
		if event.AuthenticationMetadata != nil {
			constraint = event.AuthenticationMetadata.ImpersonationConstraint
		}
		tell(w, event.ImpersonatedUser != nil, constraint, userText(u.GetName(), u.GetUID(), u.GetGroups(), u.GetExtra()), r.Header)
	}), theirOracle{o}, legacyscheme.Codecs)
	infos := &theirrequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	return func(by *request.User) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sink := new(eventSink)
			ctx := context.WithValue(audit.WithAuditContext(r.Context()), sinkKey{}, sink)
			if err := audit.AuditContextFrom(ctx).Init(audit.RequestAuditConfig{Level: auditinternal.LevelMetadata}, sink); err != nil {
				panic(err)
			}
			info, err := infos.NewRequestInfo(r)
			if err != nil {
				panic(err)
			}
			ctx = theirrequest.WithRequestInfo(ctx, info)
			ctx = theirrequest.WithUser(ctx, &user.DefaultInfo{Name: by.Name, UID: by.UID, Groups: by.Groups, Extra: by.Extra})
			served.ServeHTTP(w, r.WithContext(ctx))
		})
	}
}

type sinkKey struct{}
