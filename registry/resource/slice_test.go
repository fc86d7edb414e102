package resource

import (
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/field"
)

const pool = `"driver":"d","pool":{"name":"p","resourceSliceCount":1}`

func decodeSlice(t *testing.T, spec string) *resourcev1.ResourceSlice {
	t.Helper()
	return checktest.Decode[resourcev1.ResourceSlice](t, `{"spec":{`+spec+`}}`)
}

// publish creates a slice, or updates old to it, through the strategy.
func publish(t *testing.T, s, old *resourcev1.ResourceSlice) field.ErrorList {
	t.Helper()
	prepareSlice(&registry.Request{Now: testTime}, s, old)
	return checkSlice(s, old)
}

// TestSlices checks the validation of slices. In want, $ is the path of the spec.
func TestSlices(t *testing.T) {
	const one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	const term = `{"matchExpressions":[{"key":"a","operator":"Exists"}]}`
	const all = pool + `,"allNodes":true,`
	for spec, want := range map[string]string{
		pool + `,"nodeName":"n"`: ``,
		pool + `,"nodeSelector":{"nodeSelectorTerms":[` + term + `]}`:                              ``,
		pool + `,"perDeviceNodeSelection":true`:                                                    ``,
		`"driver":"D","pool":{"name":"a/b","generation":1,"resourceSliceCount":2},"allNodes":true`: ``,
		`"pool":{"generation":-1}`: `
$.driver: Required value
$.pool.name: Required value
$.pool.resourceSliceCount: Invalid value: 0: must be greater than zero
$.pool.generation: Invalid value: -1: must be greater than or equal to zero
$: Required value: ` + one,
		pool + `,"nodeName":"","allNodes":false,"perDeviceNodeSelection":false`: `
$.nodeName: Invalid value: "": must be either unset or set to a non-empty string
$.allNodes: Invalid value: false: must be either unset or set to true
$.perDeviceNodeSelection: Invalid value: false: must be either unset or set to true
$: Required value: ` + one,
		pool + `,"nodeName":"N","nodeSelector":{},"allNodes":true,"perDeviceNodeSelection":true`: `
$.nodeName: Invalid value: "N": ` + checktest.Subdomain + `
$.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term
$.nodeSelector.nodeSelectorTerms: Invalid value: null: must have exactly one node selector term
$: Invalid value: "{` + "`nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`" + `}": ` + one + `, but multiple fields are set`,
		pool + `,"nodeSelector":{"nodeSelectorTerms":[{},{}]}`:                                                             `$.nodeSelector.nodeSelectorTerms: Invalid value: [{"MatchExpressions":null,"MatchFields":null},{"MatchExpressions":null,"MatchFields":null}]: must have exactly one node selector term`,
		all + `"sharedCounters":[{"name":"a","counters":{"b":{"value":"1"}}},{"name":"b","counters":{"b":{"value":"1"}}}]`: ``,
		all + `"devices":[],"sharedCounters":[{},{"name":"A","counters":{"B":{"value":"-1"}}},{"name":"A","counters":{"b":{}}}]`: `
$: Invalid value: "": only one of ` + "`sharedCounters` or `devices`" + ` is allowed
$.sharedCounters[0].name: Required value
$.sharedCounters[0].counters: Required value
$.sharedCounters[1].name: Invalid value: "A": ` + checktest.Label + `
$.sharedCounters[1].counters: Invalid value: "B": ` + checktest.Label + `
$.sharedCounters[2].name: Invalid value: "A": ` + checktest.Label + `
$.sharedCounters[2]: Duplicate value: "A"`,
		all + `"sharedCounters":[` + repeat(8, `{"name":"$","counters":{`+repeat(32, `"c$":{}`)+`}}`) + `]`:        ``,
		all + `"sharedCounters":[{"name":"a","counters":{` + repeat(33, `"$":{}`) + `}}]`:                          `$.sharedCounters[0].counters: Too many: 33: must have at most 32 items`,
		all + `"sharedCounters":[` + repeat(9, `{}`) + `]`:                                                         `$.sharedCounters: Too many: 9: must have at most 8 items`,
		all + `"devices":[` + repeat(128, `{"name":"$"}`) + `]`:                                                    ``,
		all + `"devices":[` + repeat(129, `{}`) + `]`:                                                              `$.devices: Too many: 129: must have at most 128 items`,
		all + `"devices":[` + repeat(63, `{"name":"$"}`) + `,{"name":"z","taints":[{"key":"a","effect":"None"}]}]`: ``,
		all + `"devices":[` + repeat(64, `{"name":"$"}`) + `,{"name":"z","taints":[{}]}]`:                          `$.devices: Too many: 65: must have at most 64 items`,
		all + `"devices":[` + repeat(64, `{"name":"$"}`) + `,{"name":"z","consumesCounters":[{}]}]`:                `$.devices: Too many: 65: must have at most 64 items`,
		all + `"devices":[{"name":"a"},{"name":"a"}]`:                                                              `$.devices[1]: Duplicate value: "a"`,
	} {
		checktest.Want(t, publish(t, decodeSlice(t, spec), nil), strings.ReplaceAll(want, "$", "spec"))
	}
}

func TestSliceUpdate(t *testing.T) {
	old := decodeSlice(t, pool+`,"nodeName":"n","devices":[{"name":"a","taints":[{}]}]`)
	checktest.Want(t, publish(t, decodeSlice(t, `"driver":"d","pool":{"name":"p","generation":2,"resourceSliceCount":2},"nodeName":"n"`), old), ``)
	checktest.Want(t, publish(t, decodeSlice(t, `"driver":"e","pool":{"name":"q","resourceSliceCount":1},"allNodes":true`), old), `
spec.pool.name: Invalid value: "q": `+immutable+`
spec.driver: Invalid value: "e": `+immutable+`
spec.nodeName: Invalid value: null: `+immutable)

	// Taints that stay as they are are not checked anew.
	checktest.Want(t, publish(t, scheme.DeepCopy(old), old), ``)
	moved := decodeSlice(t, pool+`,"nodeName":"n","devices":[{"name":"b","taints":[{}]}]`)
	moved.Spec.Devices[0].Taints = old.Spec.Devices[0].Taints
	checktest.Want(t, publish(t, moved, old), `
spec.devices[0].taints[0].key: Invalid value: "": name part must be non-empty
spec.devices[0].taints[0].key: Invalid value: "": `+qualified+`
spec.devices[0].taints[0].effect: Required value`)
}

// TestNotServed checks that fields that are not served are dropped, unless the old slice has them.
func TestNotServed(t *testing.T) {
	const lists = `"attributes":{"a":{"ints":[1]},"b":{"bools":[true]},"c":{"strings":["x"]},"d":{"versions":["1.0.0"]},"e":{"int":1}}`
	const mappings = `"nodeAllocatableResourceMappings":{"cpu":{}}`
	slice := func(device string) *resourcev1.ResourceSlice {
		return decodeSlice(t, pool+`,"allNodes":true,"devices":[{"name":"a"},{"name":"b",`+device+`}]`)
	}
	for _, tt := range []struct {
		old             *resourcev1.ResourceSlice
		lists, mappings bool
	}{
		{nil, false, false}, {slice(`"bindsToNode":true`), false, false}, {slice(lists), true, false}, {slice(mappings), false, true},
		{slice(`"attributes":{"d":{"versions":[]}}`), true, false},
	} {
		s := slice(lists + `,` + mappings)
		prepareSlice(nil, s, tt.old)
		d := s.Spec.Devices[1]
		if got := isAdvanced(d); got != tt.lists || d.Attributes["e"].IntValue == nil {
			t.Errorf("after %v: lists: got %v, want %t", tt.old, d.Attributes, tt.lists)
		}
		for name, a := range d.Attributes {
			kept := a.IntValues != nil || a.BoolValues != nil || a.StringValues != nil || a.VersionValues != nil
			if name != "e" && kept != tt.lists {
				t.Errorf("after %v: %s: got %v, want a list: %t", tt.old, name, a, tt.lists)
			}
		}
		if got := d.NodeAllocatableResourceMappings != nil; got != tt.mappings {
			t.Errorf("after %v: mappings: got %t, want %t", tt.old, got, tt.mappings)
		}
	}
}

func TestSliceWarnings(t *testing.T) {
	for driver, want := range map[string][]string{
		"d": nil, "D.a": {`spec.driver: driver names should be lowercase; "D.a" contains uppercase characters`},
	} {
		s := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: driver}}
		if got := sliceWarnings(s, nil); !slices.Equal(got, want) {
			t.Errorf("warnings of %s: got %q, want %q", driver, got, want)
		}
	}
}
