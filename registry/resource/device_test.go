package resource

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
)

// TestDevices checks the validation of devices. In want, $ is the path of the device.
func TestDevices(t *testing.T) {
	attribute := func(value string) string { return `"name":"a","attributes":{"k":{` + value + `}}` }
	long := strings.Repeat("a", maxAttribute)
	for device, want := range map[string]string{
		`"name":"a"`: ``,
		``:           `$.name: Invalid value: "": ` + checktest.Label,
		`"name":"a","attributes":{` + repeat(16, `"a$":{"int":1}`) + `},"capacity":{` + repeat(16, `"b$":{"value":"1"}`) + `}`: ``,
		`"name":"a","attributes":{` + repeat(17, `"a$":{"int":1}`) + `},"capacity":{` + repeat(16, `"b$":{"value":"1"}`) + `}`: `$: Invalid value: 33: the total number of attributes and capacities must not exceed 32`,
		`"name":"a","attributes":{"1":{"int":1}},"capacity":{"d/":{"value":"1"}}`: `
$.attributes: Invalid value: "1": ` + identifier + `
$.capacity: Invalid value: "": the name must not be empty`,
		attribute(`"bool":false`):                   ``,
		attribute(`"string":"` + long + `"`):        ``,
		attribute(`"string":"` + long + `a"`):       `$.attributes[k].string: Too long: may not be more than 64 bytes`,
		attribute(`"version":"1.2.3-rc.1+b"`):       ``,
		attribute(`"version":"1.2"`):                `$.attributes[k].version: Invalid value: "1.2": must be a string compatible with semver.org spec 2.0.0`,
		attribute(`"version":"1.2.3-` + long + `"`): `$.attributes[k].version: Too long: may not be more than 64 bytes`,
		attribute(``): `$.attributes[k]: Invalid value: "": exactly one value must be specified`,
		attribute(`"int":1,"bool":true`): `$.attributes[k]: Invalid value: {"IntValue":1,"BoolValue":true,"StringValue":null,"VersionValue":null,` +
			`"IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}: exactly one value must be specified`,
		`"name":"a","taints":[{"key":"a.b/c","value":"v","effect":"NoSchedule"},{"key":"a","effect":"NoExecute"}]`: ``,
		`"name":"a","taints":[{"key":"a b","value":"v ","effect":"Odd"},{"key":"a"}]`: `
$.taints[0].key: Invalid value: "a b": ` + qualified + `
$.taints[0].value: Invalid value: "v ": ` + labelValue + `
$.taints[0].effect: Unsupported value: "Odd": supported values: "NoExecute", "NoSchedule", "None"
$.taints[1].effect: Required value`,
		`"name":"a","taints":[` + repeat(16, `{"key":"a","effect":"None"}`) + `]`:                                                                        ``,
		`"name":"a","taints":[` + repeat(17, `{}`) + `]`:                                                                                                 `$.taints: Too many: 17: must have at most 16 items`,
		`"name":"a","consumesCounters":[{"counterSet":"a","counters":{"b":{"value":"1"}}},{"counterSet":"b","counters":{` + repeat(32, `"$":{}`) + `}}]`: ``,
		`"name":"a","consumesCounters":[{},{"counterSet":"A","counters":{"B":{"value":"1"}}}]`: `
$.consumesCounters[0].counterSet: Required value
$.consumesCounters[0].counters: Required value
$.consumesCounters[1].counterSet: Invalid value: "A": ` + checktest.Label + `
$.consumesCounters[1].counters: Invalid value: "B": ` + checktest.Label,
		`"name":"a","consumesCounters":[{"counterSet":"a","counters":{"b":{}}},{"counterSet":"a","counters":{"b":{}}}]`: `$.consumesCounters[1]: Duplicate value: "a"`,
		`"name":"a","consumesCounters":[{},{},{}]`: `$.consumesCounters: Too many: 3: must have at most 2 items`,
		`"name":"a","bindingConditions":["a"]`:     `$.bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions`,
		`"name":"a","allNodes":true`:               "$: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
	} {
		s := decodeSlice(t, pool+`,"allNodes":true,"devices":[{`+device+`}]`)
		checktest.Want(t, publish(t, s, nil), strings.ReplaceAll(want, "$", "spec.devices[0]"))
	}
}

// TestDevicesOfOldSlices checks the validation of fields that are not served, which only an update
// can have. In want, $ is the path of the device.
func TestDevicesOfOldSlices(t *testing.T) {
	long := strings.Repeat("a", maxAttribute)
	mapped := func(list string) string {
		return `"capacity":{"c":{"value":"1"}},"nodeAllocatableResourceMappings":{` + list + `}`
	}
	for device, want := range map[string]string{
		`"attributes":{"a":{"ints":[1,2]},"b":{"bools":[true]},"c":{"strings":["` + long + `"]},"d":{"versions":["1.2.3"]}}`: ``,
		`"attributes":{"a":{"ints":[]},"b":{"bools":[]},"c":{"strings":[]},"d":{"versions":[]}}`: `
$.attributes[a].ints: Invalid value: []: must not be empty if specified
$.attributes[b].bools: Invalid value: []: must not be empty if specified
$.attributes[c].strings: Invalid value: []: must not be empty if specified
$.attributes[d].versions: Invalid value: []: must not be empty if specified`,
		`"attributes":{"c":{"strings":["","` + long + `a"]},"d":{"versions":["1.2.3","1","1.0.0-` + long + `"]}}`: `
$.attributes[c].strings[1]: Too long: may not be more than 64 bytes
$.attributes[d].versions[1]: Invalid value: "1": must be a string compatible with semver.org spec 2.0.0
$.attributes[d].versions[2]: Too long: may not be more than 64 bytes`,
		`"attributes":{"a":{"ints":[` + repeat(46, `1`) + `]},"b":{"int":1},"c":{"ints":[1]}}`:   ``,
		`"attributes":{"a":{"ints":[` + repeat(46, `1`) + `]},"b":{"int":1},"c":{"ints":[1,1]}}`: `$: Invalid value: 49: the total number of attribute values must not exceed 48`,
		mapped(`"cpu":{"capacityKey":"c"},"memory":{"allocationMultiplier":"2"}`):                ``,
		mapped(`"a.b/c":{"capacityKey":""},"cpu":{"capacityKey":"d"},"memory":{"allocationMultiplier":"0","capacityKey":"c"}`): `
$.nodeAllocatableResourceMappings[a.b/c]: Invalid value: "a.b/c": must be a node allocatable resource name
$.nodeAllocatableResourceMappings[a.b/c].capacityKey: Invalid value: "": capacityKey must not be an empty string
$.nodeAllocatableResourceMappings[cpu].capacityKey: Not found: "d"
$.nodeAllocatableResourceMappings[memory].allocationMultiplier: Invalid value: "0": must be positive`,
	} {
		old := decodeSlice(t, pool+`,"allNodes":true,"devices":[{"name":"a","attributes":{"a":{"ints":[1]}},"nodeAllocatableResourceMappings":{"cpu":{}}}]`)
		s := decodeSlice(t, pool+`,"allNodes":true,"devices":[{"name":"a",`+device+`}]`)
		checktest.Want(t, publish(t, s, old), strings.ReplaceAll(want, "$", "spec.devices[0]"))
	}
}

// TestMappings checks mappings without defaults, and a mapping to a capacity of a device that has
// none.
func TestMappings(t *testing.T) {
	s := decodeSlice(t, pool+`,"devices":[{"name":"a","nodeAllocatableResourceMappings":{"cpu":{},"memory":{"capacityKey":"c"}}}]`)
	d := &s.Spec.Devices[0]
	m := d.NodeAllocatableResourceMappings["cpu"]
	m.AllocationMultiplier = nil
	d.NodeAllocatableResourceMappings["cpu"] = m
	checktest.Want(t, checkMappings(nil, d), `
[cpu]: Invalid value: "": at least one of allocationMultiplier or capacityKey must be set
[memory].capacityKey: Not found: "c"`)
}

// TestDeviceNodes checks the fields that say which nodes can use a device. In want, $ is the path
// of the device.
func TestDeviceNodes(t *testing.T) {
	const one = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
	for device, want := range map[string]string{
		`"nodeName":"n"`:  ``,
		`"allNodes":true`: ``,
		`"nodeSelector":{"nodeSelectorTerms":[{},{}]}`: ``,
		`"bindsToNode":true`:                           `$: Required value: ` + one,
		`"nodeName":"","allNodes":false`: `
$.nodeName: Invalid value: "": must not be empty
$.allNodes: Invalid value: false: must be either unset or set to true
$: Required value: ` + one,
		`"nodeName":"N","nodeSelector":{},"allNodes":true`: `
$.nodeName: Invalid value: "N": ` + checktest.Subdomain + `
$.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term
$: Invalid value: "{` + "`nodeName`, `nodeSelector`, `allNodes`" + `}": ` + one,
	} {
		s := decodeSlice(t, pool+`,"perDeviceNodeSelection":true,"devices":[{"name":"a",`+device+`}]`)
		checktest.Want(t, publish(t, s, nil), strings.ReplaceAll(want, "$", "spec.devices[0]"))
	}
}
