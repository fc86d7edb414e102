package resource

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
)

// TestCapacities checks the validation of request policies for a capacity of 16Gi. In want, $ is
// the path of the policy.
func TestCapacities(t *testing.T) {
	inRange := func(usual, r string) string { return `"default":"` + usual + `","validRange":{` + r + `}` }
	for policy, want := range map[string]string{
		``:              ``,
		`"default":"1"`: ``,
		`"default":"2Gi","validValues":["1Gi","2Gi","16Gi"]`: ``,
		`"default":"1","validValues":["1"],"validRange":{}`:  `$: Forbidden: exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`,
		`"validValues":["1"]`:                                `$.default: Required value: required when validValues is defined`,
		`"validRange":{"min":"1"}`:                           `$.default: Required value: required when validRange is defined`,
		`"default":"3","validValues":["2","1","17Gi","17Gi"]`: `
$.validValues[1]: Invalid value: "1": values must be sorted in ascending order
$.validValues[2]: Invalid value: "17Gi": option is larger than capacity value: 16Gi
$.validValues[3]: Invalid value: "17Gi": option is larger than capacity value: 16Gi
$.validValues[3]: Duplicate value: "18253611008"
$.validValues: Invalid value: "3": default value is not valid according to the requestPolicy`,
		`"default":"1","validValues":["1","2","3","4","5","6","7","8","9","10"]`: ``,
		`"default":"1","validValues":["1","2","3","4","5","6","7","8","9","10","11"]`: `
$.validValues: Too many: 11: must have at most 10 items
$.validValues: Invalid value: "1": default value is not valid according to the requestPolicy`,
		inRange(`4`, ``):                               `$.validRange.min: Required value: required when validRange is defined`,
		inRange(`4`, `"min":"4"`):                      ``,
		inRange(`4`, `"min":"2","max":"8","step":"2"`): ``,
		inRange(`16Gi`, `"min":"16Gi","max":"16Gi"`):   ``,
		inRange(`8Gi`, `"min":"8Gi","step":"8Gi"`):     ``,
		inRange(`1`, `"min":"17Gi"`): `
$.validRange.min: Invalid value: "17Gi": min is larger than capacity value: 16Gi
$.validRange.min: Invalid value: "1": default is less than min: 17Gi`,
		inRange(`20Gi`, `"min":"19Gi","max":"18Gi"`): `
$.validRange.min: Invalid value: "19Gi": min is larger than capacity value: 16Gi
$.validRange.max: Invalid value: "19Gi": min is larger than max: 18Gi
$.validRange.max: Invalid value: "18Gi": max is larger than capacity value: 16Gi
$.validRange.max: Invalid value: "20Gi": default is more than max: 18Gi`,
		inRange(`5`, `"min":"2","max":"9","step":"2"`): `
$.validRange.step: Invalid value: "5": value is not a multiple of a given step (2) from (2)
$.validRange.step: Invalid value: "9": value is not a multiple of a given step (2) from (2)`,
		inRange(`2`, `"min":"2","step":"16Gi"`): `$.validRange.step: Invalid value: "16Gi": one step 17179869186 is larger than capacity value: 16Gi`,
		inRange(`2`, `"min":"2","step":"0"`):    `$.validRange.step: Invalid value: "2": value is not a multiple of a given step (0) from (2)`,
	} {
		for _, shared := range []bool{false, true} {
			want := want
			if !shared {
				want = `$: Forbidden: allowMultipleAllocations must be true`
			}
			s := decodeSlice(t, pool+`,"allNodes":true,"devices":[{"name":"a","capacity":{"c":{"value":"16Gi","requestPolicy":{`+policy+`}}}}]`)
			s.Spec.Devices[0].AllowMultipleAllocations = &shared
			checktest.Want(t, publish(t, s, nil), strings.ReplaceAll(want, "$", "spec.devices[0].capacity[c].requestPolicy"))
		}
	}
	s := decodeSlice(t, pool+`,"allNodes":true,"devices":[{"name":"a","allowMultipleAllocations":true,"capacity":{"c":{"value":"1"}}},{"name":"b","capacity":{"c":{"value":"1"}}}]`)
	checktest.Want(t, publish(t, s, nil), ``)
}
