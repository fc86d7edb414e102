package quaytest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// Definitions is the URL path of CustomResourceDefinitions.
const Definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// MergePatch is the media type of a JSON merge patch.
const MergePatch = "application/merge-patch+json"

// Quay is a server, and a group for which tests create definitions there. The resources of the
// group are cluster-scoped.
type Quay struct {
	*Caller
	Group string
}

// New starts a server, with at most one Config, and returns the Quay with the group
// quay.example.com.
func New(t testing.TB, config ...server.Config) *Quay {
	return &Quay{&Caller{servertest.Start(t, config...), t}, "quay.example.com"}
}

// Version returns the JSON of a served version of a definition, which is the storage version if
// stored is true. Its schema allows any field.
func Version(name string, stored bool) string {
	return fmt.Sprintf(`{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`, name, stored)
}

// Definition returns the JSON of a definition. names is "" or further fields of spec.names, such as
// `,"shortNames":["x"]`. versions come from Version.
func (q *Quay) Definition(plural, kind, names string, versions ...string) string {
	return fmt.Sprintf(`{"metadata":{"name":"%[1]s.%[2]s"},"spec":{"group":%[2]q,"scope":"Cluster","names":{"plural":%[1]q,"kind":%[3]q%[4]s},"versions":[%[5]s]}}`,
		plural, q.Group, kind, names, strings.Join(versions, ","))
}

// Path returns the URL path of the instances of a resource, in a version.
func (q *Quay) Path(plural, version string) string {
	return "/apis/" + q.Group + "/" + version + "/" + plural
}

// Condition returns a condition of a definition, as "status reason message".
func (q *Quay) Condition(plural, typ string) string {
	q.T.Helper()
	_, tree := q.Do("GET", Definitions+"/"+plural+"."+q.Group, "")
	return ConditionOf(tree, typ)
}

// ConditionOf returns a condition of an object, as "status reason message", or "" if there is none.
func ConditionOf(tree map[string]any, typ string) string {
	list, _ := Value(tree, "status.conditions").([]any)
	for _, c := range list {
		if Value(c, "type") == typ {
			return fmt.Sprint(Value(c, "status"), " ", Value(c, "reason"), " ", Value(c, "message"))
		}
	}
	return ""
}

// Until waits up to 20 s until a condition of a definition begins with want, in the form of
// Condition.
func (q *Quay) Until(plural, typ, want string) {
	q.T.Helper()
	var got string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if got = q.Condition(plural, typ); strings.HasPrefix(got, want) {
			return
		}
	}
	q.T.Fatalf("%s: %s: got %q, want %q", plural, typ, got, want)
}

// Define creates a definition and waits until it is established.
func (q *Quay) Define(plural, kind string, versions ...string) {
	q.T.Helper()
	q.Want(201, "POST", Definitions, q.Definition(plural, kind, "", versions...), nil)
	q.Until(plural, "Established", "True")
}

// Gone waits up to 20 s until a GET of a path is answered with 404.
func (q *Quay) Gone(path string) {
	q.T.Helper()
	code := 0
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if code, _ = q.Raw("GET", path, ""); code == 404 {
			return
		}
	}
	q.T.Fatalf("GET %s: got %d, want 404 in the end", path, code)
}

// Change applies a merge patch to the definition of ships.
func (q *Quay) Change(patch string) {
	q.T.Helper()
	q.Want(200, "PATCH", Definitions+"/ships."+q.Group, patch, nil, "Content-Type", MergePatch)
}

// Eventually gets an object, for up to 20 s, until it has the wanted values (see Want). Tests use
// it after a change of a definition, which takes effect with a delay.
func (q *Quay) Eventually(path string, want map[string]any) {
	q.T.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		_, tree := q.Do("GET", path, "")
		missing := 0
		for at, v := range want {
			if fmt.Sprint(Value(tree, at)) != fmt.Sprint(v) {
				missing++
			}
		}
		if missing == 0 {
			return
		}
	}
	q.Want(200, "GET", path, "", want)
}
