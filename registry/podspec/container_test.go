package podspec

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
)

func TestContainers(t *testing.T) {
	many := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	rule := func(n, codes int) string {
		return `"restartPolicy":"Never","restartPolicyRules":[` +
			many(n, `{"action":"Restart","exitCodes":{"operator":"In","values":[`+many(codes, "1")+`]}}`) + `]`
	}
	for _, tt := range []struct{ more, want string }{
		{`"terminationMessagePolicy":"FallbackToLogsOnError","imagePullPolicy":"Never"`, ``},
		{`"terminationMessagePolicy":"Odd"`, `$.terminationMessagePolicy: Unsupported value: "Odd": supported values: "File", "FallbackToLogsOnError"`},

		{`"ports":[{"name":"a","containerPort":1,"hostPort":65535},{"name":"b","containerPort":65535,"protocol":"SCTP"}]`, ``},
		{`"ports":[{"name":"a","containerPort":1},{"name":"a","containerPort":2,"hostPort":65536},{"name":"A","containerPort":65536}]`, `
$.ports[1].name: Duplicate value: "a"
$.ports[1].hostPort: Invalid value: 65536: must be between 1 and 65535, inclusive
$.ports[2].name: Invalid value: "A": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)
$.ports[2].name: Invalid value: "A": must contain at least one letter (a-z)
$.ports[2].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive`},
		{`"ports":[{"containerPort":1,"hostPort":5},{"containerPort":1,"hostPort":5,"protocol":"UDP"},{"containerPort":1,"hostPort":5,"hostIP":"1.2.3.4"}]`, ``},
		{`"ports":[{"containerPort":1,"hostPort":5,"hostIP":"1.2.3.4"},{"containerPort":1,"hostPort":5,"hostIP":"1.2.3.4"}]`,
			`$.ports[1].hostPort: Duplicate value: "TCP/1.2.3.4/5"`},

		{`"resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"},{"resourceName":"memory","restartPolicy":"RestartContainer"}]`, ``},
		{`"resizePolicy":[{"resourceName":"cpu","restartPolicy":"Odd"},{"resourceName":"cpu","restartPolicy":""},{"resourceName":"storage","restartPolicy":"NotRequired"},
			{"restartPolicy":"NotRequired"}]`, `
$.resizePolicy: Unsupported value: "Odd": supported values: "NotRequired", "RestartContainer"
$.resizePolicy[1]: Duplicate value: "cpu"
$.resizePolicy: Required value
$.resizePolicy: Unsupported value: "storage": supported values: "cpu", "memory"
$.resizePolicy: Required value`},

		{rule(20, 255), ``},
		{rule(21, 1), `$.restartPolicyRules: Too many: 21: must have at most 20 items`},
		{rule(1, 256), `$.restartPolicyRules[0].exitCodes.values: Too many: 256: must have at most 255 items`},
		{`"restartPolicyRules":[{"action":"RestartAllContainers","exitCodes":{"operator":"NotIn"}}]`,
			`$.restartPolicy: Required value: must specify restartPolicy when restart rules are used`},
		{`"restartPolicy":"OnFailure","restartPolicyRules":[{"action":"Odd"},{"action":"Restart","exitCodes":{"operator":"Odd"}}]`, `
$.restartPolicyRules[0].action: Unsupported value: "Odd": supported values: "Restart", "RestartAllContainers"
$.restartPolicyRules[0].exitCodes: Required value: must be specified
$.restartPolicyRules[1].exitCodes.operator: Unsupported value: "Odd": supported values: "In", "NotIn"`},
	} {
		checkContainer(t, tt.more, tt.want)
	}
	checkSpec(t, `"restartPolicy":"Never","containers":[{"name":"c","image":"i","resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"},
		{"resourceName":"memory","restartPolicy":"RestartContainer"}]}]`,
		"$.containers[0].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'")
}

// TestHandlers checks lifecycle hooks and probes.
func TestHandlers(t *testing.T) {
	for _, tt := range []struct{ more, want string }{
		{`"livenessProbe":{"exec":{"command":["x"]},"terminationGracePeriodSeconds":1}`, ``},
		{`"livenessProbe":{"exec":{},"terminationGracePeriodSeconds":0}`, `
$.livenessProbe.exec.command: Required value
$.livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0`},
		{`"startupProbe":{"httpGet":{"path":"/x","port":65535,"scheme":"HTTPS","httpHeaders":[{"name":"X-Y","value":"z"}]}}`, ``},
		{`"startupProbe":{"httpGet":{"path":"/x","port":"A","scheme":"Odd","httpHeaders":[{"name":"a b"}]},"successThreshold":2}`, `
$.startupProbe.httpGet.port: Invalid value: "A": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)
$.startupProbe.httpGet.port: Invalid value: "A": must contain at least one letter (a-z)
$.startupProbe.httpGet.scheme: Unsupported value: "Odd": supported values: "HTTP", "HTTPS"
$.startupProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')
$.startupProbe.successThreshold: Invalid value: 2: must be 1`},
		{`"readinessProbe":{"tcpSocket":{"port":"web"},"successThreshold":2}`, ``},
		{`"readinessProbe":{"tcpSocket":{"port":65536},"terminationGracePeriodSeconds":1}`, `
$.readinessProbe.tcpSocket.port: Invalid value: 65536: must be between 1 and 65535, inclusive
$.readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: must not be set for readinessProbes`},
		{`"readinessProbe":{"grpc":{"port":1}}`, ``},
		{`"readinessProbe":{"exec":{"command":["x"]},"grpc":{"port":0}}`, `$.readinessProbe.grpc: Forbidden: may not specify more than 1 handler type`},
		{`"readinessProbe":{"grpc":{"port":0},"initialDelaySeconds":-1,"timeoutSeconds":-1,"periodSeconds":-1,"successThreshold":-1,"failureThreshold":-1}`, `
$.readinessProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive
$.readinessProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0
$.readinessProbe.timeoutSeconds: Invalid value: -1: must be greater than or equal to 0
$.readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0
$.readinessProbe.successThreshold: Invalid value: -1: must be greater than or equal to 0
$.readinessProbe.failureThreshold: Invalid value: -1: must be greater than or equal to 0`},
		{`"lifecycle":{"postStart":{"sleep":{"seconds":0}},"preStop":{"sleep":{"seconds":30}}}`, ``},
		{`"lifecycle":{"postStart":{"sleep":{"seconds":-1}},"preStop":{"sleep":{"seconds":31}}}`, `
$.lifecycle.postStart.sleep: Invalid value: -1: must be non-negative and less than terminationGracePeriodSeconds (30)
$.lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)`},
		{`"lifecycle":{"preStop":{"httpGet":{"path":"/x","port":80},"tcpSocket":{"port":80},"sleep":{"seconds":1}}}`, `
$.lifecycle.preStop.tcpSocket: Forbidden: may not specify more than 1 handler type
$.lifecycle.preStop.sleep: Forbidden: may not specify more than 1 handler type`},
	} {
		checkContainer(t, tt.more, tt.want)
	}
}

// TestOtherContainers checks the rules that apply only to init and ephemeral containers.
func TestOtherContainers(t *testing.T) {
	for _, tt := range []struct{ more, want string }{
		{`"initContainers":[{"name":"a","image":"i","ports":[{"containerPort":1,"hostPort":1}]},{"name":"b","image":"i","ports":[{"containerPort":1,"hostPort":1}]}]`, ``},
		{`"initContainers":[{"name":"","image":"i","ports":[{"containerPort":1,"hostPort":1},{"containerPort":2,"hostPort":1}]},{"name":"","image":" i"}]`, `
$.initContainers[0].name: Required value
$.initContainers[0].ports[1].hostPort: Duplicate value: "TCP//1"
$.initContainers[1].name: Required value
$.initContainers[1].image: Invalid value: " i": must not have leading or trailing whitespace`},
		{`"initContainers":[{"name":"a","image":"i","lifecycle":{},"livenessProbe":{},"readinessProbe":{},"startupProbe":{}}]`, `
$.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always
$.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always
$.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always
$.initContainers[0].startupProbe: Forbidden: may not be set for init containers without restartPolicy=Always`},
		{`"initContainers":[{"name":"a","image":"i","restartPolicy":"Always","lifecycle":{"postStart":{"exec":{}}},
			"resizePolicy":[{"resourceName":"cpu","restartPolicy":"RestartContainer"}]},{"name":"b","image":"i",
			"resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"},{"resourceName":"memory","restartPolicy":"RestartContainer"}]}]`, `
$.initContainers[0].lifecycle.postStart.exec.command: Required value
$.initContainers[1].resizePolicy[1].restartPolicy: Invalid value: "RestartContainer": must not be set to 'RestartContainer' for non-sidecar initContainers`},

		{`"initContainers":[{"name":"a","image":"i"}],"ephemeralContainers":[{"name":"e","image":"i","targetContainerName":"a"},
			{"name":"f","image":"i","targetContainerName":"c","volumeMounts":[{"name":"v","mountPath":"/v"}]}],"volumes":[{"name":"v"}]`, ``},
		{`"ephemeralContainers":[{"name":"E","image":" "},{"name":"e","image":"i","targetContainerName":"e"},{"name":"e","image":"i"}]`, `
$.ephemeralContainers[0].name: Invalid value: "E": ` + checktest.Label + `
$.ephemeralContainers[0].image: Invalid value: " ": must not have leading or trailing whitespace
$.ephemeralContainers[1].targetContainerName: Not found: "e"
$.ephemeralContainers[2].name: Duplicate value: "e"`},
		{`"volumes":[{"name":"v"}],"ephemeralContainers":[{"name":"e","image":"i","resources":{"limits":{}},
			"resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"}],"restartPolicy":"Always",
			"restartPolicyRules":[{"action":"Restart","exitCodes":{"operator":"In"}}],"livenessProbe":{"exec":{"command":["x"]}},
			"readinessProbe":{"exec":{"command":["x"]}},"startupProbe":{"exec":{"command":["x"]}},"lifecycle":{},
			"volumeMounts":[{"name":"v","mountPath":"/a","subPath":"b"},{"name":"v","mountPath":"/b","subPathExpr":"b"}]}]`, `
$.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container
$.ephemeralContainers[0].resizePolicy: Forbidden: cannot be set for an Ephemeral Container
$.ephemeralContainers[0].restartPolicy: Forbidden: cannot be set for an Ephemeral Container
$.ephemeralContainers[0].restartPolicyRules: Forbidden: cannot be set for an Ephemeral Container
$.ephemeralContainers[0].livenessProbe: Forbidden: cannot be set for an Ephemeral Container
$.ephemeralContainers[0].readinessProbe: Forbidden: cannot be set for an Ephemeral Container
$.ephemeralContainers[0].startupProbe: Forbidden: cannot be set for an Ephemeral Container
$.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container
$.ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: cannot be set for an Ephemeral Container
$.ephemeralContainers[0].volumeMounts[1].subPathExpr: Forbidden: cannot be set for an Ephemeral Container`},
		{`"ephemeralContainers":[{"name":"e","image":"i","resources":{"requests":{}}},{"name":"f","image":"i","resources":{"claims":[]}}]`, `
$.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container
$.ephemeralContainers[1].resources: Forbidden: cannot be set for an Ephemeral Container`},
	} {
		checkSpec(t, tt.more+`,"containers":[{"name":"c","image":"i"}]`, tt.want)
	}
}
