package addresses_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/servertest"
)

// repairAddresses runs one pass. It returns the events, and whether something younger than grace is
// left for another pass.
func (p *inProcess) repairAddresses(grace time.Duration) (told []string, young bool) {
	p.TB.Helper()
	r := core.NewAddressRepair(core.Config{Stores: p.Server}, grace, func(_ context.Context, e core.RepairEvent) {
		told = append(told, fmt.Sprintf("%s/%s %s %s: %s", e.About.Kind, e.About.Name, e.Reason, e.Action, e.Message))
	})
	young, err := r.RepairAll(p.TB.Context())
	if err != nil {
		p.TB.Fatal(err)
	}
	slices.Sort(told)
	return told, young
}

// TestAddressRepair makes services and IPAddresses inconsistent, as only a crash or a person can.
func TestAddressRepair(t *testing.T) {
	p := cluster(t, "10.0.0.0/24")
	p.do("POST", rangesPath, `{"metadata":{"name":"kubernetes"},"spec":{"cidrs":["10.0.0.0/24"]}}`)
	address := func(ip, labels, ref string) {
		t.Helper()
		if labels == "" {
			labels = `"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io","ipaddress.kubernetes.io/ip-family":"IPv4"`
		}
		if code, answer := p.do("POST", addressesPath, `{"metadata":{"name":"`+ip+`","labels":{`+labels+`}},"spec":{"parentRef":{`+ref+`}}}`); code != 201 {
			t.Fatal(answer)
		}
	}
	lose := func(ip string) { p.do("DELETE", addressesPath+"/"+ip, "") }
	to := func(name string) string { return `"resource":"services","namespace":"ns","name":"` + name + `"` }
	for i, name := range []string{"fine", "lost", "foreign", "wrong", "stolen", "stripped"} {
		p.createService(name, fmt.Sprintf(`{"clusterIP":"10.0.0.%d"}`, i+1))
	}
	p.createService("none", `{"clusterIP":"None"}`)
	if told, young := p.repairAddresses(0); told != nil || young {
		t.Fatalf("of nothing wrong it told %q", told)
	}

	lose("10.0.0.2")
	lose("10.0.0.3")
	address("10.0.0.3", "", `"resource":"gateways","group":"example.com","name":"g"`)
	lose("10.0.0.4")
	address("10.0.0.4", "", to("gone"))
	lose("10.0.0.5")
	p.createService("thief", `{"clusterIP":"10.0.0.5"}`)
	p.do("PATCH", addressesPath+"/10.0.0.6", `{"metadata":{"labels":{"ipaddress.kubernetes.io/ip-family":"IPv6"}}}`)
	address("10.0.0.50", "", to("gone"))
	address("10.0.0.51", "", to("fine"))
	address("10.0.0.52", "", `"resource":"gateways","group":"example.com","name":"g"`)
	address("10.0.0.54", "", `"resource":"services","name":"fine"`)
	address("10.0.0.53", `"a":"b"`, `"resource":"gateways","group":"example.com","name":"g"`) // not the server's

	young, old := []string{
		`IPAddress/10.0.0.52 IPAddressNotAllocated IPAddressAllocation: IPAddress 10.0.0.52 appears to have been modified, not referencing a Service &ParentReference{Group:example.com,Resource:gateways,Namespace:,Name:g,}: cleaning up`,
		`Service/foreign ClusterIPNotAllocated ClusterIPAllocation: the ClusterIP [IPv4]: 10.0.0.3 for Service ns/foreign has a wrong reference; repairing`,
		`Service/lost ClusterIPNotAllocated ClusterIPAllocation: Cluster IP [IPv4]: 10.0.0.2 is not allocated; repairing`,
		`Service/stolen ClusterIPAlreadyAllocated ClusterIPAllocation: Cluster IP [IPv4]:10.0.0.5 was assigned to multiple services; please recreate service`,
		`Service/wrong ClusterIPNotAllocated ClusterIPAllocation: the ClusterIP [IPv4]: 10.0.0.4 for Service ns/wrong has a wrong reference; repairing`,
	}, []string{
		`IPAddress/10.0.0.50 IPAddressNotAllocated IPAddressAllocation: IPAddress: 10.0.0.50 for Service ns/gone appears to have leaked: cleaning up`,
		`IPAddress/10.0.0.51 IPAddressWrongReference IPAddressAllocation: IPAddress: 10.0.0.51 for Service ns/fine has a wrong reference; cleaning up`,
		`IPAddress/10.0.0.54 IPAddressNotAllocated IPAddressAllocation: IPAddress: 10.0.0.54 for Service /fine appears to have leaked: cleaning up`,
		`Service/stolen ClusterIPAlreadyAllocated ClusterIPAllocation: Cluster IP [IPv4]:10.0.0.5 was assigned to multiple services; please recreate service`,
	}
	if told, again := p.repairAddresses(time.Hour); !slices.Equal(told, young) || !again {
		t.Errorf("first pass, again %v: got\n%s\nwant\n%s", again, strings.Join(told, "\n"), strings.Join(young, "\n"))
	}
	if told, again := p.repairAddresses(0); !slices.Equal(told, old) || again {
		t.Errorf("second pass, again %v: got\n%s\nwant\n%s", again, strings.Join(told, "\n"), strings.Join(old, "\n"))
	}
	lose("10.0.0.53")
	p.wantHeld("repaired", map[string][]string{
		"fine": {"10.0.0.1"}, "lost": {"10.0.0.2"}, "foreign": {"10.0.0.3"}, "wrong": {"10.0.0.4"}, "thief": {"10.0.0.5"}, "stripped": {"10.0.0.6"},
	})
	p.do("DELETE", servicesPath+"/stolen", "") // the address is held for thief
	p.wantHeld("deleted", map[string][]string{
		"fine": {"10.0.0.1"}, "lost": {"10.0.0.2"}, "foreign": {"10.0.0.3"}, "wrong": {"10.0.0.4"}, "thief": {"10.0.0.5"}, "stripped": {"10.0.0.6"},
	})
}

// TestAddressOutOfRange: the range of a service was replaced while no server was running.
func TestAddressOutOfRange(t *testing.T) {
	p := cluster(t, "10.0.0.0/24")
	p.createService("a", `{"clusterIP":"10.0.0.1"}`)
	p.do("POST", rangesPath, `{"metadata":{"name":"kubernetes"},"spec":{"cidrs":["10.9.0.0/24"]}}`)
	want := []string{`Service/a ClusterIPOutOfRange ClusterIPAllocation: Cluster IP [IPv4]: 10.0.0.1 is not within any configured Service CIDR; please recreate service`}
	if told, _ := p.repairAddresses(0); !slices.Equal(told, want) {
		t.Errorf("got %q", told)
	}
}

// TestRepairWhileItRuns: inconsistencies at the start are repaired before the server is ready. An
// IPAddress that a client deletes is created again, with an event.
func TestRepairWhileItRuns(t *testing.T) {
	store := newSharedStore(t)
	first := newInProcess(t, func(c *server.Config) { c.Storage = server.StorageConfig{Store: store} })
	first.createService("a", `{"clusterIP":"10.0.0.7"}`)
	first.do("DELETE", addressesPath+"/10.0.0.7", "")

	running := servertest.Start(t, server.Config{Storage: server.StorageConfig{Store: store}, Controllers: []string{}})
	p := &inProcess{&handled{Server: running.Server, TB: t}}
	authorized := "Authorization"
	get := func(path string) string {
		_, answer := p.do("GET", path, "", authorized, "Bearer "+running.Token)
		return answer
	}
	if !strings.Contains(get(addressesPath), `"10.0.0.7"`) {
		t.Error("ready, but the address that was lost is not back")
	}
	if !strings.Contains(get(rangesPath+"/kubernetes"), "Kubernetes default Service CIDR is ready") {
		t.Errorf("ready, but the default ranges are not: %s", get(rangesPath))
	}
	p.do("DELETE", addressesPath+"/10.0.0.7", "", authorized, "Bearer "+running.Token)
	waitUntil(t, func() bool { return strings.Contains(get(addressesPath), `"10.0.0.7"`) })
	waitUntil(t, func() bool {
		events := get("/api/v1/namespaces/ns/events")
		return strings.Contains(events, "is not allocated; repairing") && strings.Contains(events, `"action":"ClusterIPAllocation"`) &&
			strings.Contains(events, `"count":2`)
	})
	p.do("DELETE", rangesPath+"/kubernetes", "", authorized, "Bearer "+running.Token)
	waitUntil(t, func() bool { return strings.Contains(get(rangesPath+"/kubernetes"), `"True"`) })
}

// TestTwoServersShareAddresses runs two servers, which create, change and delete services in a
// range that is hardly large enough. No address is given to two services, and none is lost.
func TestTwoServersShareAddresses(t *testing.T) {
	store := newSharedStore(t)
	var servers []*inProcess
	for range 2 {
		s, err := servertest.New(t, server.Config{
			DataDir: t.TempDir(), Storage: server.StorageConfig{Store: store},
			Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
			Authorization: access.Config{Modes: []string{access.AlwaysAllow}},
			API:           server.APIConfig{Services: addresses.Config{ClusterIPRanges: []string{"10.0.0.0/27", "fd00::/123"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		servers = append(servers, &inProcess{&handled{Server: s, TB: t}})
	}
	servers[0].do("POST", "/api/v1/namespaces", `{"metadata":{"name":"ns"}}`)
	servers[0].do("POST", rangesPath, `{"metadata":{"name":"kubernetes"},"spec":{"cidrs":["10.0.0.0/27","fd00::/123"]}}`)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() { churn(servers[worker%2], worker, 75) })
	}
	wg.Wait()
	p := servers[0]
	want := map[string][]string{}
	for i := range 16 {
		name := fmt.Sprintf("s%d", i)
		if svc, failed := p.service("GET", servicesPath+"/"+name, ""); failed == "" && svc.Spec.ClusterIP != "" {
			want[name] = svc.Spec.ClusterIPs
		}
	}
	p.wantHeld("in the end", want)
	if told, young := p.repairAddresses(0); told != nil || young {
		t.Errorf("there was something to repair: %q", told)
	}
	for name := range want {
		p.do("DELETE", servicesPath+"/"+name, "")
	}
	p.wantHeld("all deleted", nil)
}

// churn makes random changes to Services that other workers change at the same time.
func churn(p *inProcess, worker, times int) {
	random := rand.New(rand.NewPCG(1, uint64(worker)))
	for range times {
		name := fmt.Sprintf("s%d", random.IntN(16))
		code, answer := 0, ""
		switch random.IntN(6) {
		case 0, 1:
			code, answer = p.do("POST", servicesPath, serviceJSON(name, `{"ipFamilyPolicy":"PreferDualStack"}`))
		case 2:
			code, answer = p.do("PATCH", servicesPath+"/"+name, `{"spec":{"ipFamilyPolicy":"SingleStack"}}`)
		case 3:
			code, answer = p.do("PATCH", servicesPath+"/"+name, `{"spec":{"type":"ExternalName","externalName":"a.b","ipFamilyPolicy":null}}`)
		case 4:
			code, answer = p.do("PATCH", servicesPath+"/"+name, `{"spec":{"type":"ClusterIP","externalName":null,"ipFamilyPolicy":"PreferDualStack"}}`)
		case 5:
			code, answer = p.do("DELETE", servicesPath+"/"+name, "")
		}
		if code >= 500 || code == 422 && !strings.Contains(answer, "may not be set for ExternalName services") {
			p.TB.Errorf("%d %s", code, answer)
		}
	}
}
