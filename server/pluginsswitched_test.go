package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
)

// enabling returns a change of the configuration that enables plugins.
func enabling(names ...string) func(*server.Config) {
	return func(c *server.Config) { c.Admission.Enable = names }
}

// TestNamespaceAutoProvision creates objects in namespaces that do not exist.
func TestNamespaceAutoProvision(t *testing.T) {
	p := newInProcess(t, enabling("NamespaceAutoProvision", "NamespaceExists"))
	const object = `{"metadata":{"name":"a"}}`
	if code, answer := p.do("POST", "/api/v1/namespaces/fresh/configmaps?dryRun=All", object); code != http.StatusNotFound {
		t.Errorf("a dry run: got %d %s", code, answer)
	}
	for range 2 { // the second fails because the object exists
		_, _ = p.do("POST", "/api/v1/namespaces/fresh/configmaps", object)
	}
	if code, answer := p.do("GET", "/api/v1/namespaces/fresh/configmaps/a", ""); code != http.StatusOK {
		t.Errorf("the object: got %d %s", code, answer)
	}
	_, answer := p.do("GET", "/api/v1/namespaces/fresh", "")
	for _, part := range []string{`"kubernetes.io/metadata.name":"fresh"`, `"finalizers":["kubernetes"]`, `"phase":"Active"`} {
		if !strings.Contains(answer, part) {
			t.Errorf("the namespace: got %s, want %s", answer, part)
		}
	}
}

// guardedFinalizers allows everything but updates of finalizers, which it allows for owners called
// free.
type guardedFinalizers struct{}

func (guardedFinalizers) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	if a.Subresource == "finalizers" && a.Name != "free" {
		return request.NoOpinion, "not by " + a.Resource + " in " + a.Namespace, nil
	}
	return request.Allow, "", nil
}

// TestOwnersAreGuarded blocks the deletion of owners. Their kinds are looked up among the resources
// that the server serves.
func TestOwnersAreGuarded(t *testing.T) {
	p := newInProcess(t, enabling("OwnerReferencesPermissionEnforcement"), func(c *server.Config) {
		c.Authorization = access.Config{Authorizer: guardedFinalizers{}, Modes: []string{access.AlwaysDeny}}
	})
	for _, tt := range []struct {
		owner, want string
		code        int
	}{
		{`"apiVersion":"apps/v1","kind":"Deployment","name":"o"`, "you can't set finalizers on: not by deployments in ns", http.StatusForbidden},
		{`"apiVersion":"v1","kind":"Node","name":"o"`, "you can't set finalizers on: not by nodes in ", http.StatusForbidden},
		{`"apiVersion":"apps/v9","kind":"Deployment","name":"free"`, `no matches for kind \"Deployment\" in version \"apps/v9\"`, http.StatusForbidden},
		{`"apiVersion":"apps/v1","kind":"Deployment","name":"free"`, "", http.StatusCreated},
	} {
		code, answer := p.do("POST", "/api/v1/namespaces/ns/configmaps",
			`{"metadata":{"generateName":"a","ownerReferences":[{"uid":"1","blockOwnerDeletion":true,`+tt.owner+`}]}}`)
		if code != tt.code || !strings.Contains(answer, tt.want) {
			t.Errorf("%s: got %d %s", tt.owner, code, answer)
		}
	}
}

// TestResizeIsBounded resizes a pod on a node that the server has. These plugins are on by default.
func TestResizeIsBounded(t *testing.T) {
	p := newInProcess(t)
	p.must("POST", "/api/v1/nodes", `{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"2","memory":"1Gi"}}}`)
	p.must("POST", "/api/v1/namespaces/ns/pods", `{"metadata":{"name":"a"},"spec":{"nodeName":"n","resources":{"requests":{"cpu":"1"}},
		"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}`)
	for _, tt := range []struct {
		body, want string
		code       int
	}{
		{`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"500m"}}}]}}`, "", http.StatusOK},
		{`{"spec":{"resources":{"requests":{"cpu":"3"}}}}`, "InPlacePodLevelResourcesVerticalScaling which are not available on node", http.StatusForbidden},
	} {
		code, answer := p.do("PATCH", "/api/v1/namespaces/ns/pods/a/resize", tt.body, "Content-Type", "application/strategic-merge-patch+json")
		if code != tt.code || !strings.Contains(answer, tt.want) {
			t.Errorf("%s: got %d %s", tt.body, code, answer)
		}
	}
}
