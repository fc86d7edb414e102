package resource

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

const (
	device0    = `{"request":"a","driver":"d","pool":"p","device":"x"}`
	allocated0 = `"allocation":{"devices":{"results":[` + device0 + `]}}`
)

func withStatus(t *testing.T, status string) *resourcev1.ResourceClaim {
	t.Helper()
	return checktest.Decode[resourcev1.ResourceClaim](t, `{"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"c"}},
		{"name":"b","firstAvailable":[{"name":"c","deviceClassName":"c"}]}]}},"status":{`+status+`}}`)
}

// toStatus updates the status of a claim through its strategy.
func toStatus(t *testing.T, claim, old *resourcev1.ResourceClaim) field.ErrorList {
	door := checktest.Resource(t, Resources(), "ResourceClaim").Status
	door.Prepare(&registry.Request{Now: testTime}, claim, old)
	return door.Validate(claim, old)
}

// TestAllocations checks the validation of allocations. In want, $ is the path of the allocation.
func TestAllocations(t *testing.T) {
	results := func(list string) string { return `"devices":{"results":[` + list + `]}` }
	config := func(list string) string { return `"devices":{"config":[` + list + `]}` }
	first := func(more string) string {
		return results(`{"request":"a","driver":"d","pool":"p","device":"x",` + more + `}`)
	}
	for allocation, want := range map[string]string{
		``: ``,
		results(device0 + `,{"request":"b/c","driver":"D","pool":"p/q","device":"y"}`): ``,
		results(`{}`): `
$.devices.results[0].request: Invalid value: "": ` + checktest.Label + `
$.devices.results[0].request: Invalid value: "": ` + unknownRequest + `
$.devices.results[0].driver: Required value
$.devices.results[0].pool: Required value
$.devices.results[0].device: Invalid value: "": ` + checktest.Label,
		first(`"shareID":"1"`): `$.devices.results[0].shareID: Invalid value: "1": error validating uid: invalid UUID length: 1`,
		first(`"bindingConditions":["a","b"],"bindingFailureConditions":["c"]`): ``,
		first(`"bindingConditions":["a b","a","a"],"bindingFailureConditions":["","a","b","b"]`): `
$.devices.results[0].bindingConditions[0]: Invalid value: "a b": ` + qualified + `
$.devices.results[0].bindingFailureConditions[0]: Invalid value: "": name part must be non-empty
$.devices.results[0].bindingFailureConditions[0]: Invalid value: "": ` + qualified + `
$.devices.results[0].bindingConditions[2]: Duplicate value: "a"
$.devices.results[0].bindingFailureConditions[1]: Invalid value: "a": bindingFailureConditions must not overlap with bindingConditions
$.devices.results[0].bindingFailureConditions[3]: Duplicate value: "b"`,
		first(`"bindingConditions":["a"]`):        `$.devices.results[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions`,
		first(`"bindingFailureConditions":["a"]`): `$.devices.results[0].bindingConditions: Invalid value: null: bindingConditions are required to use bindingFailureConditions`,
		first(`"bindingConditions":[` + repeat(4, `"$"`) + `],"bindingFailureConditions":["z","y","x","w"]`): ``,
		first(`"bindingConditions":[` + repeat(5, `"$"`) + `],"bindingFailureConditions":["z","y","x","w","v"]`): `
$.devices.results[0].bindingConditions: Too many: 5: must have at most 4 items
$.devices.results[0].bindingFailureConditions: Too many: 5: must have at most 4 items`,
		results(repeat(32, device0)): ``,
		results(repeat(33, `{}`)):    `$.devices.results: Too many: 33: must have at most 32 items`,
		config(`{"source":"FromClass","opaque":{"driver":"d","parameters":{}}},{"source":"FromClaim","requests":["b"],"opaque":{"driver":"d","parameters":{}}}`): ``,
		config(`{"requests":["c"]},{"source":"FromPod","opaque":{"driver":"d","parameters":{"a":"` + strings.Repeat("a", maxParameters) + `"}}}`): `
$.devices.config[0].source: Required value
$.devices.config[0].requests[0]: Invalid value: "c": ` + unknownRequest + `
$.devices.config[0].opaque: Required value
$.devices.config[1].source: Unsupported value: "FromPod": supported values: "FromClaim", "FromClass"
$.devices.config[1].opaque.parameters: Too long: may not be more than 10240 bytes`,
		config(repeat(64, `{"source":"FromClass","opaque":{"driver":"d","parameters":{}}}`)): ``,
		config(repeat(65, `{}`)): `$.devices.config: Too many: 65: must have at most 64 items`,
		`"nodeSelector":{}`:      `$.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term`,
	} {
		checktest.Want(t, toStatus(t, withStatus(t, `"allocation":{`+allocation+`}`), withStatus(t, ``)), strings.ReplaceAll(want, "$", "status.allocation"))
	}
}

// TestReallocation checks that an allocation can be set and cleared but not changed, and that an
// unchanged allocation is not checked again.
func TestReallocation(t *testing.T) {
	const odd = `"allocation":{"devices":{"results":[{"device":"X"}]}}`
	checktest.Want(t, toStatus(t, withStatus(t, odd), withStatus(t, odd)), ``)
	checktest.Want(t, toStatus(t, withStatus(t, ``), withStatus(t, odd)), ``)
	checktest.Want(t, toStatus(t, withStatus(t, `"allocation":{}`), withStatus(t, odd)),
		`status.allocation: Invalid value: {"Devices":{"Results":null,"Config":null},"NodeSelector":null,"AllocationTimestamp":null}: `+immutable)
}

// TestReservations checks the validation of reservations. In want, $ is the path of the
// reservations.
func TestReservations(t *testing.T) {
	const pod, job = `{"resource":"pods","name":"n","uid":"1"}`, `{"apiGroup":"g","resource":"jobs","name":"n","uid":"2"}`
	reserved := func(list string) string { return allocated0 + `,"reservedFor":[` + list + `]` }
	for status, want := range map[string]string{
		reserved(pod + `,` + job): ``,
		reserved(`{}`): `
$[0].resource: Required value
$[0].name: Required value
$[0].uid: Required value`,
		reserved(pod + `,{"resource":"jobs","name":"n","uid":"1"}`):       `$[1]: Duplicate value: "1"`,
		`"reservedFor":[` + pod + `]`:                                     `$: Forbidden: may not be specified when ` + "`allocated`" + ` is not set`,
		reserved(repeat(256, `{"resource":"pods","name":"n","uid":"$"}`)): ``,
		reserved(repeat(257, `{}`)):                                       `$: Too many: 257: must have at most 256 items`,
	} {
		checktest.Want(t, toStatus(t, withStatus(t, status), withStatus(t, allocated0)), strings.ReplaceAll(want, "$", "status.reservedFor"))
	}
	for list, want := range map[string]string{
		job: ``, ``: ``, job + `,` + pod: ``, pod: "status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set",
	} {
		old := withStatus(t, reserved(job))
		if want == `` {
			old = withStatus(t, reserved(job+`,`+pod))
		}
		old.DeletionTimestamp = &meta.Time{Time: testTime}
		checktest.Want(t, toStatus(t, withStatus(t, reserved(list)), old), want)
	}
}

// TestReports checks the validation of drivers' reports. In want, $ is the path of the first
// report.
func TestReports(t *testing.T) {
	const uuid = `"123e4567-e89b-12d3-a456-426614174000"`
	const shared = `"allocation":{"devices":{"results":[` + device0 + `,{"request":"a","driver":"d","pool":"p","device":"x","shareID":` + uuid + `}]}}`
	const address = `"10.0.0.1/8"`
	report := func(more string) string { return `{"driver":"d","pool":"p","device":"x",` + more + `}` }
	network := func(more string) string { return report(`"networkData":{` + more + `}`) }
	for devices, want := range map[string]string{
		`{"driver":"d","pool":"p","device":"x"}`:                              ``,
		`{"driver":"d","pool":"p","device":"x"},` + report(`"shareID":`+uuid): ``,
		`{"driver":"d","pool":"p","device":"x"},` + report(`"data":{"a":1}`):  `status.devices[1]: Duplicate value: {"Driver":"d","Pool":"p","Device":"x","ShareID":""}`,
		report(`"data":[1]`): `$.data: Invalid value: "<value omitted>": must be a valid JSON object`,
		report(`"shareID":"1"`): `
$.shareID: Invalid value: "1": error validating uid: invalid UUID length: 1
$: Invalid value: {"Driver":"d","Pool":"p","Device":"x","ShareID":"1"}: must be an allocated device in the claim`,
		`{}`: `
$.driver: Required value
$.pool: Required value
$.device: Invalid value: "": ` + checktest.Label + `
$: Invalid value: {"Driver":"","Pool":"","Device":"","ShareID":""}: must be an allocated device in the claim`,
		report(`"conditions":[{"type":"A","status":"True","reason":"R","lastTransitionTime":"2030-01-02T03:04:05Z"}]`):                                       ``,
		report(`"conditions":[{"type":"A","status":"true","reason":"R","lastTransitionTime":"2030-01-02T03:04:05Z"}]`):                                       `$.conditions[0].status: Unsupported value: "true": supported values: "False", "True", "Unknown"`,
		report(`"conditions":[` + repeat(8, `{"type":"$","status":"True","reason":"R","lastTransitionTime":"2030-01-02T03:04:05Z"}`) + `]`):                  ``,
		report(`"conditions":[` + repeat(9, `{"type":"$","status":"True","reason":"R","lastTransitionTime":"2030-01-02T03:04:05Z"}`) + `]`):                  `$.conditions: Too many: 9: must have at most 8 items`,
		network(`"interfaceName":"` + strings.Repeat("a", 256) + `","hardwareAddress":"` + strings.Repeat("a", 128) + `","ips":["10.0.0.1/8","10.0.0.2/8"]`): ``,
		network(`"interfaceName":"` + strings.Repeat("a", 257) + `","hardwareAddress":"` + strings.Repeat("a", 129) + `","ips":["10.0.0.1/8","10.0.0.1/8"]`): `
$.networkData.interfaceName: Too long: may not be more than 256 bytes
$.networkData.hardwareAddress: Too long: may not be more than 128 bytes
$.networkData.ips[1]: Duplicate value: "10.0.0.1/8"`,
		network(`"ips":[` + repeat(17, address) + `]`): `$.networkData.ips: Too many: 17: must have at most 16 items`,
	} {
		claim := withStatus(t, shared+`,"devices":[`+devices+`]`)
		checktest.Want(t, toStatus(t, claim, withStatus(t, shared)), strings.ReplaceAll(want, "$", "status.devices[0]"))
	}
}

// TestDeallocation checks that deallocation drops the reports about the devices, and that a status
// update keeps the metadata.
func TestDeallocation(t *testing.T) {
	const reports = `,"devices":[{"driver":"d","pool":"p","device":"x"},{"driver":"e","pool":"p","device":"x"}]`
	old := withStatus(t, allocated0)
	old.Labels = map[string]string{"a": "b"}
	claim := withStatus(t, `"reservedFor":[]`+reports)
	checktest.Want(t, toStatus(t, claim, old),
		`status.devices[0]: Invalid value: {"Driver":"e","Pool":"p","Device":"x","ShareID":""}: must be an allocated device in the claim`)
	if claim.Labels["a"] != "b" {
		t.Errorf("labels: got %v, want the old ones", claim.Labels)
	}
	claim = withStatus(t, `"devices":[{"driver":"d","pool":"p","device":"x"}]`)
	if checktest.Want(t, toStatus(t, claim, old), ``); claim.Status.Devices != nil {
		t.Errorf("devices: got %v, want none", claim.Status.Devices)
	}
}
