package core

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

func TestEndpoints(t *testing.T) {
	r := resource(t, "endpoints")
	const bad = "must be a valid IP address"
	for _, tt := range []struct{ in, want string }{
		{`{}`, ``},
		{`{"subsets":[{"addresses":[{"ip":"10.0.0.1","hostname":"a","nodeName":"n"}],"ports":[{"port":80}]},{"notReadyAddresses":[{"ip":"::1:2"}]}]}`, ``},
		{`{"subsets":[{"addresses":[{"ip":"10.0.0.1"}],"notReadyAddresses":[{"ip":"10.0.0.2"}]}]}`, ``},
		{`{"subsets":[{}]}`, "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"},
		{`{"subsets":[{"addresses":[{"ip":"x","hostname":"A","nodeName":""}]}]}`, `
subsets[0].addresses[0].ip: Invalid value: "x": ` + bad + `, (e.g. 10.9.8.7 or 2001:db8::ffff)
subsets[0].addresses[0].hostname: Invalid value: "A": ` + checktest.Label + `
subsets[0].addresses[0].nodeName: Invalid value: "": ` + checktest.Subdomain + `
subsets[0].addresses[0].ip: Invalid value: "x": ` + bad},
		{`{"subsets":[{"notReadyAddresses":[{"ip":"010.0.0.1"},{"ip":"127.0.0.1"}]}]}`, `
subsets[0].notReadyAddresses[0].ip: Invalid value: "010.0.0.1": must not have leading 0s
subsets[0].notReadyAddresses[1].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`},
		{`{"subsets":[{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":0,"protocol":"ICMP","name":"A"},{"port":65535,"appProtocol":"a b"}]}]}`, `
subsets[0].ports[0].name: Invalid value: "A": ` + checktest.Label + `
subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive
subsets[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"
subsets[0].ports[1].name: Required value
subsets[0].ports[1].appProtocol: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an ` +
			`alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`},
	} {
		checktest.Want(t, create(r, checktest.Decode[corev1.Endpoints](t, tt.in)), tt.want)
	}
	unset := &corev1.Endpoints{Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "10.0.0.1"}}, Ports: []corev1.EndpointPort{{Port: 1}}}}}
	checktest.Want(t, create(r, unset), "subsets[0].ports[0].protocol: Required value")

	// Invalid subsets may stay if they do not change.
	old := checktest.Decode[corev1.Endpoints](t, `{"subsets":[{}]}`)
	checktest.Want(t, update(r, "", scheme.DeepCopy(old), old), ``)
	checktest.Want(t, update(r, "", checktest.Decode[corev1.Endpoints](t, `{"subsets":[{},{}]}`), old),
		"subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`\nsubsets[1]: Required value: must specify `addresses` or `notReadyAddresses`")
}

func TestEndpointsWarnings(t *testing.T) {
	r := resource(t, "endpoints")
	e := checktest.Decode[corev1.Endpoints](t, `{"subsets":[{},{"addresses":[{"ip":"10.0.0.1"},{"ip":"010.0.0.1"}],"notReadyAddresses":[{"ip":"fe80:0::1"}]}]}`)
	want := `subsets[1].addresses[1].ip: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"
subsets[1].notReadyAddresses[0].ip: IPv6 address "fe80:0::1" should be in RFC 5952 canonical format ("fe80::1")`
	if got := strings.Join(r.Strategy.Warnings(e, nil), "\n"); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	e.Labels = map[string]string{endpointsManagedBy: "somebody"}
	if got := r.Strategy.Warnings(e, e); len(got) != 2 {
		t.Errorf("managed by a controller: got %q", got)
	}
	e.Labels[endpointsManagedBy] = endpointsController
	if got := r.Strategy.Warnings(e, nil); got != nil {
		t.Errorf("managed by the controller: got %q", got)
	}
	many := &corev1.Endpoints{Subsets: []corev1.EndpointSubset{{Addresses: make([]corev1.EndpointAddress, 2*check.MaxAddressWarnings)}}}
	for i := range many.Subsets[0].Addresses {
		many.Subsets[0].Addresses[i].IP = "010.0.0.1"
	}
	if got := r.Strategy.Warnings(many, nil); len(got) != check.MaxAddressWarnings {
		t.Errorf("many: got %d warnings", len(got))
	}
}

func TestEndpointsCell(t *testing.T) {
	const a, b = `{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}`, `{"ip":"::1:1"}`
	for in, want := range map[string]string{
		`[]`:                                  "<none>",
		`[{"notReadyAddresses":[` + a + `]}]`: "",
		`[{"addresses":[` + a + `]}]`:         "10.0.0.1,10.0.0.2",
		`[{"addresses":[` + a + `],"ports":[{"port":80}]},{"addresses":[` + b + `],"ports":[{"port":81}]}]`: "10.0.0.1:80,10.0.0.2:80,[::1:1]:81",
		`[{"addresses":[` + a + `],"ports":[{"port":80},{"port":81}]}]`:                                     "10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 1 more...",
		`[{"addresses":[` + a + `,` + a + `]},{"addresses":[` + b + `]}]`:                                   "10.0.0.1,10.0.0.2,10.0.0.1 + 2 more...",
	} {
		e := checktest.Decode[corev1.Endpoints](t, `{"subsets":`+in+`}`)
		if got := fmt.Sprint(resource(t, "endpoints").Table.Cells(e, testTime)); got != "[x "+want+" <unknown>]" {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
