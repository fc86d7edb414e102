package discovery

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
)

func decode(t *testing.T, text string) *discoveryv1.EndpointSlice {
	t.Helper()
	return checktest.Decode[discoveryv1.EndpointSlice](t, text)
}

func TestSlice(t *testing.T) {
	r := Resources()[0]
	const qname = checktest.Qualified
	const value = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
		"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
	hints := func(field string, n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"name":"z%d"}`, i)
		}
		return `"` + field + `":[` + strings.Join(list, ",") + `]`
	}
	endpoint := func(fields string) string {
		return `{"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"],` + fields + `}]}`
	}
	many := func(n int, address string) string { return strings.TrimSuffix(strings.Repeat(address+",", n), ",") }
	for _, tt := range []struct{ in, want string }{
		{`{"addressType":"IPv4","ports":[{},{"name":"a","port":80,"protocol":"UDP","appProtocol":"a.b/c"}],"endpoints":[{"addresses":["10.0.0.1"],"nodeName":"n.o","hostname":"h",
			"hints":{"forZones":[{"name":"a"},{"name":"b"}],"forNodes":[{"name":"a"},{"name":"b"}]}}]}`, ``},
		{`{"addressType":"IPv6","endpoints":[{"addresses":["2001:db8::1"]}]}`, ``},
		{`{"addressType":"FQDN","endpoints":[{"addresses":["a.b"]}]}`, ``},
		{`{}`, `addressType: Required value`},
		{`{"addressType":"IP","endpoints":[{"addresses":["x"]}]}`, `addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6"`},
		{`{"addressType":"IPv4","ports":[{"name":"A","protocol":"ICMP","appProtocol":"a b"},{},{},{"name":"A"}]}`, `
ports[0].name: Invalid value: "A": ` + checktest.Label + `
ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"
ports[0].appProtocol: Invalid value: "a b": ` + qname + `
ports[2].name: Duplicate value: ""
ports[3].name: Invalid value: "A": ` + checktest.Label + `
ports[3].name: Duplicate value: "A"`},
		{`{"addressType":"IPv4","endpoints":[{"addresses":[]},{"addresses":["010.0.0.1","2001:db8::1","127.0.0.1"]}]}`, `
endpoints[0].addresses: Required value: must contain at least 1 address
endpoints[1].addresses[0]: Invalid value: "010.0.0.1": must not have leading 0s
endpoints[1].addresses: Invalid value: "2001:db8::1": must be an IPv4 address
endpoints[1].addresses[2]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`},
		{`{"addressType":"IPv6","endpoints":[{"addresses":["2001:db8:0::1","10.0.0.1"]}]}`, `
endpoints[0].addresses[0]: Invalid value: "2001:db8:0::1": must be in canonical form ("2001:db8::1")
endpoints[0].addresses: Invalid value: "10.0.0.1": must be an IPv6 address`},
		{`{"addressType":"FQDN","endpoints":[{"addresses":["a"]}]}`, `endpoints[0].addresses[0]: Invalid value: "a": should be a domain with at least two segments separated by dots`},
		{endpoint(`"nodeName":"","hostname":"a.b"`), `endpoints[0].nodeName: Invalid value: "": ` + checktest.Subdomain + "\n" +
			`endpoints[0].hostname: Invalid value: "a.b": must not contain dots`},
		{endpoint(`"hints":{"forZones":[{"name":"a b"},{"name":"a b"}],"forNodes":[{"name":"A"},{"name":"A"}]}`), `
endpoints[0].hints.forZones[0].name: Invalid value: "a b": ` + value + `
endpoints[0].hints.forZones[1].name: Duplicate value: "a b"
endpoints[0].hints.forZones[1].name: Invalid value: "a b": ` + value + `
endpoints[0].hints.forNodes[0].name: Invalid value: "A": ` + checktest.Subdomain + `
endpoints[0].hints.forNodes[1].name: Duplicate value: "A"
endpoints[0].hints.forNodes[1].name: Invalid value: "A": ` + checktest.Subdomain},
		{endpoint(`"hints":{` + hints("forZones", 8) + `,` + hints("forNodes", 8) + `}`), ``},
		{endpoint(`"hints":{` + hints("forZones", 9) + `,` + hints("forNodes", 9) + `}`), `endpoints[0].hints.forZones: Too many: 9: must have at most 8 items`},
		{endpoint(`"hints":{` + hints("forNodes", 9) + `}`), `endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items`},
		{`{"addressType":"IPv4","endpoints":[{"addresses":[` + many(100, `"10.0.0.1"`) + `]}]}`, ``},
		{`{"addressType":"IPv4","endpoints":[{"addresses":[` + many(101, `"10.0.0.1"`) + `]}]}`, `endpoints[0].addresses: Too many: 101: must have at most 100 items`},
		{`{"addressType":"IPv4","endpoints":[` + many(1000, `{"addresses":["10.0.0.1"]}`) + `]}`, ``},
		{`{"addressType":"IPv4","endpoints":[` + many(1001, `{"addresses":[]}`) + `]}`, `endpoints: Too many: 1001: must have at most 1000 items`},
		{`{"addressType":"IPv4","ports":[` + many(20001, `{}`) + `]}`, `ports: Too many: 20001: must have at most 20000 items`},
	} {
		checktest.Want(t, r.Strategy.Validate(decode(t, tt.in), nil), tt.want)
	}
	all := make([]string, 20000)
	for i := range all {
		all[i] = fmt.Sprintf(`{"name":"p%d"}`, i)
	}
	checktest.Want(t, r.Strategy.Validate(decode(t, `{"addressType":"IPv4","ports":[`+strings.Join(all, ",")+`]}`), nil), ``)

	old := decode(t, `{"addressType":"IPv4","endpoints":[{"addresses":["x"]}]}`)
	checktest.Want(t, r.Strategy.Validate(scheme.DeepCopy(old), old), ``) // has been there
	checktest.Want(t, r.Strategy.Validate(decode(t, `{"addressType":"IPv6","endpoints":[{"addresses":["y"]}]}`), old), `
endpoints[0].addresses[0]: Invalid value: "y": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)
addressType: Invalid value: "IPv6": field is immutable`)
}

// TestTopology checks that topology is cleared, and that the node of an old endpoint moves to
// nodeName.
func TestTopology(t *testing.T) {
	prepare := Resources()[0].Strategy.Prepare
	slice := func(fields string) *discoveryv1.EndpointSlice {
		return decode(t, `{"endpoints":[{"addresses":["10.0.0.1"],`+fields+`}]}`)
	}
	const node = `"deprecatedTopology":{"kubernetes.io/hostname":"n","a":"b"}`
	for _, tt := range []struct {
		name, in, old string
		node          string
		kept          bool
	}{
		{"new", node, "", "", false},
		{"not touched", node, node, "", true},
		{"touched", node + `,"zone":"z"`, node, "n", false},
		{"another node", strings.Replace(node, `"n"`, `"m"`, 1), node, "", false},
		{"with its newer name", node + `,"nodeName":"m"`, node, "m", false},
		{"no name of a node", strings.Replace(node, `"n"`, `"N"`, 1) + `,"zone":"z"`, strings.Replace(node, `"n"`, `"N"`, 1), "", false},
		{"no node", `"zone":"z"`, `"zone":"y"`, "", false},
	} {
		s := slice(tt.in)
		if tt.old == "" {
			prepare(nil, s, nil)
		} else {
			prepare(nil, s, slice(tt.old))
		}
		e := s.Endpoints[0]
		got := ""
		if e.NodeName != nil {
			got = *e.NodeName
		}
		if got != tt.node || (e.DeprecatedTopology != nil) != tt.kept {
			t.Errorf("%s: got the node %q and topology %v", tt.name, got, e.DeprecatedTopology)
		}
	}
}

func TestSliceWarnings(t *testing.T) {
	warnings := Resources()[0].Strategy.Warnings
	s := decode(t, `{"addressType":"FQDN","endpoints":[{"addresses":["a.b"]},{"addresses":["10.0.0.1","010.0.0.1"]}]}`)
	const fqdn, odd = "spec.addressType: FQDN endpoints are deprecated", `endpoints[1].addresses[1]: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"`
	for name, tt := range map[string]struct {
		by   string
		old  *discoveryv1.EndpointSlice
		want []string
	}{
		"new": {"", nil, []string{fqdn, odd}}, "changed": {"me", s, []string{odd}},
		"of the controller": {"endpointslice-controller.k8s.io", nil, []string{fqdn}},
		"of the mirror":     {"endpointslicemirroring-controller.k8s.io", s, nil},
	} {
		s.Labels = map[string]string{discoveryv1.LabelManagedBy: tt.by}
		if got := warnings(s, tt.old); strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
	many := &discoveryv1.EndpointSlice{Endpoints: make([]discoveryv1.Endpoint, 2*check.MaxAddressWarnings)}
	for i := range many.Endpoints {
		many.Endpoints[i].Addresses = []string{"010.0.0.1"}
	}
	if got := warnings(many, nil); len(got) != check.MaxAddressWarnings {
		t.Errorf("many: got %d warnings", len(got))
	}
}

func TestSliceCells(t *testing.T) {
	for in, want := range map[string]string{
		`{"addressType":"IPv4"}`: "[x IPv4 <unset> <unset> 5m]",
		`{"addressType":"IPv4","ports":[{"name":"a","port":80},{"name":"b"},{"port":81}],"endpoints":[{"addresses":["10.0.0.1","10.0.0.2"]},{"addresses":["10.0.0.3"]}]}`: "[x IPv4 80,b,81 10.0.0.1,10.0.0.2,10.0.0.3 5m]",
		`{"ports":[{"port":1},{"port":2},{"port":3},{"port":4},{"port":5}],"endpoints":[{"addresses":["a","b","c","d"]}]}`:                                                "[x  1,2,3 + 2 more... a,b,c + 1 more... 5m]",
	} {
		s := decode(t, strings.Replace(in, `{`, `{"metadata":{"creationTimestamp":"2030-01-02T03:00:00Z"},`, 1))
		if got := fmt.Sprint(Resources()[0].Table.Cells(s, time.Date(2030, 1, 2, 3, 5, 0, 0, time.UTC))); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	unnamed := &discoveryv1.EndpointSlice{Ports: make([]discoveryv1.EndpointPort, 1)}
	if got := fmt.Sprint(Resources()[0].Table.Cells(unnamed, time.Time{})); got != "[  * <unset> <unknown>]" {
		t.Errorf("a port without any field: got %s", got)
	}
}
