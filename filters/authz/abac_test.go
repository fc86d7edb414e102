package authz

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
)

func TestPolicyMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"# fine\n\n{}\n":             "",
		"{}\n{":                      "error reading policy file f, line 2: {: ",
		`{"user":1}`:                 "line 1",
		`{"kind":"Role"}`:            "line 1",
		strings.Repeat("a", 100_000): "error reading policy file f: bufio.Scanner: token too long",
	} {
		_, err := readPolicies("f", strings.NewReader(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", text, err, want)
		}
	}
}

// TestPolicyPaths: a path is compared as the client sent it, without cleaning it and without
// unescaping it.
func TestPolicyPaths(t *testing.T) {
	list, err := readPolicies("f", strings.NewReader(
		`{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"a","nonResourcePath":"/public/*"}}`+"\n"+
			`{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"a","nonResourcePath":"/healthz"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]request.Decision{
		"/public/x": allow, "/public/": allow, "/healthz": allow,
		"/public": pass, "/publicx": pass, "/Public/x": pass, "//public/x": pass, "/./public/x": pass, "/healthz/": pass, "/healthz/ping": pass,
		"/healthz%2f": pass, "/healthz?x": pass, "": pass, "/": pass, "/metrics": pass,
	} {
		if got, _, _ := list.Authorize(t.Context(), &request.Attributes{User: &request.User{Name: "a"}, Verb: "get", Path: path}); got != want {
			t.Errorf("%q: got %v, want %v", path, got, want)
		}
	}
}

// FuzzPolicies: no file causes a panic, and none allows anything that no line names.
func FuzzPolicies(f *testing.F) {
	f.Add(`{"user":"alice","readonly":true}` + "\n# comment\n" + `{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"group":"*"}}`)
	f.Add("null")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := readPolicies("f", strings.NewReader(text))
		if err != nil {
			return
		}
		nobody := &request.Attributes{User: &request.User{}, Verb: "get", IsResource: true, Resource: "pods"}
		if d, _, _ := list.Authorize(t.Context(), nobody); d == allow && !strings.Contains(text, "*") && !strings.Contains(text, `\`) {
			t.Errorf("%q allows what nobody asks", text)
		}
		list.RulesFor(t.Context(), nobody.User, "ns")
	})
}

// FuzzConfiguration: no file causes a panic.
func FuzzConfiguration(f *testing.F) {
	f.Add("apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n- type: Webhook\n  name: a\n  webhook:\n    matchConditions:\n    - expression: request.user == 'a'\n")
	f.Fuzz(func(_ *testing.T, text string) {
		if c, err := ParseConfiguration([]byte(text)); err == nil {
			c.Validate([]string{TypeWebhook, "Node"}, nil)
		}
	})
}
