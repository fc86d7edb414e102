package differential

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/kubernetes/pkg/registry/authentication/selfsubjectreview"
	"k8s.io/kubernetes/pkg/registry/authorization/localsubjectaccessreview"
	"k8s.io/kubernetes/pkg/registry/authorization/selfsubjectaccessreview"
	"k8s.io/kubernetes/pkg/registry/authorization/subjectaccessreview"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage/memory"
)

// reviewRows are the reviews that an authorizer answers, and SelfSubjectReview.
func reviewRows(may authorizer.Authorizer) []Row {
	kind := func(group, name string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group + ".k8s.io", Version: "v1", Kind: name}
	}
	row := func(group, name string, cluster bool, doors Doors) Row {
		return Row{Kind: kind(group, name), Resource: strings.ToLower(name) + "s", Cluster: cluster,
			REST: func(generic.RESTOptionsGetter) (Doors, error) { return doors, nil }}
	}
	return []Row{
		row("authorization", "SubjectAccessReview", true, Doors{"": subjectaccessreview.NewREST(may)}),
		row("authorization", "SelfSubjectAccessReview", true, Doors{"": selfsubjectaccessreview.NewREST(may)}),
		row("authorization", "LocalSubjectAccessReview", false, Doors{"": localsubjectaccessreview.NewREST(may)}),
		row("authentication", "SelfSubjectReview", true, Doors{"": selfsubjectreview.NewREST()}),
	}
}

// TestReviews sends random reviews, right and wrong ones, to both sides, which share an authorizer.
// The authorizer repeats each question in its reason, so that the answers show it.
func TestReviews(t *testing.T) {
	o := oracle{seed, 40}
	s := servertest.Start(t, server.Config{
		Storage: server.StorageConfig{Store: memory.New(memory.Config{})}, Controllers: []string{},
		Authorization: access.Config{Authorizer: o, Modes: []string{access.AlwaysDeny}},
	})
	ours := &ours{handler: s.Server.Handler()}
	rows := reviewRows(union.New(authorizerfactory.NewPrivilegedGroups("system:masters"), theirOracle{o},
		authorizerfactory.NewAlwaysDenyAuthorizer()))
	theirs := newTheirs(t, rows, newShelf())
	rnd, clock := random("reviews"), regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	codes := map[int]int{}
	for range times(10_000) {
		row := rows[rnd.IntN(len(rows))]
		url := row.collection() + oneOf(rnd, "", "", "", "", "?dryRun=All", "?fieldValidation=Strict", "?fieldManager=m")
		body := encode(reviewOf(rnd, row))
		a, b := ask(theirs, http.MethodPost, url, body), ask(ours, http.MethodPost, url, body)
		codes[b.Code]++
		for _, side := range []*answer{&a, &b} {
			text := clock.ReplaceAll(encode(side.withoutGenerated(nil).Body), []byte("NOW"))
			side.Body = nil
			if err := decode(text, &side.Body); err != nil {
				t.Fatal(err)
			}
		}
		a.settle()
		b.settle()
		if status, _ := b.Body["status"].(map[string]any); status != nil && b.accepted() {
			if me, _ := status["userInfo"].(map[string]any); me["uid"] == "admin" {
				delete(me, "uid") // our administrator has a uid
			}
		}
		var problem []string
		if a.Code != b.Code {
			problem = append(problem, fmt.Sprintf("code: theirs %d, ours %d", a.Code, b.Code))
		}
		difference("", any(a.Body), any(b.Body), func(path string, a, b any) {
			problem = append(problem, fmt.Sprintf("%s:\n  theirs %s\n  ours   %s", path, encode(a), encode(b)))
		})
		if len(problem) > 0 {
			t.Fatalf("POST %s %s\n%s", url, body, strings.Join(problem, "\n"))
		}
	}
	t.Logf("answers: %v", codes)
	for _, code := range []int{201, 400, 422} {
		if codes[code] == 0 && count >= 1 {
			t.Errorf("no answer was %d: the test tries too little", code)
		}
	}
}

// reviewOf is the body of a review, mostly a right one.
func reviewOf(rnd *rand.Rand, row Row) map[string]any {
	spec := map[string]any{}
	maybe := func(in map[string]any, one int, key string, values ...any) {
		if chance(rnd, one) {
			in[key] = oneOf(rnd, values...)
		}
	}
	if !chance(rnd, 12) {
		maybe(spec, 1, "user", "jane", "jane", "", "system:serviceaccount:ns:a")
		maybe(spec, 3, "groups", []any{"dev"}, []any{"dev", "ops"}, []any{}, nil, []any{"system:masters"})
		maybe(spec, 4, "uid", "7", "")
		maybe(spec, 4, "extra", map[string]any{"a": []any{"b"}}, map[string]any{"A/b": []any{"b", ""}, "c": []any{}}, map[string]any{"a": nil}, map[string]any{})
	}
	if !chance(rnd, 5) {
		a := map[string]any{}
		maybe(a, 2, "namespace", where, where, where, "other", "")
		maybe(a, 1, "verb", "get", "list", "*", "")
		maybe(a, 2, "group", "apps", "*")
		maybe(a, 3, "version", "v1", "*", "")
		maybe(a, 1, "resource", "pods", "*")
		maybe(a, 3, "subresource", "log", "*/scale")
		maybe(a, 3, "name", "p")
		if chance(rnd, 2) {
			a["fieldSelector"] = selectorOf(rnd, []any{"spec.nodeName=n", "a=b,c!=d", "a==b\\,c", "a", "a=b=c", "=", "a in (b)"},
				[]any{"spec.nodeName", "a", "", "a=b"}, []any{"n", "", "a,b"})
		}
		if chance(rnd, 2) {
			a["labelSelector"] = selectorOf(rnd, []any{"a=b", "b in (x,y),a", "!a,c notin (z)", "a>1", "a in", "a=b=c", "=", "a/b/c", "a in ()", ","},
				[]any{"a", "example.com/a", "", "a b", "A"}, []any{"n", "", "a,b", "x"})
		}
		spec["resourceAttributes"] = a
	}
	if chance(rnd, 6) {
		spec["nonResourceAttributes"] = oneOf(rnd, map[string]any{"path": "/healthz", "verb": "get"}, map[string]any{"path": "/*"}, map[string]any{})
	}
	meta := map[string]any{}
	if !row.Cluster {
		maybe(meta, 2, "namespace", where, where, where, "other", "")
	}
	maybe(meta, 12, "name", "x", "")
	maybe(meta, 20, "labels", map[string]any{"a": "b"}, map[string]any{})
	maybe(meta, 20, "generateName", "x-")
	maybe(meta, 20, "annotations", map[string]any{"a": "b"}, map[string]any{"not right!": "b"})
	maybe(meta, 20, "creationTimestamp", "2024-02-29T12:00:00Z", nil)
	maybe(meta, 20, "uid", "u")
	maybe(meta, 20, "finalizers", []any{"example.com/f"}, []any{})
	maybe(meta, 20, "managedFields", []any{}, []any{map[string]any{}}, []any{map[string]any{"manager": "m", "operation": "Update",
		"apiVersion": "authorization.k8s.io/v1", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{}}}})
	body := map[string]any{"apiVersion": row.Kind.GroupVersion().String(), "kind": row.Kind.Kind}
	if !strings.HasPrefix(row.Resource, "selfsubjectreview") {
		body["spec"] = spec
	}
	maybe(body, 2, "metadata", meta)
	if strings.HasPrefix(row.Resource, "selfsubjectreview") || chance(rnd, 20) {
		maybe(body, 3, "status", map[string]any{"allowed": true, "reason": "so"}, map[string]any{"userInfo": map[string]any{"username": "me"}}, nil)
	}
	maybe(body, 100, "spec", nil, map[string]any{"nonsense": 1}, []any{})
	maybe(body, 100, "kind", "Pod", "SubjectAccessReview", nil)
	maybe(body, 100, "apiVersion", "v1", "authorization.k8s.io/v7", "authorization.k8s.io/v1")
	return body
}

// selectorOf makes up a selector, mostly in one of its two forms.
func selectorOf(rnd *rand.Rand, raw, keys, values []any) map[string]any {
	s := map[string]any{}
	if chance(rnd, 2) {
		s["rawSelector"] = oneOf(rnd, raw...)
	}
	if s["rawSelector"] == nil && !chance(rnd, 20) || chance(rnd, 12) {
		list := []any{}
		for range oneOf(rnd, 1, 1, 1, 2, 3, 0) {
			r := map[string]any{"key": oneOf(rnd, keys...), "operator": oneOf[any](rnd, "In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "")}
			some := []any{}
			for range oneOf(rnd, 0, 1, 1, 1, 2) {
				some = append(some, oneOf(rnd, values...))
			}
			if len(some) > 0 || chance(rnd, 2) {
				r["values"] = some
			}
			list = append(list, r)
		}
		s["requirements"] = list
	}
	return s
}
