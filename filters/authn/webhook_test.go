package authn

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
)

// hookFunc is a webhook as a function of the request's JSON, which returns the response's JSON.
type hookFunc func(ask string) (string, error)

func (f hookFunc) Call(_ context.Context, in, out any) error {
	ask, err := json.Marshal(in)
	if err != nil {
		return err
	}
	answer, err := f(string(ask))
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(answer), out)
}

func TestWebhook(t *testing.T) {
	const yes = `"authenticated":true,"user":{"username":"u","uid":"7","groups":["a"],"extra":{"k":["v"]}}`
	whole := &request.User{Name: "u", UID: "7", Groups: []string{"a", request.GroupAuthenticated}, Extra: map[string][]string{"k": {"v"}}}
	for _, tt := range []struct {
		name, answer string
		audiences    []string
		user         *request.User
		accepted     []string
		fails        string
	}{
		{"a user", `{"status":{` + yes + `}}`, nil, whole, nil, ""},
		{"of its kind", `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","status":{` + yes + `}}`, nil, whole, nil, ""},
		{"of another version", `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1beta1","status":{` + yes + `}}`, nil, nil, nil, "is not a TokenReview"},
		{"of another kind", `{"kind":"Status","status":{` + yes + `}}`, nil, nil, nil, "is not a TokenReview"},
		{"not authenticated", `{"status":{}}`, nil, nil, nil, ""},
		{"not authenticated, with a reason", `{"status":{"error":"it is old"}}`, nil, nil, nil, "it is old"},
		{"with a reason that quotes the token", `{"status":{"error":"sesame is unknown"}}`, nil, nil, nil, "invalid bearer token"},
		{"of our audience", `{"status":{` + yes + `}}`, []string{"api", "x"}, whole, []string{"api"}, ""},
		{"of another audience", `{"status":{` + yes + `}}`, []string{"x"}, nil, nil, ""},
		{"that names its audiences", `{"status":{` + yes + `,"audiences":["x","y"]}}`, []string{"api", "x"}, whole, []string{"x"}, ""},
		{"that names another audience", `{"status":{` + yes + `,"audiences":["y"]}}`, []string{"api"}, nil, nil, ""},
		{"audience before error", `{"status":{"error":"it is old"}}`, []string{"x"}, nil, nil, ""},
		{"anonymous", `{"status":{"authenticated":true,"user":{"username":"system:anonymous"}}}`, nil, &request.User{Name: request.AnonymousUser}, nil, ""},
		{"that is no JSON", `no`, nil, nil, nil, "invalid character"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hook := hookFunc(func(ask string) (string, error) {
				var review struct {
					APIVersion, Kind string
					Spec             struct {
						Token     string
						Audiences []string
					}
				}
				if err := json.Unmarshal([]byte(ask), &review); err != nil || review.APIVersion != "authentication.k8s.io/v1" || review.Kind != "TokenReview" ||
					review.Spec.Token != "sesame" || !slices.Equal(review.Spec.Audiences, tt.audiences) {
					t.Errorf("asked %s", ask)
				}
				return tt.answer, nil
			})
			a, err := NewWebhook(hook, ReviewV1, []string{"api"})
			if err != nil {
				t.Fatal(err)
			}
			user, accepted, err := a.AuthenticateToken(t.Context(), "sesame", tt.audiences)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), "sesame") {
					t.Errorf("got %v, %v, want an error with %q", user, err, tt.fails)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(user, tt.user) || !slices.Equal(accepted, tt.accepted) {
				t.Errorf("got %+v, %q, %v, want %+v, %q", user, accepted, err, tt.user, tt.accepted)
			}
		})
	}
	a, err := NewWebhook(hookFunc(func(string) (string, error) { return "", errors.New("away") }), ReviewV1beta1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user, _, err := a.AuthenticateToken(t.Context(), "sesame", nil); user != nil || err == nil {
		t.Errorf("away: got %v, %v", user, err)
	}
	if _, err := NewWebhook(nil, "v2", nil); err == nil {
		t.Error("version v2: got no error")
	}
}
