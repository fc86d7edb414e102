package networking

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

func policy(t *testing.T, spec string) meta.Object {
	t.Helper()
	return checktest.Decode[networkingv1.NetworkPolicy](t, `{"spec":{`+spec+`}}`)
}

// TestNetworkPolicies checks network policies. In want, $ is the path of the spec.
func TestNetworkPolicies(t *testing.T) {
	s := checktest.Resource(t, Resources(), "NetworkPolicy").Strategy
	const operator = `"matchExpressions":[{"key":"a","operator":"Odd"}]`
	for spec, want := range map[string]string{
		``:                                 ``,
		`"podSelector":{` + operator + `}`: `$.podSelector.matchExpressions[0].operator: Invalid value: "Odd": not a valid selector operator`,
		`"ingress":[{}],"egress":[{}]`:     ``,
		`"ingress":[{"ports":[{"port":80},{"port":"http"},{"protocol":"UDP","port":1,"endPort":1},{"protocol":"SCTP","port":1,"endPort":65535},{}]}]`: ``,
		`"ingress":[{},{"ports":[{"protocol":"Odd","port":0},{"port":"1"},{"port":5,"endPort":4},{"port":5,"endPort":65536}]}]`: `
$.ingress[1].ports[0].protocol: Unsupported value: "Odd": supported values: "TCP", "UDP", "SCTP"
$.ingress[1].ports[0].port: Invalid value: 0: ` + port + `
$.ingress[1].ports[1].port: Invalid value: "1": must contain at least one letter (a-z)
$.ingress[1].ports[2].endPort: Invalid value: 5: must be greater than or equal to ` + "`port`" + `
$.ingress[1].ports[3].endPort: Invalid value: 65536: ` + port,
		`"egress":[{"ports":[{"endPort":4},{"port":"http","endPort":5}]}]`: `
$.egress[0].ports[0].endPort: Invalid value: 4: may not be specified when ` + "`port`" + ` is not specified
$.egress[0].ports[1].endPort: Invalid value: 5: may not be specified when ` + "`port`" + ` is non-numeric`,
		`"ingress":[{"from":[{"podSelector":{}},{"namespaceSelector":{}},{"podSelector":{},"namespaceSelector":{}},{"ipBlock":{"cidr":"10.0.0.0/8"}}]}]`: ``,
		`"ingress":[{"from":[{},{"podSelector":{},"ipBlock":{"cidr":"10.0.0.0/8"}},{"namespaceSelector":{},"ipBlock":{}}]}]`: `
$.ingress[0].from[0]: Required value: must specify a peer
$.ingress[0].from[1]: Forbidden: may not specify both ipBlock and another peer
$.ingress[0].from[2].ipBlock.cidr: Required value
$.ingress[0].from[2]: Forbidden: may not specify both ipBlock and another peer`,
		`"egress":[{"to":[{"podSelector":{` + operator + `},"namespaceSelector":{` + operator + `}}]}]`: `
$.egress[0].to[0].podSelector.matchExpressions[0].operator: Invalid value: "Odd": not a valid selector operator
$.egress[0].to[0].namespaceSelector.matchExpressions[0].operator: Invalid value: "Odd": not a valid selector operator`,
		`"egress":[{"to":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16","10.0.0.0/9"]}},{"ipBlock":{"cidr":"2001:db8::/32","except":["2001:db8::/33"]}}]}]`: ``,
		`"egress":[{"to":[{"ipBlock":{"cidr":"x","except":["y"]}},{"ipBlock":{"cidr":"10.0.0.0/8","except":["x","10.0.0.0/8","11.0.0.0/16","fe80::/64","10.0.0.1/9","11.0.0.1/9"]}}]}]`: `
$.egress[0].to[0].ipBlock.cidr: Invalid value: "x": ` + cidr + `
$.egress[0].to[1].ipBlock.except[0]: Invalid value: "x": ` + cidr + `
$.egress[0].to[1].ipBlock.except[1]: Invalid value: "10.0.0.0/8": must be a strict subset of ` + "`cidr`" + `
$.egress[0].to[1].ipBlock.except[2]: Invalid value: "11.0.0.0/16": must be a strict subset of ` + "`cidr`" + `
$.egress[0].to[1].ipBlock.except[3]: Invalid value: "fe80::/64": must be a strict subset of ` + "`cidr`" + `
$.egress[0].to[1].ipBlock.except[4]: Invalid value: "10.0.0.1/9": must not have bits set beyond the prefix length
$.egress[0].to[1].ipBlock.except[5]: Invalid value: "11.0.0.1/9": must not have bits set beyond the prefix length
$.egress[0].to[1].ipBlock.except[5]: Invalid value: "11.0.0.1/9": must be a strict subset of ` + "`cidr`",
		`"policyTypes":["Egress","Ingress"]`: ``,
		`"policyTypes":["Egress","Odd"]`:     `$.policyTypes[1]: Unsupported value: "Odd": supported values: "Ingress", "Egress"`,
		`"policyTypes":["Egress","Odd","a"]`: `$.policyTypes: Invalid value: ["Egress","Odd","a"]: may not specify more than two policyTypes`,
	} {
		t.Run(spec, func(t *testing.T) {
			checktest.Want(t, s.Validate(policy(t, spec), nil), strings.ReplaceAll(want, "$", "spec"))
		})
	}
}

// TestOldRanges checks that an update may keep the CIDRs of a policy, also at another place, and
// that the client is warned of them.
func TestOldRanges(t *testing.T) {
	s := checktest.Resource(t, Resources(), "NetworkPolicy").Strategy
	const peer = `"ipBlock":{"cidr":"10.0.0.1/8","except":["010.1.0.0/16"]}`
	old := policy(t, `"ingress":[{"from":[{}]},{"from":[{},{`+peer+`}]}]`)
	moved := policy(t, `"egress":[{"to":[{"podSelector":{}},{`+peer+`}]}]`)
	checktest.Want(t, s.Validate(moved, old), "")
	checktest.Want(t, s.Validate(old, moved), "spec.ingress[0].from[0]: Required value: must specify a peer\nspec.ingress[1].from[0]: Required value: must specify a peer")
	checktest.Want(t, s.Validate(moved, policy(t, ``)), `
spec.egress[0].to[1].ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length
spec.egress[0].to[1].ipBlock.except[0]: Invalid value: "010.1.0.0/16": must not have leading 0s in IP or prefix length`)
	const ambiguous, odd = `CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)`, `non-standard CIDR value "010.1.0.0/16" is invalid: use "10.1.0.0/16"`
	for obj, p := range map[meta.Object]string{old: "spec.ingress[1].from[1].ipBlock.", moved: "spec.egress[0].to[1].ipBlock."} {
		want := p + "cidr: " + ambiguous + "\n" + p + "except[0]: " + odd
		if got := strings.Join(s.Warnings(obj, nil), "\n"); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	many := `"egress":[{"to":[{` + strings.Repeat(peer+`},{`, check.MaxAddressWarnings) + peer + `}]}]`
	if got := s.Warnings(policy(t, many), nil); len(got) != check.MaxAddressWarnings {
		t.Errorf("got %d warnings, want %d", len(got), check.MaxAddressWarnings)
	}
}

func TestNetworkPolicyDefaults(t *testing.T) {
	for spec, want := range map[string]string{
		``: "[Ingress]", `"ingress":[{}]`: "[Ingress]", `"egress":[{}]`: "[Ingress Egress]", `"policyTypes":["Egress"]`: "[Egress]",
	} {
		if got := fmt.Sprint(policy(t, spec).(*networkingv1.NetworkPolicy).Spec.PolicyTypes); got != want {
			t.Errorf("%s: got the types %s, want %s", spec, got, want)
		}
	}
	r := checktest.Resource(t, Resources(), "NetworkPolicy")
	checktest.WantCells(t, r, policy(t, `"podSelector":{"matchLabels":{"a":"b"}}`), time.Now(), "x", "a=b", "<unknown>")
	checktest.WantCells(t, r, policy(t, ``), time.Now(), "x", "<none>", "<unknown>")
}
