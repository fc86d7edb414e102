package filters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/router/request"
)

// TestAccessMetrics: authentications and authorizations are counted by result, users by the form of
// their names.
func TestAccessMetrics(t *testing.T) {
	c, reg := metricsConfig(t)
	tokens, err := authn.ReadTokens(strings.NewReader("a,admin,1\nm,alice@example.com,2\nx,alice,3\nd,deny,4\ne,err,5\nn,none,6\n"))
	if err != nil {
		t.Fatal(err)
	}
	c.Authenticator = authn.Bearer(tokens) // no request is anonymous
	c.Authorizer = authz.Func(func(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
		switch a.User.Name {
		case "deny":
			return request.Deny, "", nil
		case "err":
			return request.NoOpinion, "", errors.New("oops")
		case "none":
			return request.NoOpinion, "", nil
		}
		return request.Allow, "", errors.New("does not matter")
	})
	for _, token := range []string{"a", "m", "x", "x", "d", "e", "n", "wrong", ""} {
		serve(c, ok, token, http.MethodGet, "/api/v1/namespaces/n/pods/p")
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if name := f.GetName(); !strings.HasPrefix(name, "authenticat") && !strings.HasPrefix(name, "authorization") {
			continue
		}
		for _, m := range f.GetMetric() {
			if n := m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount()); n > 0 {
				got = append(got, fmt.Sprintf("%s %s=%s %g", f.GetName(), m.GetLabel()[0].GetName(), m.GetLabel()[0].GetValue(), n))
			}
		}
	}
	want := []string{
		"authenticated_user_requests username=admin 1",
		"authenticated_user_requests username=email_id 1",
		"authenticated_user_requests username=other 5",
		"authentication_attempts result=error 1",
		"authentication_attempts result=failure 1",
		"authentication_attempts result=success 7",
		"authentication_duration_seconds result=error 1",
		"authentication_duration_seconds result=failure 1",
		"authentication_duration_seconds result=success 7",
		"authorization_attempts_total result=allowed 4",
		"authorization_attempts_total result=denied 1",
		"authorization_attempts_total result=error 1",
		"authorization_attempts_total result=no-opinion 1",
		"authorization_duration_seconds result=allowed 4",
		"authorization_duration_seconds result=denied 1",
		"authorization_duration_seconds result=error 1",
		"authorization_duration_seconds result=no-opinion 1",
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
