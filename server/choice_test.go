package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/cmd/wardle/v1alpha1"
	"github.com/coracle-project/coracle/cmd/wardle/v1beta1"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/servertest"
)

// twoVersions returns the group two.io, which has things in two versions and odds only in the older
// one, and the group shared.io, which serves the same things.
func twoVersions() []server.Group {
	older, newer := meta.GroupVersion{Group: "two.io", Version: "v1alpha1"}, meta.GroupVersion{Group: "two.io", Version: "v1beta1"}
	shared := meta.GroupVersion{Group: "shared.io", Version: "v1"}
	add := func(s *scheme.Scheme) {
		for _, gv := range []meta.GroupVersion{older, newer, shared} {
			s.AddKnownType(gv.WithKind("Thing"), &v1alpha1.Fischer{})
			s.AddKnownType(gv.WithKind("ThingList"), &v1alpha1.FischerList{})
		}
		s.AddKnownType(older.WithKind("Odd"), &v1beta1.Flunder{})
		s.AddKnownType(older.WithKind("OddList"), &v1beta1.FlunderList{})
	}
	things, odds := older.WithResource("things").GroupResource(), older.WithResource("odds").GroupResource()
	return []server.Group{
		{Name: "two.io", AddToScheme: add, Resources: []registry.Resource{
			{GroupResource: things, Kind: "Thing", Namespaced: true}, {GroupResource: odds, Kind: "Odd", Namespaced: true},
		}},
		{Name: "shared.io", AddToScheme: func(*scheme.Scheme) {}, Shared: []meta.GroupResource{things}},
	}
}

// resourcesOf returns the resources in discovery, as "group/version plural", sorted and without
// subresources.
func resourcesOf(t *testing.T, p *inProcess) (list []string) {
	t.Helper()
	for _, path := range []string{"/api", "/apis"} {
		code, body := p.do("GET", path, "", "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		if code == http.StatusNotFound { // the server has no core group
			continue
		}
		var groups struct {
			Items []struct {
				Metadata struct{ Name string }
				Versions []struct {
					Version   string
					Resources []struct{ Resource string }
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &groups); err != nil {
			t.Fatal(err)
		}
		for _, g := range groups.Items {
			for _, v := range g.Versions {
				for _, r := range v.Resources {
					list = append(list, g.Metadata.Name+"/"+v.Version+" "+r.Resource)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// TestChoice turns versions and resources on and off, and checks discovery and the served paths.
func TestChoice(t *testing.T) {
	const (
		alphaThings, alphaOdds = "two.io/v1alpha1 things", "two.io/v1alpha1 odds"
		betaThings, shared     = "two.io/v1beta1 things", "shared.io/v1 things"
	)
	for _, tt := range []struct {
		name    string
		runtime string
		want    []string
	}{
		{"all", "", []string{shared, alphaOdds, alphaThings, betaThings}},
		{"a version", "two.io/v1alpha1=false", []string{shared, betaThings}},
		{"a resource", "two.io/v1alpha1/things=false", []string{shared, alphaOdds, betaThings}},
		{"a resource of a version that is off", "two.io/v1alpha1=false,two.io/v1alpha1/odds", []string{shared, alphaOdds, betaThings}},
		{"a name alone", "two.io/v1alpha1/things=false,two.io/v1beta1=0", []string{shared, alphaOdds}},
		{"a shared name", "shared.io/v1=F", []string{alphaOdds, alphaThings, betaThings}},
		{"stable versions", "api/ga=false", []string{alphaOdds, alphaThings, betaThings}},
		{"beta versions", "api/beta=false", []string{shared, alphaOdds, alphaThings}},
		{"alpha versions", "api/alpha=false,api/all=true", []string{shared, betaThings}},
		{"all but one", "api/all=false,two.io/v1beta1=true", []string{betaThings}},
		{"words, whatever the order", "two.io/v1beta1=true,api/alpha=true,api/all=false", []string{alphaOdds, alphaThings, betaThings}},
		{"a resource that there is not", "two.io/v1beta1/nothing=true,api/all=true", []string{shared, alphaOdds, alphaThings, betaThings}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newBare(t, server.APIConfig{Groups: twoVersions(), Runtime: runtimeConfig(tt.runtime)})
			if got := resourcesOf(t, p); !slices.Equal(got, tt.want) {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			for _, name := range []string{alphaThings, alphaOdds, betaThings, shared} {
				path := "/apis/" + strings.ReplaceAll(name, " ", "/")
				code, _ := p.do("GET", path, "")
				_, doc := p.do("GET", "/openapi/v3", "")
				gv, _, _ := strings.Cut(name, " ")
				if on := slices.Contains(tt.want, name); on != (code == 200) {
					t.Errorf("GET %s: got %d", path, code)
				} else if on && !strings.Contains(doc, `"apis/`+gv+`"`) {
					t.Errorf("OpenAPI has no %s", gv)
				}
			}
		})
	}
}

// newBare is newInProcess without a namespace.
func newBare(t *testing.T, api server.APIConfig) *inProcess {
	t.Helper()
	s, err := servertest.New(t, server.Config{
		DataDir: t.TempDir(), API: api,
		Storage:       server.StorageConfig{Engine: server.StorageMemory},
		Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
		Authorization: access.Config{Modes: []string{access.AlwaysAllow}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &inProcess{&handled{Server: s, TB: t}}
}

// runtimeConfig parses the value of --runtime-config.
func runtimeConfig(text string) map[string]string {
	config := map[string]string{}
	for entry := range strings.SplitSeq(text, ",") {
		if key, value, _ := strings.Cut(entry, "="); key != "" {
			config[key] = value
		}
	}
	return config
}

// TestBadChoice: New fails if the configuration names a version or a profile that does not exist.
func TestBadChoice(t *testing.T) {
	_, err := servertest.New(t, server.Config{
		DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory},
		API: server.APIConfig{Core: true, Groups: twoVersions(), Runtime: runtimeConfig("two.io/v9=false")},
	})
	if want := "group version two.io/v9 that has not been registered"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("an unknown version: got %v, want %s", err, want)
	}
	if _, err := servertest.New(t, server.Config{DataDir: t.TempDir(), API: server.APIConfig{Profile: "none"}}); err == nil ||
		!strings.Contains(err.Error(), `unknown profile "none"`) {
		t.Errorf("an unknown profile: got %v", err)
	}
	fine := newBare(t, server.APIConfig{Core: true, Runtime: runtimeConfig("storage.k8s.io/v1beta1=false,api/beta=false,api/alpha=false")})
	if got := resourcesOf(t, fine); !slices.Contains(got, "/v1 pods") {
		t.Errorf("versions that are off anyway, turned off: got %q", got)
	}
}

// TestProfile: the profile crd-only serves the resources that custom resources need, and the groups
// of the server's user. Pods and all others are off, unless the configuration turns them on.
func TestProfile(t *testing.T) {
	kept := []string{"/v1 configmaps", "/v1 events", "/v1 namespaces", "/v1 secrets", "/v1 serviceaccounts",
		"apiextensions.k8s.io/v1 customresourcedefinitions", "coordination.k8s.io/v1 leases", "events.k8s.io/v1 events",
		"rbac.authorization.k8s.io/v1 clusterrolebindings", "rbac.authorization.k8s.io/v1 clusterroles", "rbac.authorization.k8s.io/v1 rolebindings",
		"rbac.authorization.k8s.io/v1 roles", "shared.io/v1 things", "two.io/v1beta1 things"}
	whole := resourcesOf(t, newBare(t, server.APIConfig{Core: true, Groups: twoVersions()}))
	p := newBare(t, server.APIConfig{Core: true, Groups: twoVersions(), Profile: server.ProfileCRDOnly, Runtime: runtimeConfig("two.io/v1alpha1=false")})
	want := slices.DeleteFunc(kept, func(r string) bool { return !slices.Contains(whole, r) })
	if got := resourcesOf(t, p); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if code, _ := p.do("GET", "/api/v1/pods", ""); code != http.StatusNotFound {
		t.Errorf("pods: got %d", code)
	}
	p = newBare(t, server.APIConfig{Profile: server.ProfileCRDOnly, Runtime: runtimeConfig("/v1/pods")})
	if got := resourcesOf(t, p); !slices.Contains(got, "/v1 pods") || slices.Contains(got, "/v1 nodes") {
		t.Errorf("with pods: got %q", got)
	}
	p = newBare(t, server.APIConfig{Profile: server.ProfileCRDOnly, Runtime: runtimeConfig("api/all=true")})
	if got, all := resourcesOf(t, p), resourcesOf(t, newBare(t, server.APIConfig{})); !slices.Equal(got, all) {
		t.Errorf("with all: got %q, want %q", got, all)
	}
}

// TestNamespaceOfWhatIsOff deletes a namespace on a server that does not serve pods, and that
// serves things only in the group shared.io.
func TestNamespaceOfWhatIsOff(t *testing.T) {
	p := newBare(t, server.APIConfig{Core: true, Groups: twoVersions(),
		Runtime: runtimeConfig("/v1/pods=false,/v1/services=false,two.io/v1alpha1=false,two.io/v1beta1=false")})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx) }()
	<-p.Ready()
	const namespace, thing = "/api/v1/namespaces/ns", "/apis/shared.io/v1/namespaces/ns/things"
	p.mustDo("POST", "/api/v1/namespaces", `{"metadata":{"name":"ns"}}`)
	p.mustDo("POST", maps, configMap("a", "v"))
	p.mustDo("POST", thing, `{"metadata":{"name":"a"}}`)
	p.mustDo("DELETE", namespace, "")
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if code, _ := p.do("GET", namespace, ""); code == http.StatusNotFound {
			break
		}
	}
	for _, path := range []string{namespace, maps + "/a", thing + "/a"} {
		if code, body := p.do("GET", path, ""); code != http.StatusNotFound {
			t.Errorf("%s: got %d %s", path, code, body)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
