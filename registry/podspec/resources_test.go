package podspec

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
)

// TestResources checks the resources of a container. In want, $ is their path.
func TestResources(t *testing.T) {
	for _, tt := range []struct{ resources, want string }{
		{`"limits":{"cpu":"0","memory":"1","example.com/gpu":"2","hugepages-2Mi":"4Mi","kubernetes.io/x":"1500m"},"requests":{"cpu":"0"}`, ``},
		{`"limits":{"cpu":"2"},"requests":{"cpu":"2"}`, ``},
		{`"limits":{"cpu":"1"},"requests":{"cpu":"1001m"}`, `$.requests: Invalid value: "1001m": must be less than or equal to cpu limit of 1`},
		{`"limits":{"a b":"1"},"requests":{}`, `
$.limits[a b]: Invalid value: "a b": ` + qualified + `
$.limits[a b]: Invalid value: "a b": must be a standard resource for containers
$.requests[a b]: Invalid value: "a b": ` + qualified + `
$.requests[a b]: Invalid value: "a b": must be a standard resource for containers`},
		{`"limits":{"pods":"1500m"}`, `
$.limits[pods]: Invalid value: "pods": must be a standard resource for containers
$.limits[pods]: Invalid value: "1500m": must be an integer
$.requests[pods]: Invalid value: "pods": must be a standard resource for containers
$.requests[pods]: Invalid value: "1500m": must be an integer`},
		{`"limits":{"requests.example.com/a":"1"},"requests":{"requests.example.com/a":"1"}`, `
$.limits[requests.example.com/a]: Invalid value: "requests.example.com/a": doesn't follow extended resource name standard
$.requests[requests.example.com/a]: Invalid value: "requests.example.com/a": doesn't follow extended resource name standard`},
		{`"limits":{"` + strings.Repeat("a", 241) + `.io/b":"1"}`, ``},
		{`"limits":{"` + strings.Repeat("a", 242) + `.io/b":"1"}`, strings.ReplaceAll(`
$.limits[NAME]: Invalid value: "NAME": doesn't follow extended resource name standard
$.requests[NAME]: Invalid value: "NAME": doesn't follow extended resource name standard`, "NAME", strings.Repeat("a", 242)+".io/b")},
		{`"limits":{"example.com/gpu":"500m"},"requests":{"example.com/gpu":"500m"}`, `
$.limits[example.com/gpu]: Invalid value: "500m": must be an integer
$.requests[example.com/gpu]: Invalid value: "500m": must be an integer`},
		{`"requests":{"example.com/gpu":"1"}`, `$.limits: Required value: Limit must be set for non overcommitable resources`},
		{`"limits":{"example.com/gpu":"2"},"requests":{"example.com/gpu":"2"}`, ``},
		{`"limits":{"cpu":"1","hugepages-0":"1"},"requests":{"hugepages-0":"1"}`, `
$.limits[hugepages-0]: Invalid value: "1": 1 is not positive integer multiple of hugepages-0
$.requests[hugepages-0]: Invalid value: "1": 1 is not positive integer multiple of hugepages-0`},
		{`"limits":{"cpu":"1","hugepages-x":"1"},"requests":{"hugepages-x":"1"}`, `
$.limits[hugepages-x]: Invalid value: "1": 1 is not positive integer multiple of hugepages-x
$.requests[hugepages-x]: Invalid value: "1": 1 is not positive integer multiple of hugepages-x`},
		{`"limits":{"cpu":"1","hugepages-500m":"1"},"requests":{"hugepages-500m":"1"}`, `
$.limits[hugepages-500m]: Invalid value: "1": 1 is not positive integer multiple of hugepages-500m
$.requests[hugepages-500m]: Invalid value: "1": 1 is not positive integer multiple of hugepages-500m`},
		{`"limits":{"hugepages-2Mi":"2Mi"}`, `$: Forbidden: HugePages require cpu or memory`},
		{`"limits":{"hugepages-2Mi":"2Mi","memory":"1"}`, ``},

		{`"claims":[{"name":"a","request":"r"},{"name":"a","request":"s"},{"name":"b"}]`, ``},
		{`"claims":[{"name":""},{"name":"z"},{"name":"a","request":"R"}]`, `
$.claims[0]: Required value
$.claims[1]: Not found: "z": must be one of the names in pod.spec.resourceClaims: a, b
$.claims[2].request: Invalid value: "R": ` + checktest.Label},
		{`"claims":[{"name":"a"},{"name":"a"},{"name":"a","request":"R"},{"name":"b","request":"r"},{"name":"b","request":"r"},{"name":"b"},{"name":"b","request":"s"}]`, `
$.claims[1]: Duplicate value: "a"
$.claims[2]: Duplicate value: "a"
$.claims[4]: Duplicate value: "b/r"
$.claims[5]: Duplicate value: "b"
$.claims[6]: Duplicate value: "b"`},
	} {
		checkSpec(t, `"resourceClaims":[{"name":"b","resourceClaimName":"x"},{"name":"a","resourceClaimName":"y"}],
			"containers":[{"name":"c","image":"i","resources":{`+tt.resources+`}}]`, strings.ReplaceAll(tt.want, "$", "$.containers[0].resources"))
	}
	checkContainer(t, `"resources":{"claims":[{"name":"a"}]}`,
		`$.resources.claims[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims which is empty`)
}

// TestPodResources checks the resources of a pod as a whole.
func TestPodResources(t *testing.T) {
	const pages = `"resources":{"limits":{"cpu":"1","memory":"1Mi","hugepages-2Mi":"4Mi"}}`
	for _, tt := range []struct{ spec, want string }{
		{`"resources":{"limits":{"cpu":"2","memory":"1Gi","hugepages-2Mi":"8Mi"},"requests":{"cpu":"2","memory":"4Mi"}},
			"containers":[{"name":"a","image":"i",` + pages + `},{"name":"b","image":"i",` + pages + `}]`, ``},
		{`"resources":{"limits":{"cpu":"2","hugepages-2Mi":"6Mi"},"requests":{"cpu":"1999m"}},
			"containers":[{"name":"a","image":"i",` + pages + `},{"name":"b","image":"i",` + pages + `}]`, `
$.resources.requests[cpu]: Invalid value: "1999m": must be greater than or equal to aggregate container requests of 2
$.resources.requests[hugepages-2Mi]: Invalid value: "6Mi": must be greater than or equal to aggregate container requests of 8Mi
$.resources.limits[hugepages-2Mi]: Invalid value: "6Mi": must be greater than or equal to aggregate container limits of 8Mi`},
		{`"resources":{"limits":{"cpu":"1"}},"initContainers":[{"name":"a","image":"i","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"1"}}}],
			"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}}}]`, ``},
		{`"resources":{"limits":{"bogus":"1"},"claims":[{"name":"a"}]},"containers":[{"name":"c","image":"i"}]`, `
$.resources.claims: Forbidden: claims may not be set for Resources at pod-level
$.resources.limits[bogus]: Invalid value: "bogus": must be a standard resource type or fully qualified
$.resources.claims[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims which is empty`},
		{`"resources":{"limits":{"bogus":"1"}},"os":{"name":"windows"},"containers":[{"name":"c","image":"i"}]`,
			`$.resources: Forbidden: may not be set for a windows pod`},
		{`"overhead":{"cpu":"1","bogus":"1"},"containers":[{"name":"c","image":"i"}]`, `
$.overhead.limits[bogus]: Invalid value: "bogus": must be a standard resource type or fully qualified
$.overhead.limits[bogus]: Invalid value: "bogus": must be a standard resource for containers`},
	} {
		checkSpec(t, tt.spec, tt.want)
	}
}
