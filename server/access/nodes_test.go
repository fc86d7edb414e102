package access_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestNodeMode: a kubelet may read the objects that its pods need as soon as the server has seen
// the pods, and may write its own objects.
func TestNodeMode(t *testing.T) {
	s := servertest.Start(t, server.Config{
		Controllers:    []string{},
		Admission:      plugins.Config{Disable: []string{"ServiceAccount"}}, // no controller creates service accounts
		Serving:        server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
		Authentication: identity.Config{TokenAuthFile: tokensOf(t, `a,system:node:a,1,"system:nodes"`, `b,system:node:b,2,"system:nodes"`)},
		Authorization:  access.Config{Modes: []string{access.Node}},
	})
	must := func(code int, token, method, path, body, says string) {
		t.Helper()
		if got, answer := do(t, s.Server, token, method, path, body); got != code || !strings.Contains(answer, says) {
			t.Fatalf("%s %s as %s: got %d %s, want %d %s", method, path, token, got, answer, code, says)
		}
	}
	for _, name := range []string{"needed", "other"} {
		must(http.StatusCreated, s.Token, "POST", "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"`+name+`"}}`, "")
	}
	must(http.StatusCreated, s.Token, "POST", "/api/v1/namespaces/default/pods", `{"metadata":{"name":"p"},"spec":{"nodeName":"a",
		"containers":[{"name":"c","image":"i","envFrom":[{"secretRef":{"name":"needed"}}]}]}}`, "")
	const secret = "/api/v1/namespaces/default/secrets/needed"
	for deadline := time.Now().Add(10 * time.Second); ; {
		if code, answer := do(t, s.Server, "a", "GET", secret, ""); code == http.StatusOK {
			break
		} else if code != http.StatusForbidden || time.Now().After(deadline) {
			t.Fatalf("its pod's secret: %d %s", code, answer)
		}
	}
	must(http.StatusForbidden, "b", "GET", secret, "", "no relationship found between node 'b' and this object")
	must(http.StatusForbidden, "a", "GET", "/api/v1/namespaces/default/secrets/other", "", "no relationship found")
	must(http.StatusForbidden, "a", "GET", "/api/v1/pods", "", "can only list/watch pods with spec.nodeName field selector")
	must(http.StatusOK, "a", "GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Da", "", `"name":"p"`)

	must(http.StatusForbidden, "b", "POST", "/api/v1/nodes", `{"metadata":{"name":"a"}}`, `node \"b\" is not allowed to modify node \"a\"`)
	must(http.StatusForbidden, "a", "POST", "/api/v1/nodes", `{"metadata":{"name":"a","labels":{"node-role.kubernetes.io/x":""}}}`,
		"is not allowed to set the following labels: node-role.kubernetes.io/x")
	must(http.StatusCreated, "a", "POST", "/api/v1/nodes", `{"metadata":{"name":"a"}}`, "")
	must(http.StatusForbidden, "b", "PATCH", "/api/v1/namespaces/default/pods/p/status", `{"status":{"message":"m"}}`,
		`node \"b\" can only update pod status for pods with spec.nodeName set to itself`)
	must(http.StatusOK, "a", "PATCH", "/api/v1/namespaces/default/pods/p/status", `{"status":{"message":"m"}}`, "")
	must(http.StatusNotFound, "a", "POST", "/api/v1/namespaces/default/pods/none/eviction",
		`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"none"}}`, `"pod \"none\" not found"`)
	must(http.StatusForbidden, "b", "DELETE", "/api/v1/namespaces/default/pods/p", "", "can only delete pods with spec.nodeName set to itself")
	must(http.StatusOK, "a", "DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0", "", "")
}
