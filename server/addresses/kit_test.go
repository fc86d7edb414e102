package addresses_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/server/servertest/handlertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inProcess is a server that does not listen, with helpers for the tests of this package.
type inProcess struct{ *handled }

// handled is embedded under a name of its own, so that p.Server is the server.Server.
type handled = handlertest.Server

func newInProcess(tb testing.TB, change ...func(*server.Config)) *inProcess {
	tb.Helper()
	return &inProcess{handlertest.New(tb, change...)}
}

// do sends one request and returns the answer.
func (p *inProcess) do(method, target, body string, header ...string) (int, string) {
	p.TB.Helper()
	return p.Do(method, target, body, header...)
}

const (
	servicesPath  = "/api/v1/namespaces/ns/services"
	addressesPath = "/apis/networking.k8s.io/v1/ipaddresses"
	rangesPath    = "/apis/networking.k8s.io/v1/servicecidrs"
)

// cluster returns a server with these ranges for the addresses of services.
func cluster(t testing.TB, ranges ...string) *inProcess {
	t.Helper()
	return newInProcess(t, func(c *server.Config) { c.API.Services.ClusterIPRanges = ranges })
}

// service sends a write of a service. It returns the service, or the code and the message of the
// error.
func (p *inProcess) service(method, target, body string) (*corev1.Service, string) {
	p.TB.Helper()
	code, answer := p.do(method, target, body)
	if code >= 300 {
		return nil, fmt.Sprint(code, " ", message(answer))
	}
	svc := &corev1.Service{}
	if err := json.Unmarshal([]byte(answer), svc); err != nil {
		p.TB.Fatal(err)
	}
	return svc, ""
}

// createService creates a service, with a port if the spec has none. It returns the addresses of
// the service.
func (p *inProcess) createService(name, spec string) []string {
	p.TB.Helper()
	svc, failed := p.service("POST", servicesPath, serviceJSON(name, spec))
	if failed != "" {
		p.TB.Fatalf("create %s: %s", name, failed)
	}
	return svc.Spec.ClusterIPs
}

// serviceJSON returns a service with a spec, and with a port if the spec has none.
func serviceJSON(name, spec string) string {
	if !strings.Contains(spec, `"ports"`) {
		spec = strings.TrimSuffix(strings.TrimSuffix(spec, "}"), ",") + `,"ports":[{"port":80}]}`
		spec = strings.Replace(spec, "{,", "{", 1)
	}
	return `{"metadata":{"name":"` + name + `"},"spec":` + spec + `}`
}

// held returns the names of all IPAddresses, each with the Service that it belongs to.
func (p *inProcess) held() map[string]string {
	p.TB.Helper()
	_, answer := p.do("GET", addressesPath, "")
	var list struct {
		Items []struct {
			Metadata struct {
				Name   string
				Labels map[string]string
			}
			Spec struct {
				ParentRef struct{ Resource, Namespace, Name string }
			}
		}
	}
	if err := json.Unmarshal([]byte(answer), &list); err != nil {
		p.TB.Fatal(err)
	}
	held := map[string]string{}
	for _, a := range list.Items {
		family := "IPv4"
		if strings.Contains(a.Metadata.Name, ":") {
			family = "IPv6"
		}
		if l := a.Metadata.Labels; l["ipaddress.kubernetes.io/managed-by"] != "ipallocator.k8s.io" || l["ipaddress.kubernetes.io/ip-family"] != family {
			p.TB.Errorf("%s has labels %v", a.Metadata.Name, l)
		}
		ref := a.Spec.ParentRef
		held[a.Metadata.Name] = ref.Resource + "/" + ref.Namespace + "/" + ref.Name
	}
	return held
}

// wantHeld compares the addresses of each service. A name without a namespace is a service in ns.
func (p *inProcess) wantHeld(when string, want map[string][]string) {
	p.TB.Helper()
	got := p.held()
	n := 0
	for name, ips := range want {
		for _, ip := range ips {
			n++
			if got[ip] != "services/ns/"+name {
				p.TB.Errorf("%s: %s is held by %q, want %s", when, ip, got[ip], name)
			}
		}
	}
	if len(got) != n {
		p.TB.Errorf("%s: got %v, want no more than %v", when, got, want)
	}
}

// message returns the message of a Status.
func message(answer string) string {
	var s struct{ Message string }
	_ = json.Unmarshal([]byte(answer), &s)
	return s.Message
}

// sharedStore is a store that several servers share. Its Close does nothing, so that no server
// closes it under the others.
type sharedStore struct{ storage.Store }

func (sharedStore) Close() error { return nil }

func newSharedStore(t *testing.T) sharedStore {
	store := memory.New(memory.Config{})
	t.Cleanup(func() { store.Close() })
	return sharedStore{store}
}

// runningServer is a server that is ready.
type runningServer struct {
	*server.Server
	t    *testing.T
	stop func() // shuts it down gracefully
}

// runOn starts a server that advertises an address, on a store; nil stands for a store of its own.
func runOn(t *testing.T, store storage.Store, address string, change ...func(*server.Config)) *runningServer {
	t.Helper()
	cfg := server.Config{
		DataDir: t.TempDir(), Storage: server.StorageConfig{Store: store},
		Serving: server.ServingConfig{SecurePort: server.AnyPort, AdvertiseAddress: address},
	}
	if store == nil {
		cfg.Storage.Engine = server.StorageMemory
	}
	for _, f := range change {
		f(&cfg)
	}
	s, err := servertest.New(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stopped := false
	r := &runningServer{Server: s, t: t, stop: func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}}
	t.Cleanup(r.stop)
	select {
	case <-s.Ready():
	case err := <-ended:
		ended <- err
		t.Fatalf("the server ended before it was ready: %v", err)
	}
	return r
}

func (r *runningServer) services() client.Resource[*corev1.Service] {
	return client.For[*corev1.Service](r.Client(), corev1.GroupVersion.WithResource("services")).In("default")
}

func (r *runningServer) endpoints() client.Resource[*corev1.Endpoints] {
	return client.For[*corev1.Endpoints](r.Client(), corev1.GroupVersion.WithResource("endpoints")).In("default")
}

func (r *runningServer) slices() client.Resource[*discoveryv1.EndpointSlice] {
	return client.For[*discoveryv1.EndpointSlice](r.Client(), discoveryv1.GroupVersion.WithResource("endpointslices")).In("default")
}

// published returns the content of the Endpoints and the EndpointSlice: addresses, ports and labels
// of each.
func (r *runningServer) published() string {
	r.t.Helper()
	var b strings.Builder
	ep, err := r.endpoints().Get(r.t.Context(), "kubernetes", meta.GetOptions{})
	if err != nil {
		return err.Error()
	}
	for _, sub := range ep.Subsets {
		for _, a := range sub.Addresses {
			fmt.Fprintf(&b, "%s ", a.IP)
		}
		for _, p := range sub.Ports {
			fmt.Fprintf(&b, "%s:%d/%s ", p.Name, p.Port, p.Protocol)
		}
	}
	fmt.Fprintf(&b, "%v\n", ep.Labels)
	slice, err := r.slices().Get(r.t.Context(), "kubernetes", meta.GetOptions{})
	if err != nil {
		return b.String() + err.Error()
	}
	for _, e := range slice.Endpoints {
		fmt.Fprintf(&b, "%s ", strings.Join(e.Addresses, ","))
		if e.Conditions.Ready == nil || !*e.Conditions.Ready {
			b.WriteString("not ready ")
		}
	}
	for _, p := range slice.Ports {
		fmt.Fprintf(&b, "%s:%d/%s ", *p.Name, *p.Port, *p.Protocol)
	}
	fmt.Fprintf(&b, "%s %v", slice.AddressType, slice.Labels)
	return b.String()
}

// wantPublished waits until Endpoints and EndpointSlice have these addresses and this port; 0
// stands for the server's own port.
func (r *runningServer) wantPublished(port int, addresses ...string) {
	r.t.Helper()
	if port == 0 {
		port = r.Address().(*net.TCPAddr).Port
	}
	list := fmt.Sprintf("%s https:%d/TCP ", strings.Join(addresses, " "), port)
	want := list + "map[endpointslice.kubernetes.io/skip-mirror:true]\n" + list + "IPv4 map[kubernetes.io/service-name:kubernetes]"
	var got string
	if !comesTrue(func() bool { got = r.published(); return got == want }) {
		r.t.Fatalf("published:\n%s\nwant:\n%s", got, want)
	}
}

// comesTrue waits until f returns true, for at most 20 seconds.
func comesTrue(f func() bool) bool {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if f() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// waitUntil fails the test if is does not become true in time.
func waitUntil(t *testing.T, is func() bool) {
	t.Helper()
	if !comesTrue(is) {
		t.Fatal("it did not happen")
	}
}
