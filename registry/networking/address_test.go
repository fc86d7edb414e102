package networking

import (
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestIPAddresses(t *testing.T) {
	r := checktest.Resource(t, Resources(), "IPAddress")
	for name, good := range map[string]bool{"1.2.3.4": true, "2001:db8::1": true, "2001:db8:0::1": false, "01.2.3.4": false, "a": false} {
		if msgs := r.Strategy.ValidateName(name, false); (len(msgs) == 0) != good {
			t.Errorf("%s: got %v, want it valid: %t", name, msgs, good)
		}
	}
	const whole = `"parentRef":{"group":"g","resource":"r","namespace":"n","name":"a"}`
	decode := func(spec string) meta.Object {
		return checktest.Decode[networkingv1.IPAddress](t, `{"spec":{`+spec+`}}`)
	}
	for _, tt := range []struct{ spec, old, want string }{
		{whole, ``, ``},
		{`"parentRef":{"resource":"r","name":"a"}`, ``, ``},
		{``, ``, `$: Required value`},
		{`"parentRef":{}`, ``, "$.resource: Required value\n$.name: Required value"},
		{`"parentRef":{"group":"G","resource":"a/b","namespace":"a%","name":"."}`, ``, `
$.group: Invalid value: "G": ` + checktest.Subdomain + `
$.resource: Invalid value: "a/b": may not contain '/'
$.name: Invalid value: ".": may not be '.'
$.namespace: Invalid value: "a%": may not contain '%'`},
		{whole, whole, ``},
		{`"parentRef":{"resource":"r","name":"b"}`, whole, `$: Invalid value: {"Group":"","Resource":"r","Namespace":"","Name":"b"}: ` + changed},
		{``, whole, "$: Required value\n$: Invalid value: null: " + changed},
	} {
		var old meta.Object
		if tt.old != "" {
			old = decode(tt.old)
		}
		checktest.Want(t, r.Strategy.Validate(decode(tt.spec), old), strings.ReplaceAll(tt.want, "$", "spec.parentRef"))
	}
	checktest.WantCells(t, r, decode(``), time.Now(), "x", "<none>")
	checktest.WantCells(t, r, decode(whole), time.Now(), "x", "r.g/n/a")
	checktest.WantCells(t, r, decode(`"parentRef":{"resource":"Services","name":"a"}`), time.Now(), "x", "services/a")
}

func TestServiceCIDRs(t *testing.T) {
	r := checktest.Resource(t, Resources(), "ServiceCIDR")
	decode := func(list string) meta.Object {
		return checktest.Decode[networkingv1.ServiceCIDR](t, `{"spec":{"cidrs":`+list+`}}`)
	}
	const (
		four, six, both = `["10.0.0.0/8"]`, `["fe80::/64"]`, `["10.0.0.0/8","fe80::/64"]`
		families        = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
	)
	for _, tt := range []struct{ list, old, want string }{
		{four, ``, ``}, {six, ``, ``}, {both, ``, ``}, {`["fe80::/64","10.0.0.0/8"]`, ``, ``},
		{`[]`, ``, `$: Required value: at least one CIDR required`},
		{`["10.0.0.0/8","fe80::/64","fe80::/65"]`, ``, `$: Invalid value: {"CIDRs":["10.0.0.0/8","fe80::/64","fe80::/65"]}: may only hold up to 2 values`},
		{`["10.0.0.1/8","x"]`, ``, `$[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length` + "\n" + `$[1]: Invalid value: "x": ` + cidr},
		{`["010.0.0.0/8","11.0.0.1/8"]`, ``, `$[0]: Invalid value: "010.0.0.0/8": must not have leading 0s in IP or prefix length
$[1]: Invalid value: "11.0.0.1/8": must not have bits set beyond the prefix length
$: Invalid value: ["010.0.0.0/8","11.0.0.1/8"]: ` + families},
		{`["10.0.0.0/8","11.0.0.0/8"]`, ``, `$: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: ` + families},
		{`["fe80::/64","fe80:0::/65"]`, ``, `$[1]: Invalid value: "fe80:0::/65": must be in canonical form ("fe80::/65")` + "\n" + `$: Invalid value: ["fe80::/64","fe80:0::/65"]: ` + families},
		{both, both, ``}, {both, four, ``},
		{six, four, `$[0]: Invalid value: "fe80::/64": ` + changed},
		{four, both, `$: Invalid value: ["10.0.0.0/8"]: ` + changed},
		{`[]`, four, `$: Invalid value: []: ` + changed},
		{both, six, `$[0]: Invalid value: "10.0.0.0/8": ` + changed},
		{`["10.0.0.0/8","11.0.0.0/8"]`, four, `$: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: ` + families},
	} {
		var old meta.Object
		if tt.old != "" {
			old = decode(tt.old)
		}
		checktest.Want(t, r.Strategy.Validate(decode(tt.list), old), strings.ReplaceAll(tt.want, "$", "spec.cidrs"))
	}
	checktest.WantCells(t, r, decode(both), time.Now(), "x", "10.0.0.0/8,fe80::/64", "<unknown>")
}
