package differential

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	theirwebhook "k8s.io/apiserver/plugin/pkg/authorizer/webhook"
	theirmetrics "k8s.io/apiserver/plugin/pkg/authorizer/webhook/metrics"
	"k8s.io/client-go/rest"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/router/request"
)

// reviewer is a webhook that both sides ask. It keeps the review and answers with the given status.
type reviewer struct {
	asked, status any
}

func (r *reviewer) answer(sent []byte) ([]byte, error) {
	var review map[string]any
	if err := json.Unmarshal(sent, &review); err != nil {
		return nil, err
	}
	r.asked = review["spec"]
	return json.Marshal(map[string]any{"apiVersion": review["apiVersion"], "kind": review["kind"], "status": r.status})
}

// Call is how Coracle asks.
func (r *reviewer) Call(_ context.Context, in, out any) error {
	sent, err := json.Marshal(in)
	if err != nil {
		return err
	}
	answer, err := r.answer(sent)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, out)
}

// RoundTrip is how Kubernetes asks.
func (r *reviewer) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	answer, err := r.answer(sent)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(answer)), Request: req}, nil
}

// conditionWriter makes up conditions of webhooks, and requests to judge by them.
type conditionWriter struct{ *rand.Rand }

func (w conditionWriter) one(of ...string) string { return of[w.IntN(len(of))] }

var conditionWords = []string{"", "a", "b", "ab", "get", "list", "pods", "x"}

// text makes up an expression whose value is a string. Some have no value for some requests.
func (w conditionWriter) text() string {
	return w.one("request.user", "request.uid", "request.groups[0]", "request.extra['a'][0]", "request.extra.a[0]",
		"request.resourceAttributes."+w.one("namespace", "verb", "group", "version", "resource", "subresource", "name"),
		"request.resourceAttributes."+w.one("namespace", "verb", "resource", "name"),
		"request.nonResourceAttributes."+w.one("path", "verb"),
		"request.?resourceAttributes."+w.one("namespace", "name")+".orValue('x')",
		"request.resourceAttributes.?"+w.selector()+".rawSelector.orValue('b')",
		"request.resourceAttributes."+w.selector()+".requirements[0]."+w.one("key", "operator", "values[0]"),
		fmt.Sprintf("%q", w.one(conditionWords...)), fmt.Sprintf("%q", w.one(conditionWords...)))
}

func (w conditionWriter) selector() string { return w.one("fieldSelector", "labelSelector") }

// truth makes up an expression whose value is true or false.
func (w conditionWriter) truth(depth int) string {
	if depth > 0 && w.IntN(2) == 0 {
		switch a, b := w.truth(depth-1), w.truth(depth-1); w.IntN(4) {
		case 0:
			return "(" + a + " && " + b + ")"
		case 1:
			return "(" + a + " || " + b + ")"
		case 2:
			return "!" + a
		default:
			return "(" + a + " ? " + b + " : " + w.truth(depth-1) + ")"
		}
	}
	return "(" + w.one(
		w.text()+" == "+w.text(), w.text()+" != "+w.text(), w.text()+".startsWith("+w.text()+")", w.text()+".contains("+w.text()+")",
		w.text()+" in request.groups", w.text()+" in ['a', 'ab', 'pods']", w.text()+" in request.extra", w.text()+".matches('^[a-b]*$')",
		"has(request."+w.one("resourceAttributes", "nonResourceAttributes", "user", "uid", "groups", "extra")+")",
		"has(request.resourceAttributes."+w.one("namespace", "name", "fieldSelector", "labelSelector")+")",
		"has(request.resourceAttributes."+w.selector()+"."+w.one("requirements", "rawSelector")+")",
		fmt.Sprintf("size(request.groups) > %d", w.IntN(3)), "request.groups.exists(g, g == "+w.text()+")", "request.groups.all(g, g != 'a')",
		"request.extra.exists(k, 'b' in request.extra[k])", "request.extra.all(k, size(request.extra[k]) > 0)",
		"request.resourceAttributes."+w.selector()+".requirements.exists(r, r.key == "+w.text()+" && r.operator == "+w.one("'In'", "'NotIn'", "'Exists'")+" && 'a' in r.values)",
		"request.resourceAttributes."+w.selector()+".requirements.all(r, size(r.values) < 2)",
		"true", "false") + ")"
}

// request makes up the attributes of a request.
func (w conditionWriter) request() *request.Attributes {
	word := func() string { return w.one(conditionWords...) }
	a := &request.Attributes{Verb: w.one("get", "list", "watch", "create", "deletecollection"), IsResource: w.IntN(4) > 0}
	if w.IntN(12) > 0 {
		a.User = &request.User{Name: word(), UID: word()}
		for range w.IntN(3) {
			a.User.Groups = append(a.User.Groups, word())
		}
		if w.IntN(2) == 0 {
			a.User.Extra = map[string][]string{"a": {word()}, "b": nil, word(): {"b", word()}}
		}
	}
	if !a.IsResource {
		a.Path = "/" + word()
		return a
	}
	a.Namespace, a.Group, a.Version, a.Resource, a.Subresource, a.Name = word(), word(), w.one("v1", "v2"), word(), word(), word()
	if a.Verb != "get" && a.Verb != "create" {
		a.FieldSelector = w.one("", "", "a=a", "metadata.name!=a,b=ab", "a==", "a", "=")
		a.LabelSelector = w.one("", "", "a=a", "a in (a,b),b", "!a", "a notin (a)", "a>1", "a=b,c<7", "a in", "-=1")
	}
	return a
}

// TestAuthorizationWebhooks has both webhook authorizers judge random requests by random
// conditions. It compares whether they ask the webhook, the review that they send, and the
// decision.
func TestAuthorizationWebhooks(t *testing.T) {
	w := conditionWriter{random("authorization webhooks")}
	seen := map[string]int{}
	const each = 20 // requests for a list of conditions
	compiled, n := 0, times(1000)
	for range n {
		var conditions []string
		var theirConditions []apiserver.WebhookMatchCondition
		for range w.IntN(4) {
			text := w.truth(3)
			conditions = append(conditions, text)
			theirConditions = append(theirConditions, apiserver.WebhookMatchCondition{Expression: text})
		}
		ours, theirs := new(reviewer), new(reviewer)
		onError, theirOnError := request.NoOpinion, authorizer.DecisionNoOpinion
		if w.IntN(2) == 0 {
			onError, theirOnError = request.Deny, authorizer.DecisionDeny
		}
		us, err := authz.NewWebhook(authz.WebhookConfig{Hook: ours, Version: "v1", OnError: onError, Conditions: conditions})
		them, theirErr := theirwebhook.New(&rest.Config{Host: "http://none", Transport: theirs, QPS: -1}, "v1", 0, 0, wait.Backoff{Steps: 1}, theirOnError,
			theirConditions, "w", theirmetrics.NoopAuthorizerMetrics{}, compiler)
		if (err == nil) != (theirErr == nil) {
			t.Fatalf("%q:\n got %v\nwant %v", conditions, err, theirErr)
		}
		if err != nil {
			continue
		}
		compiled++
		for range each {
			a := w.request()
			status := map[string]any{"allowed": w.IntN(2) == 0, "denied": w.IntN(3) == 0, "reason": w.one("", "because")}
			ours.asked, ours.status, theirs.asked, theirs.status = nil, status, nil, status
			attrs := theirAttributes(t, a)
			got, reason, err := us.Authorize(t.Context(), a)
			want, theirReason, theirErr := them.Authorize(t.Context(), attrs)
			if got != sameDecision[want] || reason != theirReason || sorted(err) != sorted(theirErr) || !reflect.DeepEqual(ours.asked, theirs.asked) {
				t.Errorf("%s\nof %+v by %+v:\n got %v %q %v, asked %v\nwant %v %q %v, asked %v", strings.Join(conditions, "\n"), a, a.User,
					got, reason, err, ours.asked, want, theirReason, theirErr, theirs.asked)
			}
			switch {
			case err != nil:
				seen["failed"]++
			case ours.asked == nil:
				seen["excluded"]++
			default:
				seen["asked"]++
			}
		}
	}
	t.Logf("%d of %d lists of conditions compile; %v", compiled, n, seen)
	for _, what := range []string{"failed", "excluded", "asked"} {
		if seen[what] < compiled*each/20 {
			t.Errorf("%s %d times: too little", what, seen[what])
		}
	}
}
