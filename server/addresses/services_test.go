package addresses_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/iprange"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
)

// TestAddressesAreOwned checks the managedFields of the IPAddress of a service.
func TestAddressesAreOwned(t *testing.T) {
	p := cluster(t, "10.0.0.0/24")
	got := p.Must("GET", addressesPath+"/"+p.createService("a", `{}`)[0], "")
	for _, want := range []string{
		`"managedFields":[{"manager":"coracle","operation":"Update","apiVersion":"networking.k8s.io/v1",`,
		`"fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:ipaddress.kubernetes.io/ip-family":{},"f:ipaddress.kubernetes.io/managed-by":{}}},` +
			`"f:spec":{"f:parentRef":{".":{},"f:name":{},"f:namespace":{},"f:resource":{}}}}}]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
	}
}

// TestClusterIPs creates, changes and deletes services: an address is taken once, kept, and
// released.
func TestClusterIPs(t *testing.T) {
	p := cluster(t, "10.0.0.0/24")
	all := iprange.New(netip.MustParsePrefix("10.0.0.0/24"))
	a := p.createService("a", `{}`)
	if len(a) != 1 || !all.Contains(netip.MustParseAddr(a[0])) || netip.MustParseAddr(a[0]).Less(netip.MustParseAddr("10.0.0.17")) {
		t.Errorf("got %v, want one behind those for services that ask for theirs", a)
	}
	p.createService("b", `{"clusterIP":"10.0.0.7"}`)
	p.createService("none", `{"clusterIP":"None"}`)
	p.createService("name", `{"type":"ExternalName","externalName":"a.b"}`)
	held := map[string][]string{"a": a, "b": {"10.0.0.7"}}
	p.wantHeld("created", held)

	for _, tt := range []struct{ name, method, target, body, want string }{
		{"taken", "POST", "", serviceJSON("c", `{"clusterIP":"10.0.0.7"}`),
			`422 Service "c" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.7"]: failed to allocate IP 10.0.0.7: provided IP is already allocated`},
		{"outside", "POST", "", serviceJSON("c", `{"clusterIP":"10.0.1.7"}`),
			`422 Service "c" is invalid: spec.clusterIPs: Invalid value: ["10.0.1.7"]: failed to allocate IP 10.0.1.7: the provided network does not match the current range`},
		{"the network itself", "POST", "", serviceJSON("c", `{"clusterIP":"10.0.0.0"}`),
			`422 Service "c" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.0"]: failed to allocate IP 10.0.0.0: the provided network does not match the current range`},
		{"outside, dry", "POST", "?dryRun=All", serviceJSON("c", `{"clusterIP":"10.0.1.7"}`),
			`422 Service "c" is invalid: spec.clusterIPs: Invalid value: ["10.0.1.7"]: failed to allocate IP 10.0.1.7: the provided IP (10.0.1.7) is not in the valid range. The range of valid IPs is 10.0.0.0/24`},
		{"another family", "POST", "", serviceJSON("c", `{"clusterIP":"fd00::1"}`),
			`422 Service "c" is invalid: spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster`},
		{"two families", "POST", "", serviceJSON("c", `{"ipFamilyPolicy":"RequireDualStack"}`),
			`422 Service "c" is invalid: spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services`},
		{"the other family", "POST", "", serviceJSON("c", `{"ipFamilies":["IPv6"]}`),
			`422 Service "c" is invalid: spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster`},
		{"a name that is taken", "POST", "", serviceJSON("a", `{}`), `409 services "a" already exists`},
		{"invalid", "POST", "", serviceJSON("c", `{"sessionAffinity":"Odd"}`),
			`422 Service "c" is invalid: spec.sessionAffinity: Unsupported value: "Odd": supported values: "ClientIP", "None"`},
		{"changed", "PATCH", "/a", `{"spec":{"clusterIP":"10.0.0.9","clusterIPs":["10.0.0.9"]}}`,
			`422 Service "a" is invalid: spec.clusterIPs[0]: Invalid value: ["10.0.0.9"]: may not change once set`},
	} {
		if _, got := p.service(tt.method, servicesPath+tt.target, tt.body); got != tt.want {
			t.Errorf("%s: got %s\nwant %s", tt.name, got, tt.want)
		}
		p.wantHeld(tt.name, held)
	}
	if svc, failed := p.service("POST", servicesPath+"?dryRun=All", serviceJSON("c", `{}`)); failed != "" || svc.Spec.ClusterIP != "10.0.0.0" {
		t.Errorf("dry run: got %v %s", svc, failed)
	}
	p.wantHeld("dry run", held)

	for _, step := range []struct{ name, method, target, body string }{
		{"an update without what is allocated", "PUT", "/a", serviceJSON("a", `{"selector":{"x":"y"}}`)},
		{"a patch", "PATCH", "/a", `{"metadata":{"labels":{"x":"y"}}}`},
		{"a status", "PATCH", "/a/status", `{"spec":{"type":"ExternalName","externalName":"a.b"},"status":{"conditions":[]}}`},
	} {
		if svc, failed := p.service(step.method, servicesPath+step.target, step.body); failed != "" || !slices.Equal(svc.Spec.ClusterIPs, a) {
			t.Errorf("%s: got %v, %s, want %v", step.name, svc, failed, a)
		}
		p.wantHeld(step.name, held)
	}
}

// TestClusterIPsOfTypes: a service that changes its type takes an address or releases it.
func TestClusterIPsOfTypes(t *testing.T) {
	p := cluster(t, "10.0.0.0/24")
	p.createService("a", `{"clusterIP":"10.0.0.7"}`)
	change := func(name, target, body string, want ...string) {
		t.Helper()
		svc, failed := p.service("PATCH", servicesPath+"/a"+target, body)
		if failed != "" {
			t.Fatalf("%s: %s", name, failed)
		}
		if target == "" && want == nil && svc.Spec.ClusterIP != "" || want != nil && !slices.Equal(svc.Spec.ClusterIPs, want) {
			t.Errorf("%s: got %v, want %v", name, svc.Spec.ClusterIPs, want)
		}
		p.wantHeld(name, map[string][]string{"a": want})
	}
	change("to LoadBalancer", "", `{"spec":{"type":"LoadBalancer","allocateLoadBalancerNodePorts":false}}`, "10.0.0.7")
	change("to ExternalName", "", `{"spec":{"type":"ExternalName","externalName":"a.b"}}`)
	change("and back", "", `{"spec":{"type":"ClusterIP","externalName":null,"clusterIP":"10.0.0.9"}}`, "10.0.0.9")
	change("to ExternalName again", "", `{"spec":{"type":"ExternalName","externalName":"a.b"}}`)
	change("back, dry", "?dryRun=All", `{"spec":{"type":"ClusterIP","externalName":null,"clusterIP":"10.0.0.9"}}`)
	if _, failed := p.service("PATCH", servicesPath+"/a", `{"spec":{"type":"ClusterIP","ports":[{"port":0}]}}`); !strings.HasPrefix(failed, "422 ") {
		t.Errorf("back, and wrong: got %s", failed)
	}
	p.wantHeld("back, and wrong", nil)

	p.createService("made", `{}`)
	p.createService("finalized", `{}`)
	p.do("PATCH", servicesPath+"/finalized", `{"metadata":{"finalizers":["example.com/x"]}}`)
	before := p.held()
	p.do("DELETE", servicesPath+"/made?dryRun=All", "")
	p.do("DELETE", servicesPath+"/finalized", "")
	if got := p.held(); len(got) != len(before) || len(got) != 2 {
		t.Errorf("a dry deletion, and one that begins: got %v, want %v", got, before)
	}
	p.do("DELETE", servicesPath+"/made", "")
	p.do("PATCH", servicesPath+"/finalized/status", `{"metadata":{"finalizers":null}}`) // deletes it
	p.wantHeld("deleted", nil)
	if code, answer := p.do("PUT", servicesPath+"/put", serviceJSON("put", `{}`)); code != http.StatusCreated {
		t.Fatalf("%d %s", code, answer)
	}
	if _, failed := p.service("POST", servicesPath, `{"metadata":{"generateName":"gen-"},"spec":{"ports":[{"port":80}]}}`); failed != "" {
		t.Fatal(failed)
	}
	owners := fmt.Sprint(p.held())
	if !strings.Contains(owners, "services/ns/put") || !strings.Contains(owners, "services/ns/gen-") {
		t.Errorf("got %s", owners)
	}
}

// TestDualStack: services get a second address, and release it.
func TestDualStack(t *testing.T) {
	p := cluster(t, "10.0.0.0/24", "fd00::/112")
	p.createService("one", `{"clusterIP":"10.0.0.1"}`)
	p.createService("six", `{"ipFamilies":["IPv6"],"clusterIP":"fd00::1"}`)
	two := p.createService("two", `{"ipFamilyPolicy":"RequireDualStack"}`)
	asked := p.createService("asked", `{"ipFamilyPolicy":"PreferDualStack","clusterIP":"fd00::7","clusterIPs":["fd00::7","10.0.0.7"]}`)
	if len(two) != 2 || strings.Contains(two[0], ":") || !strings.Contains(two[1], ":") || !slices.Equal(asked, []string{"fd00::7", "10.0.0.7"}) {
		t.Fatalf("got %v and %v", two, asked)
	}
	held := map[string][]string{"one": {"10.0.0.1"}, "six": {"fd00::1"}, "two": two, "asked": asked}
	p.wantHeld("created", held)
	if _, failed := p.service("POST", servicesPath, serviceJSON("half",
		`{"ipFamilyPolicy":"RequireDualStack","clusterIP":"10.0.0.9","clusterIPs":["10.0.0.9","fd00::7"]}`)); !strings.Contains(failed, "already allocated") {
		t.Errorf("got %s", failed)
	}
	p.wantHeld("the second is taken", held)
	change := func(name, body string) []string {
		t.Helper()
		svc, failed := p.service("PATCH", servicesPath+"/"+name, body)
		if failed != "" {
			t.Fatalf("%s of %s: %s", body, name, failed)
		}
		held[name] = svc.Spec.ClusterIPs
		p.wantHeld(body+" of "+name, held)
		return svc.Spec.ClusterIPs
	}
	if got := change("one", `{"spec":{"ipFamilyPolicy":"PreferDualStack"}}`); len(got) != 2 || got[0] != "10.0.0.1" {
		t.Errorf("upgraded: got %v", got)
	}
	if got := change("six", `{"spec":{"ipFamilyPolicy":"RequireDualStack","clusterIPs":["fd00::1","10.0.0.10"]}}`); got[1] != "10.0.0.10" {
		t.Errorf("upgraded with an address of one's own: got %v", got)
	}
	if got := change("two", `{"spec":{"ipFamilyPolicy":"SingleStack"}}`); len(got) != 1 || got[0] != two[0] {
		t.Errorf("downgraded: got %v, want the first of %v", got, two)
	}
	if got := change("asked", `{"spec":{"ports":[{"port":81}]}}`); !slices.Equal(got, asked) {
		t.Errorf("changed otherwise: got %v, want %v", got, asked)
	}
	if got := change("asked", `{"spec":{"type":"ExternalName","externalName":"a.b"}}`); got != nil {
		t.Errorf("got %v", got)
	}
}

// TestServicesWithoutAddresses: a service that was stored by a server that allocates no addresses
// gets them at its next write.
func TestServicesWithoutAddresses(t *testing.T) {
	store := newSharedStore(t)
	p := newInProcess(t, func(c *server.Config) {
		c.Storage = server.StorageConfig{Store: store}
		c.API.Services.ClusterIPRanges = []string{"10.0.0.0/24", "fd00::/112"}
	})
	held := map[string][]string{}
	for _, tt := range []struct{ name, policy, change string }{
		{"one", "SingleStack", `{"spec":{"ports":[{"port":81}]}}`},
		{"asked", "SingleStack", `{"spec":{"clusterIP":"10.0.0.7"}}`},
		{"preferring", "PreferDualStack", `{"spec":{"ports":[{"port":81}]}}`},
		{"upgraded", "SingleStack", `{"spec":{"ipFamilyPolicy":"RequireDualStack"}}`},
	} {
		value := fmt.Sprintf(`{"kind":"Service","apiVersion":"v1","metadata":{"name":%q,"namespace":"ns","uid":"u"},"spec":{"type":"ClusterIP",`+
			`"sessionAffinity":"None","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"ipFamilies":["IPv4"],"ipFamilyPolicy":%q}}`, tt.name, tt.policy)
		if _, err := store.Put(t.Context(), "/registry/services/specs/ns/"+tt.name, []byte(value), storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
		svc, failed := p.service("PATCH", servicesPath+"/"+tt.name, tt.change)
		if failed != "" {
			t.Fatalf("%s: %s", tt.name, failed)
		}
		spec := svc.Spec
		if len(spec.ClusterIPs) == 0 || len(spec.ClusterIPs) != len(spec.IPFamilies) || spec.ClusterIP != spec.ClusterIPs[0] || spec.ClusterIP == "" {
			t.Errorf("%s: got %q, %q of %v", tt.name, spec.ClusterIP, spec.ClusterIPs, spec.IPFamilies)
		}
		held[tt.name] = spec.ClusterIPs
	}
	if held["asked"][0] != "10.0.0.7" || len(held["preferring"]) != 2 || len(held["upgraded"]) != 2 {
		t.Errorf("got %v", held)
	}
	p.wantHeld("written", held)
}

// TestAllAddressesTaken: the last free address of a range is found, and so is a released one.
func TestAllAddressesTaken(t *testing.T) {
	p := cluster(t, "10.0.0.0/27")
	seen := map[string]bool{}
	for i := range 30 {
		ip := p.createService(fmt.Sprintf("s%d", i), `{}`)[0]
		if first := netip.MustParseAddr(ip).Less(netip.MustParseAddr("10.0.0.17")); first != (i >= 14) || seen[ip] {
			t.Errorf("service %d got %s", i, ip)
		}
		seen[ip] = true
	}
	const full = `500 Internal error occurred: failed to allocate a serviceIP for Service "more": range is full`
	if _, failed := p.service("POST", servicesPath, serviceJSON("more", `{}`)); failed != full {
		t.Errorf("got %s", failed)
	}
	p.do("DELETE", servicesPath+"/s20", "")
	p.createService("more", `{}`)

	// A range is added, another one is not ready, and one is deleted.
	create := func(name, cidr, ready string) {
		t.Helper()
		if code, answer := p.do("POST", rangesPath, `{"metadata":{"name":"`+name+`","finalizers":["example.com/x"]},"spec":{"cidrs":["`+cidr+`"]}}`); code != 201 {
			t.Fatal(answer)
		}
		p.do("PATCH", rangesPath+"/"+name+"/status", `{"status":{"conditions":[{"type":"Ready","status":"`+ready+
			`","reason":"x","message":"","lastTransitionTime":"2030-01-01T00:00:00Z"}]}}`)
	}
	create("other", "10.7.0.0/29", "True")
	p.createService("asked", `{"clusterIP":"10.7.0.6"}`)
	if ip := p.createService("other", `{}`)[0]; !strings.HasPrefix(ip, "10.7.0.") {
		t.Errorf("got %s", ip)
	}
	create("dark", "10.8.0.0/29", "False")
	p.do("DELETE", rangesPath+"/other", "")
	for _, ip := range []string{"10.8.0.1", "10.7.0.5"} {
		if _, failed := p.service("POST", servicesPath, serviceJSON("no", `{"clusterIP":"`+ip+`"}`)); !strings.Contains(failed, "does not match the current range") {
			t.Errorf("%s of a range that is not ready: got %s", ip, failed)
		}
	}
}

// TestServiceTakesItsEndpoints: the deletion of a service deletes the endpoints of its name.
func TestServiceTakesItsEndpoints(t *testing.T) {
	p := cluster(t)
	p.createService("a", `{}`)
	for _, name := range []string{"a", "b"} {
		p.do("POST", "/api/v1/namespaces/ns/endpoints", `{"metadata":{"name":"`+name+`"}}`)
	}
	p.do("DELETE", servicesPath+"/a", "")
	for name, want := range map[string]int{"a": 404, "b": 200} {
		if code, _ := p.do("GET", "/api/v1/namespaces/ns/endpoints/"+name, ""); code != want {
			t.Errorf("endpoints %s: got %d, want %d", name, code, want)
		}
	}
}

func TestServiceRanges(t *testing.T) {
	for _, tt := range []struct {
		ranges string
		want   string
	}{
		{"10.0.0.0/24", ""}, {"10.0.0.0/29,fd00::/108", ""}, {"fd00::/64,10.0.0.0/8", ""},
		{"x", "service-cluster-ip-range[0] is not a valid cidr"},
		{"0.0.0.0/2", ""}, {"0.0.0.0/1", "the service cluster IP range must be at least 8 IP addresses"},
		{"0.0.0.0/0,fd00::/108", "the service cluster IP range must be at least 8 IP addresses"},
		{"10.0.0.0/30", "the service cluster IP range must be at least 8 IP addresses"},
		{"10.0.0.0/24,10.1.0.0/24", "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family"},
		{"10.0.0.0/24,x", "service-cluster-ip-range[1] is not an ip net"},
		{"10.0.0.0/24,fd00::/112,fd01::/112", "--service-cluster-ip-range must not contain more than two entries"},
	} {
		s, err := servertest.New(t, server.Config{
			DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory},
			Serving: server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
			API:     server.APIConfig{Services: addresses.Config{ClusterIPRanges: strings.Split(tt.ranges, ",")}},
		})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.ranges, err, tt.want)
		}
		if err == nil {
			s.Close()
		}
	}
}
