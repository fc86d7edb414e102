package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/server/servertest/quaytest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

const (
	rbacPath  = "/apis/rbac.authorization.k8s.io/v1"
	rolesPath = rbacPath + "/namespaces/ns/roles"
	bindsPath = rbacPath + "/namespaces/ns/rolebindings"
)

// byRoles makes a server authorize by RBAC. Its users are root, who may do everything, alice and
// bob.
func byRoles(cfg *server.Config) {
	tokens, err := authn.ReadTokens(strings.NewReader("root,root,1,system:masters\nalice,alice,2,dev\nbob,bob,3\n"))
	if err != nil {
		panic(err)
	}
	cfg.Authorization.Modes = []string{access.RBAC}
	cfg.Authentication.Authenticators = []request.Authenticator{authn.Bearer(tokens)}
}

// newByRoles is newInProcess with byRoles.
func newByRoles(tb testing.TB, change ...func(*server.Config)) *inProcess {
	tb.Helper()
	cfg := server.Config{
		DataDir: tb.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory},
		Serving: server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
	}
	byRoles(&cfg)
	for _, f := range change {
		f(&cfg)
	}
	s, err := servertest.New(tb, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	p := &inProcess{&handled{Server: s, TB: tb}}
	p.do("POST", "/api/v1/namespaces", `{"metadata":{"name":"ns"}}`, as("root")...)
	return p
}

func as(user string) []string { return []string{"Authorization", "Bearer " + user} }

// want sends a request as a user, and compares the code and a part of the answer.
func (p *inProcess) want(code int, says, user, method, target, body string, header ...string) {
	p.TB.Helper()
	got, text := p.do(method, target, body, append(as(user), header...)...)
	if got != code || !strings.Contains(status(text).Message+text, says) {
		p.TB.Errorf("%s: %s %s %s: got %d %s, want %d %s", user, method, target, body, got, text, code, says)
	}
}

func roleBody(name, rules string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"rules":[%s]}`, name, rules)
}

func bindBody(name, kind, role, user string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"roleRef":{"kind":%q,"name":%q},"subjects":[{"kind":"User","name":%q}]}`, name, kind, role, user)
}

const readMaps = `{"verbs":["get","list"],"apiGroups":[""],"resources":["configmaps"]}`

// TestRevocationHoldsAtOnce: after a change of roles or bindings has been answered, it applies to
// the next request, even if the server's events come late. On another server it applies as soon as
// that server has seen the change.
func TestRevocationHoldsAtOnce(t *testing.T) {
	t.Parallel() // it waits
	store := memory.New(memory.Config{})
	t.Cleanup(func() { store.Close() })
	on := func(s storage.Store) func(*server.Config) {
		return func(cfg *server.Config) { cfg.Storage = server.StorageConfig{Store: s} }
	}
	near := newByRoles(t, on(&quaytest.DelayedStore{Store: sharedStore{store}, Late: 10 * time.Millisecond}))
	far := newByRoles(t, on(&quaytest.DelayedStore{Store: sharedStore{store}, Late: 5 * time.Millisecond}))
	near.want(201, "", "root", "POST", rolesPath, roleBody("r", readMaps))
	for i := range 10 {
		near.want(201, "", "root", "POST", bindsPath, bindBody("b", "Role", "r", "alice"))
		near.want(200, "", "alice", "GET", maps, "")
		far.want(200, "", "root", "GET", bindsPath+"/b", "") // waits until the server has seen the binding
		far.want(200, "", "alice", "GET", maps, "")
		switch i % 3 {
		case 0:
			near.want(200, "", "root", "DELETE", bindsPath+"/b", "")
		case 1:
			near.want(200, "", "root", "PATCH", bindsPath+"/b", `{"subjects":null}`)
		case 2:
			near.want(200, "", "root", "PATCH", rolesPath+"/r", `{"rules":null}`)
		}
		near.want(403, "cannot list resource", "alice", "GET", maps, "")
		far.want(200, "", "root", "GET", rolesPath, "")
		far.want(403, "cannot list resource", "alice", "GET", maps, "")
		near.want(200, "", "root", "DELETE", bindsPath, "")
		near.want(200, "", "root", "PATCH", rolesPath+"/r", `{"rules":[`+readMaps+`]}`)
	}
}

// TestEscalation: a user cannot grant rights that the user does not have, with any verb.
func TestEscalation(t *testing.T) {
	p := newByRoles(t)
	const cluster, clusterBinds = rbacPath + "/clusterroles", rbacPath + "/clusterrolebindings"
	const writeRoles = `{"verbs":["*"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles","rolebindings","clusterroles","clusterrolebindings"]}`
	// The verb * would contain escalate and bind.
	change := strings.Replace(writeRoles, `"*"`, `"get","create","update","patch","delete"`, 1)
	p.want(201, "", "root", "POST", cluster, roleBody("alice", change+","+readMaps))
	p.want(201, "", "root", "POST", clusterBinds, bindBody("alice", "ClusterRole", "alice", "alice"))
	p.want(201, "", "root", "POST", cluster, roleBody("all", `{"verbs":["*"],"apiGroups":["*"],"resources":["*"]},{"verbs":["*"],"nonResourceURLs":["*"]}`))
	p.want(201, "", "root", "POST", rolesPath, roleBody("maps", readMaps))

	const more = `{"verbs":["get","delete"],"apiGroups":[""],"resources":["configmaps","secrets"]}`
	const says = "user \"alice\" (groups=[\"dev\" \"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n" +
		"{APIGroups:[\"\"], Resources:[\"configmaps\"], Verbs:[\"delete\"]}\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"delete\"]}"
	apply := []string{"Content-Type", "application/apply-patch+yaml"}
	applied := func(name, rules string) string {
		return `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role",` + roleBody(name, rules)[1:]
	}
	p.want(201, "", "alice", "POST", rolesPath, roleBody("fine", readMaps))
	p.want(403, `roles.rbac.authorization.k8s.io "more" is forbidden: `+says, "alice", "POST", rolesPath, roleBody("more", more))
	p.want(403, `roles.rbac.authorization.k8s.io is forbidden: `+says, "alice", "POST", rolesPath, `{"metadata":{"generateName":"more"},"rules":[`+more+`]}`)
	p.want(403, says, "alice", "POST", rolesPath+"?dryRun=All", roleBody("more", more))
	p.want(403, says, "alice", "PUT", rolesPath+"/more", roleBody("more", more))
	p.want(403, says, "alice", "PUT", rolesPath+"/fine", roleBody("fine", more))
	p.want(403, says, "alice", "PATCH", rolesPath+"/fine", `{"rules":[`+more+`]}`)
	p.want(403, says, "alice", "PATCH", rolesPath+"/more?fieldManager=m", applied("more", more), apply...)
	p.want(403, says, "alice", "PATCH", rolesPath+"/fine?fieldManager=m&force=true", applied("fine", more), apply...)
	p.want(200, "", "alice", "PATCH", rolesPath+"/fine", `{"metadata":{"labels":{"a":"b"}}}`)
	p.want(404, "", "root", "GET", rolesPath+"/more", "")

	// Validation comes after the escalation check.
	p.want(422, "verbs must contain at least one value", "alice", "POST", rolesPath, roleBody("bad", `{"apiGroups":[""],"resources":["secrets"]}`))

	// A role with more rights than alice has can be updated only if its rules stay and nothing but
	// fields of the garbage collector change.
	p.want(200, "", "alice", "PATCH", cluster+"/all", `{"metadata":{"finalizers":["example.com/a"]}}`)
	p.want(200, "", "alice", "PATCH", cluster+"/all", `{"metadata":{"finalizers":null}}`)
	p.want(403, `{NonResourceURLs:["*"], Verbs:["*"]}`, "alice", "PATCH", cluster+"/all", `{"metadata":{"labels":{"a":"b"}}}`)

	// A role with an aggregation rule may get any rights.
	const gathers = `"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}`
	p.want(403, "must have cluster-admin privileges to use the aggregationRule", "alice", "POST", cluster, `{"metadata":{"name":"sum"},`+gathers+`}`)
	p.want(201, "", "root", "POST", cluster, `{"metadata":{"name":"sum"},`+gathers+`}`)
	p.want(403, "must have cluster-admin privileges to use the aggregationRule", "alice", "PATCH", cluster+"/sum", `{"aggregationRule":null}`)
	p.want(403, "must have cluster-admin privileges to use the aggregationRule", "alice", "PATCH", cluster+"/sum", `{"metadata":{"labels":{"a":"b"}}}`)

	// Bindings.
	p.want(201, "", "alice", "POST", bindsPath, bindBody("fine", "Role", "maps", "bob"))
	p.want(403, `rolebindings.rbac.authorization.k8s.io "self" is forbidden: user "alice"`, "alice", "POST", bindsPath, bindBody("self", "ClusterRole", "all", "alice"))
	p.want(403, `clusterrolebindings.rbac.authorization.k8s.io "self" is forbidden: user "alice"`, "alice", "POST", clusterBinds, bindBody("self", "ClusterRole", "all", "alice"))
	p.want(404, `rolebindings.rbac.authorization.k8s.io "none" not found`, "alice", "POST", bindsPath, bindBody("b", "Role", "none", "bob"))
	p.want(400, `unsupported role reference kind: "Odd"`, "alice", "POST", bindsPath, bindBody("b", "Odd", "none", "bob"))
	p.want(200, "", "alice", "PATCH", bindsPath+"/fine", `{"subjects":[{"kind":"User","name":"carol"}]}`)
	p.want(201, "", "root", "POST", bindsPath, bindBody("all", "ClusterRole", "all", "bob"))
	p.want(403, "is attempting to grant", "alice", "PATCH", bindsPath+"/all", `{"subjects":[{"kind":"User","name":"alice"}]}`)

	// With the verbs escalate and bind alice may grant more.
	p.want(201, "", "root", "POST", rolesPath, roleBody("verbs", `{"verbs":["escalate"],"apiGroups":["*"],"resources":["roles"],"resourceNames":["fine"]},`+
		`{"verbs":["bind"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],"resourceNames":["all"]}`))
	p.want(201, "", "root", "POST", bindsPath, bindBody("verbs", "Role", "verbs", "alice"))
	p.want(200, "", "alice", "PATCH", rolesPath+"/fine", `{"rules":[`+more+`]}`)
	p.want(403, says, "alice", "POST", rolesPath, roleBody("other", more))
	p.want(201, "", "alice", "POST", bindsPath, bindBody("bound", "ClusterRole", "all", "bob"))
	p.want(403, "is attempting to grant", "alice", "POST", clusterBinds, bindBody("bound", "ClusterRole", "all", "bob"))
}

// TestPathTricks: a path is authorized as it was sent, and no handler reads it in another way.
func TestPathTricks(t *testing.T) {
	p := newByRoles(t)
	p.want(201, "", "root", "POST", rbacPath+"/clusterroles", roleBody("paths", `{"verbs":["get"],"nonResourceURLs":["/healthz","/healthz/*","/api"]}`))
	p.want(201, "", "root", "POST", rbacPath+"/clusterrolebindings", bindBody("paths", "ClusterRole", "paths", "alice"))
	p.want(200, "", "alice", "GET", "/healthz/ping", "")
	p.want(200, "", "alice", "GET", "/api", "")
	for _, path := range []string{"/metrics", "/metrics/", "//metrics", "/healthz/../metrics", "/healthz/%2e%2e/metrics", "/healthz/..%2fmetrics",
		"/healthz%2f..%2fmetrics", "/healthz;/metrics", "/./metrics", "/api/../metrics", "/%6detrics", "/healthz/..;/metrics"} {
		if code, text := p.do("GET", path, "", as("alice")...); code/100 == 2 {
			t.Errorf("GET %s: got %d %.100s", path, code, text)
		}
	}
	for _, path := range []string{"/api/v1/namespaces/ns/../../secrets", "/api/v1/%2e%2e/v1/secrets", "/healthz/../api/v1/secrets", "//api/v1/secrets"} {
		if code, text := p.do("GET", path, "", as("alice")...); code/100 == 2 {
			t.Errorf("GET %s: got %d %.100s", path, code, text)
		}
	}
}

// TestModesNeedRoles: a server whose authorization mode needs roles must serve roles.
func TestModesNeedRoles(t *testing.T) {
	for config, works := range map[string]bool{
		"rbac.authorization.k8s.io/v1=false": false, "rbac.authorization.k8s.io/v1/roles=false": false, "apps/v1=false": true,
	} {
		s, err := servertest.New(t, server.Config{
			DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory}, API: server.APIConfig{Runtime: runtimeConfig(config)},
		})
		if (err == nil) != works || err != nil && !strings.Contains(err.Error(), "authorization mode RBAC needs") {
			t.Errorf("%s: got %v", config, err)
		}
		if err == nil {
			s.Close()
		}
	}
}
