package resource

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
)

const unknownRequest = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"

func decodeClaim(t *testing.T, devices string) *resourcev1.ResourceClaim {
	t.Helper()
	return checktest.Decode[resourcev1.ResourceClaim](t, `{"spec":{"devices":{`+devices+`}}}`)
}

// TestRequests checks the validation of requests. In want, $ is the path of the first request.
func TestRequests(t *testing.T) {
	exactly := func(more string) string { return `{"name":"a","exactly":{"deviceClassName":"c",` + more + `}}` }
	tolerated := func(list string) string { return exactly(`"tolerations":[` + list + `]`) }
	for requests, want := range map[string]string{
		``:                                ``,
		exactly(`"allocationMode":"All"`): ``,
		exactly(`"count":3`):              ``,
		`{"name":"a","firstAvailable":[{"name":"a","deviceClassName":"c"},{"name":"b","deviceClassName":"c","allocationMode":"All"}]}`: ``,
		`{}`: `
$.name: Invalid value: "": ` + checktest.Label + `
$: Required value: exactly one of ` + "`exactly` or `firstAvailable`" + ` is required`,
		`{"name":"A.","exactly":{},"firstAvailable":[{}]}`: `
$.name: Invalid value: "A.": ` + checktest.Label + `
$: Invalid value: null: exactly one of ` + "`exactly` or `firstAvailable`" + ` is required, but multiple fields are set`,
		`{"name":"a","exactly":{"selectors":[{}],"count":-1}}`: `
$.exactly.deviceClassName: Required value
$.exactly.selectors[0].cel: Required value
$.exactly.count: Invalid value: -1: must be greater than zero`,
		`{"name":"a","exactly":{"deviceClassName":"C"}}`:  `$.exactly.deviceClassName: Invalid value: "C": ` + checktest.Subdomain,
		exactly(`"allocationMode":"All","count":1`):       `$.exactly.count: Invalid value: 1: must not be specified when allocationMode is 'All'`,
		exactly(`"allocationMode":"Some"`):                `$.exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"`,
		exactly(`"selectors":[` + repeat(33, `{}`) + `]`): `$.exactly.selectors: Too many: 33: must have at most 32 items`,
		tolerated(`{},{"key":"a.b/c","operator":"Exists","effect":"None"},{"value":"v","effect":"NoExecute","tolerationSeconds":-1}`): ``,
		tolerated(`{"key":"a b","operator":"Exists","value":"v"},{"value":"v ","effect":"PreferNoSchedule"},{"operator":"In"}`): `
$.exactly.tolerations[0].key: Invalid value: "a b": ` + qualified + `
$.exactly.tolerations[0].value: Invalid value: "v": must be empty for operator ` + "`Exists`" + `
$.exactly.tolerations[1].value: Invalid value: "v ": ` + labelValue + `
$.exactly.tolerations[1].effect: Unsupported value: "PreferNoSchedule": supported values: "NoExecute", "NoSchedule", "None"
$.exactly.tolerations[2].operator: Unsupported value: "In": supported values: "Equal", "Exists"`,
		`{"name":"a","firstAvailable":[{"tolerations":[{"key":"a b"}],"selectors":[{}],"count":-1},{"name":"a","deviceClassName":"c"},{"name":"a","deviceClassName":"c"}]}`: `
$.firstAvailable[0].name: Invalid value: "": ` + checktest.Label + `
$.firstAvailable[0].deviceClassName: Required value
$.firstAvailable[0].selectors[0].cel: Required value
$.firstAvailable[0].count: Invalid value: -1: must be greater than zero
$.firstAvailable[0].tolerations[0].key: Invalid value: "a b": ` + qualified + `
$.firstAvailable[2]: Duplicate value: "a"`,
		`{"name":"a","firstAvailable":[` + repeat(8, `{"name":"$","deviceClassName":"c"}`) + `]}`: ``,
		`{"name":"a","firstAvailable":[` + repeat(9, `{"name":"$","deviceClassName":"c"}`) + `]}`: `$.firstAvailable: Too many: 9: must have at most 8 items`,
		exactly(`"count":1`) + `,` + exactly(`"count":1`):                                         `spec.devices.requests[1]: Duplicate value: "a"`,
		repeat(32, `{"name":"$","exactly":{"deviceClassName":"c"}}`):                              ``,
		repeat(33, `{"name":"$"}`): `spec.devices.requests: Too many: 33: must have at most 32 items`,
	} {
		checktest.Want(t, checkClaim(decodeClaim(t, `"requests":[`+requests+`]`), nil), strings.ReplaceAll(want, "$", "spec.devices.requests[0]"))
	}
}

// TestRequestNames checks references to requests and subrequests. In want, $ is the path of the
// devices.
func TestRequestNames(t *testing.T) {
	const requests = `"requests":[{"name":"a","exactly":{"deviceClassName":"c"}},{"name":"b","firstAvailable":[{"name":"c","deviceClassName":"c"}]}],`
	for devices, want := range map[string]string{
		`"constraints":[{"matchAttribute":"d/m"},{"requests":["a","b","b/c"],"distinctAttribute":"d/m"}]`: ``,
		`"constraints":[{"requests":["","A","a","a","c","b/d","a/c","b/c/d"],"matchAttribute":"m"},{"distinctAttribute":"n","requests":["a/C"]},{}]`: `
$.constraints[0].requests[0]: Invalid value: "": ` + checktest.Label + `
$.constraints[0].requests[0]: Invalid value: "": ` + unknownRequest + `
$.constraints[0].requests[1]: Invalid value: "A": ` + checktest.Label + `
$.constraints[0].requests[1]: Invalid value: "A": ` + unknownRequest + `
$.constraints[0].requests[4]: Invalid value: "c": ` + unknownRequest + `
$.constraints[0].requests[5]: Invalid value: "b/d": ` + unknownRequest + `
$.constraints[0].requests[6]: Invalid value: "a/c": ` + unknownRequest + `
$.constraints[0].requests[7]: Invalid value: "b/c/d": ` + unknownRequest + `
$.constraints[0].requests[3]: Duplicate value: "a"
$.constraints[0].matchAttribute: Invalid value: "m": a fully qualified name must be a domain and a name separated by a slash
$.constraints[1].requests[0]: Invalid value: "C": ` + checktest.Label + `
$.constraints[1].requests[0]: Invalid value: "a/C": ` + unknownRequest + `
$.constraints[1].distinctAttribute: Invalid value: "n": a fully qualified name must be a domain and a name separated by a slash
$.constraints[2]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`,
		`"constraints":[` + repeat(32, `{"matchAttribute":"d/m"}`) + `]`:                  ``,
		`"constraints":[` + repeat(33, `{}`) + `]`:                                        `$.constraints: Too many: 33: must have at most 32 items`,
		`"constraints":[{"requests":[` + repeat(33, `"a"`) + `],"matchAttribute":"d/m"}]`: `$.constraints[0].requests: Too many: 33: must have at most 32 items`,
		`"config":[{"requests":["b/c"],"opaque":{"driver":"d","parameters":{}}}]`:         ``,
		`"config":[{"requests":["d"]}]`: `
$.config[0].requests[0]: Invalid value: "d": ` + unknownRequest + `
$.config[0].opaque: Required value`,
		`"config":[{"opaque":{"driver":"d","parameters":{"a":"` + strings.Repeat("a", maxParameters) + `"}}}]`: `$.config[0].opaque.parameters: Too long: may not be more than 10240 bytes`,
		`"config":[` + repeat(32, `{"opaque":{"driver":"d","parameters":{}}}`) + `]`:                           ``,
		`"config":[` + repeat(33, `{}`) + `]`:                                                                  `$.config: Too many: 33: must have at most 32 items`,
	} {
		checktest.Want(t, checkClaim(decodeClaim(t, requests+devices), nil), strings.ReplaceAll(want, "$", "spec.devices"))
	}
}

// TestClaimUpdate checks that the spec of a claim cannot change, and that an unchanged spec is not
// checked again.
func TestClaimUpdate(t *testing.T) {
	old := decodeClaim(t, `"requests":[{"name":"A"}]`)
	checktest.Want(t, checkClaim(decodeClaim(t, `"requests":[{"name":"A"}]`), old), ``)
	checktest.Want(t, checkClaim(decodeClaim(t, ``), old), `spec: Invalid value: {"Devices":{"Requests":null,"Constraints":null,"Config":null}}: `+immutable)
}

func TestClaimTemplates(t *testing.T) {
	decode := func(spec string) *resourcev1.ResourceClaimTemplate {
		return checktest.Decode[resourcev1.ResourceClaimTemplate](t, `{"spec":`+spec+`}`)
	}
	old := decode(`{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}}}`)
	checktest.Want(t, checkClaimTemplate(old, nil), ``)
	bad := decode(`{"metadata":{"name":"n","labels":{"a":"b c"},"annotations":{"c d":""}},"spec":{"devices":{"requests":[{"name":"a"}]}}}`)
	const wrong = `
spec.metadata.annotations: Invalid value: "c d": ` + qualified + `
spec.metadata.labels: Invalid value: "b c": ` + labelValue + `
spec.metadata.name: Forbidden: cannot be set
spec.spec.devices.requests[0]: Required value: exactly one of ` + "`exactly` or `firstAvailable`" + ` is required`
	checktest.Want(t, checkClaimTemplate(bad, nil), wrong)
	checktest.Want(t, checkClaimTemplate(old, old), ``)
	checktest.Want(t, checkClaimTemplate(decode(`{}`), old),
		`spec: Invalid value: {"Spec":{"Devices":{"Requests":null,"Constraints":null,"Config":null}}}: `+immutable)
}
