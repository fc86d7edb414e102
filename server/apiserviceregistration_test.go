package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/cmd/wardle/v1alpha1"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest/quaytest"
)

const apiServicePath = "/apis/apiregistration.k8s.io/v1/apiservices"

// registered lists the APIServices, each with its label, its priorities, its service and its
// condition.
func (q *quay) registered() map[string]string {
	q.t.Helper()
	_, tree := q.do("GET", apiServicePath, "")
	list := map[string]string{}
	items, _ := tree["items"].([]any)
	for i := range items {
		s := items[i]
		line := fmt.Sprint(value(s, "metadata.labels"), " ", value(s, "spec.groupPriorityMinimum"), "/", value(s, "spec.versionPriority"))
		if service := value(s, "spec.service.name"); service != nil {
			line += fmt.Sprint(" ", service)
		}
		list[fmt.Sprint(value(s, "metadata.name"))] = line + " " + quaytest.ConditionOf(s.(map[string]any), "Available")
	}
	return list
}

// untilRegistered waits until the APIService has the wanted text; "" waits until it is gone.
func (q *quay) untilRegistered(when, name, want string) {
	q.t.Helper()
	var got string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if got = q.registered()[name]; got == want {
			return
		}
	}
	q.t.Errorf("%s: %s: got %q, want %q", when, name, got, want)
}

const local = " True Local Local APIServices are always available"

// apiService returns an APIService with the label for managed ones and a version priority.
func apiService(name, label string, priority int) string {
	version, group, _ := strings.Cut(name, ".")
	return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"kube-aggregator.kubernetes.io/automanaged":%q}},`+
		`"spec":{"group":%q,"version":%q,"groupPriorityMinimum":7,"versionPriority":%d}}`, name, label, group, version, priority)
}

func managed(label string) string {
	return "map[kube-aggregator.kubernetes.io/automanaged:" + label + "]"
}

// TestRegistration checks the APIServices that a server creates when it starts, and those that it
// finds from the start before: versions that it still serves, versions that it no longer serves,
// and those that clients created.
func TestRegistration(t *testing.T) {
	t.Parallel()
	config := server.Config{DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageFile}}
	q := newQuay(t, config)
	first := q.registered()
	for name, priorities := range map[string]string{
		"v1.": "18000/1", "v1.apps": "17800/15", "v2.autoscaling": "17500/30", "v1.autoscaling": "17500/15", "v1.events.k8s.io": "17750/15",
		"v1.flowcontrol.apiserver.k8s.io": "16100/21", "v1.resource.k8s.io": "16200/21", "v1.apiextensions.k8s.io": "16700/15",
	} {
		if want := managed("onstart") + " " + priorities + local; first[name] != want {
			t.Errorf("%s: got %q, want %q", name, first[name], want)
		}
	}
	if s, ok := first["v1.apiregistration.k8s.io"]; ok {
		t.Errorf("APIServices themselves: got %s, want none", s)
	}

	// While the server runs, it does not change APIServices that stay registered.
	q.want(200, "DELETE", apiServicePath+"/v1.apps", "", nil)
	for name, patch := range map[string]string{
		"v1.policy":         `{"spec":{"versionPriority":7}}`,
		"v1.events.k8s.io":  `{"metadata":{"labels":null},"spec":{"versionPriority":7}}`,
		"v1.storage.k8s.io": `{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"true"}},"spec":{"versionPriority":7}}`,
		"v1.node.k8s.io":    `{"spec":{"service":{"namespace":"default","name":"x"}}}`,
	} {
		q.want(200, "PATCH", apiServicePath+"/"+name, patch, nil, "Content-Type", "application/merge-patch+json")
	}
	q.want(201, "POST", apiServicePath, apiService("v8.example.com", "onstart", 1), nil)
	q.want(201, "POST", apiServicePath, apiService("v6.example.com", "", 1), nil)
	q.want(201, "POST", apiServicePath, apiService("v9.example.com", "true", 1), nil) // is deleted last: then the server has looked at the others, too
	q.untilRegistered("a version that nobody has", "v9.example.com", "")
	running := q.registered()
	for name, want := range map[string]string{
		"v1.apps": "", "v1.policy": managed("onstart") + " 17100/7" + local, "v8.example.com": managed("onstart") + " 7/1" + local,
	} {
		if running[name] != want {
			t.Errorf("while the server runs: %s: got %q, want %q", name, running[name], want)
		}
	}

	// If a client writes the status, the server corrects it.
	for _, name := range []string{"v1.policy", "v1.", "v6.example.com"} {
		before := q.registered()[name]
		q.want(200, "PATCH", apiServicePath+"/"+name+"/status", `{"status":{"conditions":[{"type":"Available","status":"False","reason":"Mine"}]}}`, nil,
			"Content-Type", "application/merge-patch+json")
		q.untilRegistered("after a write of its status", name, before)
	}

	// Ready after a restart means that the registered versions are available.
	if err := q.Stop(); err != nil {
		t.Fatal(err)
	}
	config.API = server.APIConfig{Runtime: runtimeConfig("batch/v1=false")}
	q = newQuay(t, config)
	second := q.registered()
	for name, want := range map[string]string{
		"v1.apps":           managed("onstart") + " 17800/15" + local,
		"v1.policy":         managed("onstart") + " 17100/15" + local,
		"v1.storage.k8s.io": managed("true") + " 16800/15" + local,
		"v1.events.k8s.io":  "<nil> 17750/7" + local,
		"v6.example.com":    managed("") + " 7/1" + local,
	} {
		if second[name] != want {
			t.Errorf("after a restart: %s: got %q, want %q", name, second[name], want)
		}
	}
	q.untilRegistered("after a restart", "v1.node.k8s.io", managed("onstart")+" 16300/15"+local)
	q.untilRegistered("after it was turned off", "v1.batch", "")
	q.untilRegistered("after a restart without it", "v8.example.com", "")
	if got := q.registered(); got["v6.example.com"] == "" || len(got) != len(first) { // v6 takes the place of v1.batch
		t.Errorf("after a restart: got %d APIServices, want %d", len(got), len(first))
	}
	// An APIService of a client that loses its service becomes local, and is available.
	q.want(201, "POST", apiServicePath, `{"metadata":{"name":"v5.example.com"},"spec":{"group":"example.com","version":"v5","groupPriorityMinimum":7,`+
		`"versionPriority":1,"service":{"namespace":"default","name":"far"}}}`, nil)
	q.want(200, "PATCH", apiServicePath+"/v5.example.com", `{"spec":{"service":null}}`, nil, "Content-Type", "application/merge-patch+json")
	q.untilRegistered("without its service", "v5.example.com", "<nil> 7/1"+local)
}

// TestCustomRegistration: a version of custom resources is registered while a definition serves it,
// even if a client deletes or changes its APIService.
func TestCustomRegistration(t *testing.T) {
	t.Parallel()
	q := newQuay(t)
	const v1, beta = "v1.quay.example.com", "v1beta1.quay.example.com"
	kept := managed("true") + " 1000/100" + local
	q.define("ships", "Ship", version("v1", true), version("v1beta1", false))
	q.untilRegistered("defined", v1, kept)
	q.untilRegistered("defined", beta, kept)
	q.want(200, "DELETE", apiServicePath+"/"+v1, "", nil)
	q.untilRegistered("deleted", v1, kept)
	patch := func(name, patch string) {
		q.want(200, "PATCH", apiServicePath+"/"+name, patch, nil, "Content-Type", "application/merge-patch+json")
	}
	patch(v1, `{"spec":{"versionPriority":7,"service":{"namespace":"default","name":"x"}}}`)
	q.untilRegistered("changed", v1, kept)
	patch(beta, `{"metadata":{"labels":null},"spec":{"versionPriority":7}}`)
	q.want(200, "PATCH", definitions+"/ships."+q.group, `[{"op":"replace","path":"/spec/versions/1/served","value":false}]`, nil,
		"Content-Type", "application/json-patch+json")

	// Further definitions of the same version do not change the APIService.
	_, before := q.do("GET", apiServicePath+"/"+v1, "")
	for i := range 20 {
		q.define(fmt.Sprintf("boats%d", i), fmt.Sprintf("Boat%d", i), version("v1", true))
	}
	q.define("last", "Last", version("v2", true))
	q.untilRegistered("defined", "v2.quay.example.com", kept)
	if _, after := q.do("GET", apiServicePath+"/"+v1, ""); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("after more definitions in the version: got %v, want %v", after, before)
	}

	q.want(200, "DELETE", definitions+"/last."+q.group, "", nil)
	q.untilRegistered("not defined any more", "v2.quay.example.com", "")
	q.untilRegistered("somebody else's", beta, "<nil> 1000/7"+local)
	q.untilRegistered("defined by others", v1, kept)
}

// TestOwnGroupsRegistration: the groups of a server's user are registered beside those of
// Kubernetes, unless their name is invalid. A server without Kubernetes' groups has no APIServices.
func TestOwnGroupsRegistration(t *testing.T) {
	odd := meta.GroupVersion{Group: "Odd.io", Version: "v1"}
	q := newQuay(t, server.Config{API: server.APIConfig{Core: true, Groups: append(twoVersions(), server.Group{
		Name: odd.Group, AddToScheme: func(s *scheme.Scheme) {
			s.AddKnownType(odd.WithKind("Thing"), &v1alpha1.Fischer{})
			s.AddKnownType(odd.WithKind("ThingList"), &v1alpha1.FischerList{})
		},
		Resources: []registry.Resource{{GroupResource: odd.WithResource("things").GroupResource(), Kind: "Thing"}},
	})}})
	got := q.registered()
	if s, ok := got["v1.Odd.io"]; ok || len(got) < 20 {
		t.Errorf("with a group whose name is none: got %q for it, and %d APIServices", s, len(got))
	}
	for _, name := range []string{"v1beta1.two.io", "v1alpha1.two.io", "v1.shared.io"} {
		if want := managed("onstart") + " 1/15" + local; got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	p := newBare(t, server.APIConfig{Groups: twoVersions()})
	if code, _ := p.do("GET", apiServicePath, ""); code != http.StatusNotFound {
		t.Errorf("without Kubernetes' groups: got %d for APIServices, want 404", code)
	}
	q = newQuay(t, server.Config{API: server.APIConfig{Runtime: runtimeConfig("apiregistration.k8s.io/v1=false")}})
	if code, _ := q.raw("GET", apiServicePath, ""); code != http.StatusNotFound {
		t.Errorf("turned off: got %d for APIServices, want 404", code)
	}
}

// TestNotReadyBeforeRegistration: a server is not ready while one of its versions is not available,
// and says which.
func TestNotReadyBeforeRegistration(t *testing.T) {
	p := newInProcess(t)
	if code, body := p.do("POST", apiServicePath, `{"metadata":{"name":"v1.policy"},"spec":{"group":"policy","version":"v1","groupPriorityMinimum":7,`+
		`"versionPriority":1,"service":{"namespace":"ns","name":"none"}}}`); code != http.StatusCreated {
		t.Fatal(code, body)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	eventually(t, "it is said what is missing", func() bool {
		code, body := p.do("GET", "/readyz/autoregister-completion", "")
		return code == http.StatusInternalServerError && strings.Contains(body, "missing APIService: [v1.policy]")
	})
	if code, body := p.do("GET", "/readyz", ""); code != http.StatusInternalServerError || !strings.Contains(body, "[-]autoregister-completion failed") {
		t.Errorf("got %d %s, want it not ready", code, body)
	}
	if code, body := p.do("PATCH", apiServicePath+"/v1.policy", `{"spec":{"service":null}}`, "Content-Type", "application/merge-patch+json"); code != http.StatusOK {
		t.Fatal(code, body)
	}
	eventually(t, "it is ready", func() bool {
		code, _ := p.do("GET", "/readyz", "")
		return code == http.StatusOK
	})
}

// TestRegisteredWithoutNames: the versions of a definition are registered before its names are
// accepted, and until the definition is deleted.
func TestRegisteredWithoutNames(t *testing.T) {
	t.Parallel()
	q := newQuay(t, server.Config{DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory}})
	define := func(plural, version string) string {
		return fmt.Sprintf(`{"metadata":{"name":"%[1]s.names.example.com"},"spec":{"group":"names.example.com","scope":"Cluster",
			"names":{"plural":%[1]q,"kind":"Thing"},"versions":[
			{"name":%[2]q,"served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}},
			{"name":"v9","served":false,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, plural, version)
	}
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	want := managed("true") + " 1000/100" + local
	q.want(201, "POST", definitions, define("things", "v1"), nil)
	q.untilRegistered("a definition", "v1.names.example.com", want)
	q.want(201, "POST", definitions, define("objects", "v2"), nil)
	q.untilRegistered("a definition without its names", "v2.names.example.com", want)
	q.want(200, "DELETE", definitions+"/objects.names.example.com", "", nil)
	q.untilRegistered("the end of the definition", "v2.names.example.com", "")
	if got := q.registered()["v9.names.example.com"]; got != "" {
		t.Errorf("a version that is not served: got %q", got)
	}
}
