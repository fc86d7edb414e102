package podspec

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
)

// TestVariables checks a variable. In want, $ is the path of its source.
func TestVariables(t *testing.T) {
	for _, tt := range []struct{ source, want string }{
		{`"fieldRef":{"fieldPath":"spec.nodeName"}`, ``},
		{`"fieldRef":{"fieldPath":"spec.host"}`, ``}, // the former name of spec.nodeName
		{`"fieldRef":{"fieldPath":"metadata.labels['a/b']"}`, ``},
		{`"fieldRef":{"fieldPath":"metadata.annotations['A.b/c']"}`, ``},
		{`"fieldRef":{"fieldPath":""}`, `$.fieldRef.fieldPath: Required value`},
		{`"fieldRef":{"apiVersion":"v2","fieldPath":"metadata.name"}`,
			`$.fieldRef.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported pod version: v2`},
		{`"fieldRef":{"fieldPath":"metadata.labels['a b']"}`, `$.fieldRef: Invalid value: "a b": ` + qualified},
		{`"fieldRef":{"fieldPath":"metadata.annotations['A b']"}`, `$.fieldRef: Invalid value: "a b": ` + qualified},
		{`"fieldRef":{"fieldPath":"metadata.name['a']"}`,
			`$.fieldRef.fieldPath: Invalid value: "metadata.name['a']": error converting fieldPath: field label does not support subscript: metadata.name['a']`},
		{`"fieldRef":{"fieldPath":"['a']"}`, `$.fieldRef.fieldPath: Invalid value: "['a']": error converting fieldPath: field label not supported: ['a']`},

		{`"resourceFieldRef":{"resource":"requests.memory","divisor":"1Ki"}`, ``},
		{`"resourceFieldRef":{"resource":"limits.cpu","divisor":"0"}`, ``},
		{`"resourceFieldRef":{"resource":"limits.cpu","divisor":"1m"}`, ``},
		{`"resourceFieldRef":{"resource":"requests.hugepages-2Mi","divisor":"1Mi"}`, ``},
		{`"resourceFieldRef":{"resource":""}`, `$.resourceFieldRef.resource: Required value`},
		{`"resourceFieldRef":{"resource":"limits.storage","divisor":"2"}`, `$.resourceFieldRef.resource: Unsupported value: "limits.storage": supported values: ` +
			`"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"`},
		{`"resourceFieldRef":{"resource":"requests.cpu","divisor":"1k"}`,
			`$.resourceFieldRef.divisor: Invalid value: "requests.cpu": only divisor's values 1m and 1 are supported with the cpu resource`},
		{`"resourceFieldRef":{"resource":"requests.memory","divisor":"1m"}`,
			`$.resourceFieldRef.divisor: Invalid value: "requests.memory": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource`},
		{`"resourceFieldRef":{"resource":"limits.ephemeral-storage","divisor":"2"}`,
			`$.resourceFieldRef.divisor: Invalid value: "limits.ephemeral-storage": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the local ephemeral storage resource`},
		{`"resourceFieldRef":{"resource":"limits.hugepages-2Mi","divisor":"2"}`,
			`$.resourceFieldRef.divisor: Invalid value: "limits.hugepages-2Mi": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the hugepages resource`},

		{`"configMapKeyRef":{"name":"m","key":"k"}`, ``},
		{`"configMapKeyRef":{"name":"M","key":"a/b"}`, `
$.configMapKeyRef.name: Invalid value: "M": ` + checktest.Subdomain + `
$.configMapKeyRef.key: Invalid value: "a/b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`},
		{`"secretKeyRef":{"name":"s","key":"k"}`, ``},
		{`"secretKeyRef":{"name":"S","key":""}`, `
$.secretKeyRef.name: Invalid value: "S": ` + checktest.Subdomain + `
$.secretKeyRef.key: Required value`},

		{`"fileKeyRef":{"volumeName":"e","path":"a","key":"K"}`, ``},
		{`"fileKeyRef":{"volumeName":"e","path":"/..a","key":"K"}`, ``},
		{`"fileKeyRef":{"volumeName":"","path":"","key":""}`, `
$.fileKeyRef.key: Required value
$.fileKeyRef.volumeName: Required value
$.fileKeyRef.path: Required value
$.fileKeyRef.volumeName: Not found: ""`},
		{`"fileKeyRef":{"volumeName":"E","path":"a/..","key":"="}`, `
$.fileKeyRef.key: Invalid value: "=": ` + variable + `
$.fileKeyRef.volumeName: Invalid value: "E": ` + checktest.Label + `
$.fileKeyRef.path: Invalid value: "a/..": must not contain '..'
$.fileKeyRef.volumeName: Not found: "E"`},
		{`"fileKeyRef":{"volumeName":"m","path":"a","key":"K"}`, `$.fileKeyRef.volumeName: Invalid value: "m": referenced volume must be of type emptyDir`},

		{`"resourceFieldRef":{"resource":"limits.cpu"},"secretKeyRef":{"name":"s","key":"k"}`, `$: Invalid value: "": may not have more than one field specified at a time`},
		{`"fieldRef":{"fieldPath":"metadata.name"},"fileKeyRef":{"volumeName":"e","path":"a","key":"K"}`, `$: Invalid value: "": may not have more than one field specified at a time`},
		{`"fieldRef":{"fieldPath":"metadata.name"},"configMapKeyRef":{"name":"m","key":"k"}`, `$: Invalid value: "": may not have more than one field specified at a time`},
	} {
		checkContainer(t, `"env":[{"name":"A","valueFrom":{`+tt.source+`}}]`, strings.ReplaceAll(tt.want, "$", "$.env[0].valueFrom"))
	}
}

// TestManyVariables checks envFrom, which makes a variable of each key of a config map or secret.
func TestManyVariables(t *testing.T) {
	for _, tt := range []struct{ sources, want string }{
		{`{"prefix":"A","configMapRef":{"name":"m"}},{"secretRef":{"name":"s-"}}`, ``},
		{`{"prefix":"=","configMapRef":{"name":""}},{"secretRef":{"name":"S"}}`, `
$[0].prefix: Invalid value: "=": ` + variable + `
$[0].configMapRef.name: Required value
$[1].secretRef.name: Invalid value: "S": ` + checktest.Subdomain},
		{`{},{"configMapRef":{"name":"m"},"secretRef":{"name":"s"}}`, "\n$: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`\n" +
			`$: Invalid value: "": may not have more than one field specified at a time`},
	} {
		checkContainer(t, `"envFrom":[`+tt.sources+`]`, strings.ReplaceAll(tt.want, "$", "$.envFrom"))
	}
}
