package addresses_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/servertest"
)

// admin sends requests to a running server as its administrator.
type admin struct {
	*inProcess
	token string
}

// startAs starts a server without controllers.
func startAs(tb testing.TB) *admin {
	tb.Helper()
	s := servertest.Start(tb, server.Config{Controllers: []string{}})
	return &admin{&inProcess{&handled{Server: s.Server, TB: tb}}, s.Token}
}

func (a *admin) do(method, target, body string) (int, string) {
	a.TB.Helper()
	return a.inProcess.do(method, target, body, "Authorization", "Bearer "+a.token)
}

// byEndpoints returns the function that resolves a service to its endpoints.
func (a *admin) byEndpoints() func(namespace, name string, port int) (string, error) {
	resolve := addresses.NewResolver(a.Stores, true)
	return func(namespace, name string, port int) (string, error) {
		return resolve(a.TB.Context(), callout.Service{Namespace: namespace, Name: name, Port: port})
	}
}

// TestServicesByEndpoints resolves services to their ready endpoints.
func TestServicesByEndpoints(t *testing.T) {
	t.Parallel()
	s := startAs(t)
	post := func(path, body string) {
		t.Helper()
		if code, answer := s.do("POST", path, body); code != http.StatusCreated {
			t.Fatal(code, answer)
		}
	}
	const of = "/api/v1/namespaces/default/services"
	post(of, `{"metadata":{"name":"some"},"spec":{"ports":[{"name":"https","port":443},{"name":"other","port":444}]}}`)
	post(of, `{"metadata":{"name":"none"},"spec":{"ports":[{"port":443}]}}`)
	post(of, `{"metadata":{"name":"external"},"spec":{"type":"ExternalName","externalName":"localhost"}}`)
	slice := func(name, service, kind, endpoints string) {
		t.Helper()
		post("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"kubernetes.io/service-name":%q}},
			"addressType":%q,"ports":[{"name":"other","port":1},{"name":"https","port":8443},{"name":"open"}],"endpoints":[%s]}`, name, service, kind, endpoints))
	}
	slice("six", "some", "IPv6", `{"addresses":["2001:db8::1"]}`)
	slice("four", "some", "IPv4", `{"addresses":["192.0.2.1"],"conditions":{"ready":false}},{"addresses":["192.0.2.2"]},{"addresses":["192.0.2.3"],"conditions":{"ready":true}}`)
	slice("strange", "others", "IPv4", `{"addresses":["192.0.2.9"]}`)
	slice("unready", "none", "IPv4", `{"addresses":["192.0.2.8"],"conditions":{"ready":false}}`)
	resolve := s.byEndpoints()
	found := func(name string, port int) (got map[string]bool, err error) {
		got = map[string]bool{}
		for range 100 {
			address, err := resolve("default", name, port)
			if err != nil {
				return nil, err
			}
			got[address] = true
		}
		return got, nil
	}
	for _, tt := range []struct {
		name string
		port int
		want []string
		err  string
	}{
		{"some", 0, []string{"192.0.2.2:8443", "192.0.2.3:8443"}, ""},
		{"some", 444, []string{"192.0.2.2:1", "192.0.2.3:1"}, ""},
		{"some", 445, nil, `no service port 445 found for service "some"`},
		{"none", 443, nil, `no endpoints available for service "none"`},
		{"external", 443, nil, `unsupported service type "ExternalName"`},
		{"gone", 443, nil, `service "gone" not found`},
	} {
		got, err := found(tt.name, tt.port)
		if list := sorted(got); !slices.Equal(list, tt.want) || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s:%d: got %q, %v", tt.name, tt.port, list, err)
		}
	}

	// A change applies to the next request, and only to the services that it concerns.
	const slicesPath = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/"
	for _, step := range []struct{ method, slice, body, want string }{
		{"PATCH", "four", `{"endpoints":[{"addresses":["192.0.2.4"]}]}`, `["192.0.2.4:8443"]`},
		{"PATCH", "strange", `{"endpoints":[{"addresses":["192.0.2.5"]}]}`, `["192.0.2.4:8443"]`},
		{"PATCH", "strange", `{"metadata":{"labels":{"kubernetes.io/service-name":"some"}}}`, `["192.0.2.4:8443" "192.0.2.5:8443"]`},
		{"PATCH", "four", `{"metadata":{"labels":null}}`, `["192.0.2.5:8443"]`},
		{"DELETE", "strange", "", `["[2001:db8::1]:8443"]`},
		{"DELETE", "six", "", `[]`},
	} {
		if code, body := s.do(step.method, slicesPath+step.slice, step.body); code != http.StatusOK {
			t.Fatal(code, body)
		}
		got, err := found("some", 443)
		if list := fmt.Sprintf("%q", sorted(got)); list != step.want || (err == nil) != (step.want != "[]") {
			t.Errorf("after %s of %s: got %s, %v, want %s", step.method, step.slice, list, err, step.want)
		}
	}
}

// sorted returns the keys of a set.
func sorted(set map[string]bool) (keys []string) {
	for k := range set {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// BenchmarkServiceByEndpoints resolves one service among a hundred, while nothing changes.
func BenchmarkServiceByEndpoints(b *testing.B) {
	s := startAs(b)
	for i := range 100 {
		name := fmt.Sprintf("s%d", i)
		for path, body := range map[string]string{
			"/api/v1/namespaces/default/services": fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"ports":[{"name":"https","port":443}]}}`, name),
			"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices": fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"kubernetes.io/service-name":%q}},
				"addressType":"IPv4","ports":[{"name":"https","port":8443}],"endpoints":[{"addresses":["192.0.2.1"]},{"addresses":["192.0.2.2"]}]}`, name, name),
		} {
			if code, answer := s.do("POST", path, body); code != http.StatusCreated {
				b.Fatal(code, answer)
			}
		}
	}
	resolve := s.byEndpoints()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := resolve("default", "s7", 443); err != nil {
			b.Fatal(err)
		}
	}
}
