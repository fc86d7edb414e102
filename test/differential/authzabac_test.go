package differential

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kubernetes/pkg/auth/authorizer/abac"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
)

// TestPolicyFiles has both sides read the same random policy files and answer the same questions,
// and compares the rules that they list.
func TestPolicyFiles(t *testing.T) {
	rnd := random("abac")
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	line := func() string {
		if rnd.IntN(8) == 0 {
			return pick("", "# comment", "  ", "{}", "null", "[]", "{", `{"user":1}`, `{"kind":"Policy"}`, `{"apiVersion":"v0"}`, "\t{}", `"x"`,
				`{"apiVersion":"abac.authorization.kubernetes.io/v1beta1"}`, `{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy"}`,
				`{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Role","spec":{"user":"*"}}`,
				`{"apiVersion":"abac.authorization.kubernetes.io/v0","kind":"Policy","user":"alice"}`,
				`{"apiVersion":"abac.authorization.kubernetes.io/v2","kind":"Policy","user":"alice"}`,
				`{"kind":"Role","user":"alice"}`, `{"user":"alice","unknown":1}`, `{"USER":"alice","resource":"pods"}`)
		}
		var fields []string
		add := func(name string, values ...string) {
			if v := pick(append(values, "-")...); v != "-" {
				fields = append(fields, fmt.Sprintf("%q:%q", name, v))
			}
		}
		add("user", "alice", "bob", "*", "")
		add("group", "dev", "*", "system:authenticated", "")
		add("namespace", "a", "b", "*", "")
		add("resource", "pods", "secrets", "*", "")
		if rnd.IntN(2) == 0 {
			fields = append(fields, `"readonly":true`)
		}
		if rnd.IntN(3) == 0 { // the form without a version (v0)
			return "{" + strings.Join(fields, ",") + "}"
		}
		add("apiGroup", "apps", "*", "")
		add("nonResourcePath", "/healthz", "/api/*", "*", "/a**", "")
		return `{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{` + strings.Join(fields, ",") + "}}"
	}
	path := filepath.Join(t.TempDir(), "policy")
	accepted, asked, allowed := 0, 0, 0
	for range times(3000) {
		var lines []string
		for range rnd.IntN(6) {
			lines = append(lines, line())
		}
		text := strings.Join(lines, "\n")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ours, err := authz.ReadPolicyFile(path)
		theirs, theirErr := abac.NewFromFile(path)
		if (err != nil) != (theirErr != nil) {
			t.Errorf("%s:\n got %v\nwant %v", text, err, theirErr)
			continue
		}
		if err != nil {
			if got, want := whereIn(err), whereIn(theirErr); got != want {
				t.Errorf("%s:\n got %v\nwant %v", text, err, theirErr)
			}
			continue
		}
		accepted++
		for range 10 {
			u := &request.User{Name: pick("alice", "bob", "carol", ""), Groups: [][]string{nil, {"dev"}, {"system:authenticated", "dev"}}[rnd.IntN(3)]}
			a := request.Attributes{User: u, Verb: pick("get", "list", "watch", "create", "delete", ""), Path: pick("/healthz", "/api", "/api/v1", "/ab", "/", ""),
				IsResource: rnd.IntN(3) > 0, Namespace: pick("a", "b", ""), Resource: pick("pods", "secrets", ""), Group: pick("apps", "")}
			got, reason, _ := ours.Authorize(t.Context(), &a)
			want, wantReason, _ := theirs.Authorize(t.Context(), theirAttributes(t, &a))
			if got != theirDecision(want) || reason != wantReason {
				t.Errorf("%s: %+v of %+v:\n got %v %q\nwant %v %q", text, a, *u, got, reason, want, wantReason)
			}
			asked++
			if got == request.Allow {
				allowed++
			}
			rules, incomplete, err := ours.RulesFor(t.Context(), u, a.Namespace)
			resources, paths, theirIncomplete, theirErr := theirs.RulesFor(t.Context(), &user.DefaultInfo{Name: u.Name, Groups: u.Groups}, a.Namespace)
			var theirRules []rbacv1.PolicyRule
			for _, r := range resources {
				theirRules = append(theirRules, rbacv1.PolicyRule{Verbs: r.GetVerbs(), APIGroups: r.GetAPIGroups(), Resources: r.GetResources()})
			}
			for _, r := range paths {
				theirRules = append(theirRules, rbacv1.PolicyRule{Verbs: r.GetVerbs(), NonResourceURLs: r.GetNonResourceURLs()})
			}
			if !slices.EqualFunc(rules, theirRules, func(a, b rbacv1.PolicyRule) bool { return reflect.DeepEqual(a, b) }) || incomplete != theirIncomplete ||
				(err != nil) != (theirErr != nil) {
				t.Errorf("%s: rules of %+v in %q:\n got %+v\nwant %+v", text, *u, a.Namespace, rules, theirRules)
			}
		}
	}
	t.Logf("%d files accepted, %d of %d questions allowed", accepted, allowed, asked)
	if accepted < 100*int(count) || allowed < asked/20 {
		t.Error("too little is accepted or allowed")
	}
}

// whereIn returns the beginning of an error, which names the place of the mistake.
func whereIn(err error) string {
	at, _, _ := strings.Cut(err.Error(), ": ")
	return at
}
