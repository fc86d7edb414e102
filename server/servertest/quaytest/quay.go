package quaytest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// Definitions is the path of definitions.
const Definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// MergePatch is the media type of a JSON merge patch.
const MergePatch = "application/merge-patch+json"

// Quay is a group with definitions, on one of the servers of a store.
type Quay struct {
	*Caller
	Group string
}

// New starts a server, with at most one Config, and returns the group quay.example.com on it.
func New(t testing.TB, config ...server.Config) *Quay {
	return &Quay{&Caller{servertest.Start(t, config...), t}, "quay.example.com"}
}

// Version is a version of a definition: served, and stored if that is said.
func Version(name string, stored bool) string {
	return fmt.Sprintf(`{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`, name, stored)
}

// Definition is a definition of plural with some names beside, such as `,"shortNames":["x"]`.
func (q *Quay) Definition(plural, kind, names string, versions ...string) string {
	return fmt.Sprintf(`{"metadata":{"name":"%[1]s.%[2]s"},"spec":{"group":%[2]q,"scope":"Cluster","names":{"plural":%[1]q,"kind":%[3]q%[4]s},"versions":[%[5]s]}}`,
		plural, q.Group, kind, names, strings.Join(versions, ","))
}

// Path is where the instances of plural are, in a version.
func (q *Quay) Path(plural, version string) string {
	return "/apis/" + q.Group + "/" + version + "/" + plural
}

// Condition returns a condition of a definition, as "status reason message".
func (q *Quay) Condition(plural, typ string) string {
	q.T.Helper()
	_, tree := q.Do("GET", Definitions+"/"+plural+"."+q.Group, "")
	return ConditionOf(tree, typ)
}

// ConditionOf returns a condition of an object, as "status reason message", "" if there is none.
func ConditionOf(tree map[string]any, typ string) string {
	list, _ := Value(tree, "status.conditions").([]any)
	for _, c := range list {
		if Value(c, "type") == typ {
			return fmt.Sprint(Value(c, "status"), " ", Value(c, "reason"), " ", Value(c, "message"))
		}
	}
	return ""
}

// Until waits for a condition.
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

// Gone waits until there is nothing at a path.
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

// Change patches the definition of ships.
func (q *Quay) Change(patch string) {
	q.T.Helper()
	q.Want(200, "PATCH", Definitions+"/ships."+q.Group, patch, nil, "Content-Type", MergePatch)
}

// Eventually asks for an object until it is as wanted: what changes about a definition counts a
// moment later.
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
