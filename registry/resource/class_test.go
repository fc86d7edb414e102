package resource

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
)

// TestClasses checks the validation of device classes. In want, $ is the path of the spec.
func TestClasses(t *testing.T) {
	config := func(opaque string) string { return `{"config":[{"opaque":{` + opaque + `}}]}` }
	long := strings.Repeat("a", maxParameters-len(`{"a":""}`))
	for spec, want := range map[string]string{
		`{}`: ``,
		`{"selectors":[{"cel":{"expression":"true"}}],"config":[{"opaque":{"driver":"D","parameters":{}}}],"extendedResourceName":"a.b/c"}`: ``,
		`{"selectors":[{"cel":{"expression":"` + strings.Repeat("a", maxExpression) + `"}}]}`:                                               ``,
		`{"selectors":[{},{"cel":{"expression":"` + strings.Repeat("a", maxExpression+1) + `"}}]}`: `
$.selectors[0].cel: Required value
$.selectors[1].cel.expression: Too long: may not be more than 10240 bytes`,
		`{"selectors":[` + repeat(32, `{"cel":{"expression":"a"}}`) + `]}`:             ``,
		`{"selectors":[` + repeat(33, `{}`) + `]}`:                                     `$.selectors: Too many: 33: must have at most 32 items`,
		`{"config":[` + repeat(33, `{}`) + `]}`:                                        `$.config: Too many: 33: must have at most 32 items`,
		`{"config":[` + repeat(32, `{"opaque":{"driver":"d","parameters":{}}}`) + `]}`: ``,
		`{"config":[{}]}`: `$.config[0].opaque: Required value`,
		config(``): `
$.config[0].opaque.driver: Required value
$.config[0].opaque.parameters: Required value`,
		config(`"driver":"d_","parameters":null`): `
$.config[0].opaque.driver: Invalid value: "d_": ` + checktest.Subdomain + `
$.config[0].opaque.parameters: Required value`,
		config(`"driver":"d","parameters":[1]`):                   `$.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object`,
		config(`"driver":"d","parameters":{"a":"` + long + `"}`):  ``,
		config(`"driver":"d","parameters":{"a":"` + long + `b"}`): `$.config[0].opaque.parameters: Too long: may not be more than 10240 bytes`,
		`{"extendedResourceName":"cpu"}`:                          `$.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name`,
	} {
		checktest.Want(t, checkClass(decodeClass(t, spec), nil), strings.ReplaceAll(want, "$", "spec"))
	}
}

func decodeClass(t *testing.T, spec string) *resourcev1.DeviceClass {
	return checktest.Decode[resourcev1.DeviceClass](t, `{"spec":`+spec+`}`)
}

// TestLongParameters checks that an update may keep parameters that are longer than the bound.
func TestLongParameters(t *testing.T) {
	spec := `{"config":[{"opaque":{"driver":"d","parameters":{"a":"` + strings.Repeat("a", maxParameters) + `"}}}]`
	old := decodeClass(t, spec+`}`)
	checktest.Want(t, checkClass(decodeClass(t, spec+`,"extendedResourceName":"a.b/c"}`), old), ``)
	changed := decodeClass(t, spec+`}`)
	changed.Spec.Config[0].Opaque.Driver = "e"
	checktest.Want(t, checkClass(changed, old), `spec.config[0].opaque.parameters: Too long: may not be more than 10240 bytes`)
	changed.Spec.Config[0].Opaque.Parameters.Raw = []byte("{")
	checktest.Want(t, checkClass(changed, old),
		`spec.config[0].opaque.parameters: Invalid value: "<value omitted>": error parsing data as JSON: unexpected end of JSON input`)
}
