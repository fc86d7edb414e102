package podspec

import (
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
)

// TestAfter checks that an update may keep each quirk of the old pod, and that a new pod may not
// have it.
func TestAfter(t *testing.T) {
	const ctr = `"containers":[{"name":"c","image":"i"}]`
	for _, tt := range []struct{ name, metadata, spec, want string }{
		{"pages", ``, `"overhead":{"hugepages-2Mi":"1Mi","memory":"1"},` + ctr,
			`spec.overhead.limits[hugepages-2Mi]: Invalid value: "1Mi": 1Mi is not positive integer multiple of hugepages-2Mi`},
		{"pages of a container", ``, `"containers":[{"name":"c","image":"i","resources":{"requests":{"memory":"1","hugepages-2Mi":"1Mi"},"limits":{"memory":"1","hugepages-2Mi":"1Mi"}}}]`,
			`spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "1Mi": 1Mi is not positive integer multiple of hugepages-2Mi
spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "1Mi": 1Mi is not positive integer multiple of hugepages-2Mi`},
		{"selector", ``, `"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"topologyKey":"k",
			"namespaceSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["a b"]}]}}}]}},` + ctr,
			`spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.namespaceSelector.matchExpressions[0].values[0]: Invalid value: "a b": ` + labelValue},
		{"node", ``, `"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In","values":["a b"]}]}]}}},` + ctr,
			`spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "a b": ` + labelValue},
		{"spread", ``, `"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"k","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchExpressions":[{"key":"a","operator":"Odd"}]}}],` + ctr,
			`spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].operator: Invalid value: "Odd": not a valid selector operator`},
		{"token", ``, `"serviceAccountName":"s","volumes":[{"name":"v","projected":{"defaultMode":1,"sources":[{"serviceAccountToken":{"path":"../t","expirationSeconds":600}}]}}],` + ctr,
			`spec.volumes[0].projected.path: Invalid value: "../t": must not contain '..'`},
		{"net", ``, `"hostNetwork":true,"securityContext":{"sysctls":[{"name":"net.a"}]},` + ctr,
			`spec.securityContext.sysctls[0].name: Invalid value: "net.a": may not be specified when 'hostNetwork' is true`},
		{"ipc", ``, `"hostIPC":true,"securityContext":{"sysctls":[{"name":"kernel.sem"}]},` + ctr,
			`spec.securityContext.sysctls[0].name: Invalid value: "kernel.sem": may not be specified when 'hostIPC' is true`},
		{"network of users", ``, `"hostNetwork":true,"hostUsers":false,` + ctr, "spec.hostNetwork: Forbidden: when `hostUsers` is false"},
		{"devices of users", ``, `"hostUsers":false,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"v"}}],
			"containers":[{"name":"c","image":"i","volumeDevices":[{"name":"v","devicePath":"/v"}]}]`, "spec.containers[0].volumeDevices: Forbidden: when `hostUsers` is false"},
		{"restarting setup", ``, `"initContainers":[{"name":"s","image":"i","resizePolicy":[{"resourceName":"cpu","restartPolicy":"RestartContainer"}]}],` + ctr,
			`spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": must not be set to 'RestartContainer' for non-sidecar initContainers`},
		{"taints", ``, `"tolerations":[{"key":"k","operator":"Gt","value":"5"}],` + ctr,
			`spec.tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"`},
		{"labels", ``, `"securityContext":{"seLinuxChangePolicy":"MountOption"},` + ctr,
			`spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"`},
		{"cost", `"annotations":{"controller.kubernetes.io/pod-deletion-cost":"01"}`, ctr,
			`metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "01": must be a 32bit integer`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := `{"metadata":{` + tt.metadata + `},"spec":{` + tt.spec + `}}`
			pod := decode(t, text)
			checktest.Want(t, Rules{}.Pod(pod), tt.want)
			checktest.Want(t, Rules{}.After(&pod.Spec, pod.Annotations).Pod(pod), "")
			plain := decode(t, `{"spec":{`+ctr+`}}`)
			checktest.Want(t, Rules{}.After(&plain.Spec, plain.Annotations).Pod(pod), tt.want)
		})
	}
}

// TestAfterMore checks the rules that apply to a quirk while it is kept: a kept toleration with Lt
// must still compare a number.
func TestAfterMore(t *testing.T) {
	const ctr = `"containers":[{"name":"c","image":"i"}]`
	old := decode(t, `{"spec":{"tolerations":[{"key":"k","operator":"Lt","value":"5"}],"securityContext":{"seLinuxChangePolicy":"Recursive"},`+
		`"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"k","whenUnsatisfiable":"DoNotSchedule","matchLabelKeys":["a"],"labelSelector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"Exists"}]}}],`+ctr+`}}`)
	rules := Rules{}.After(&old.Spec, nil)
	checktest.Want(t, rules.Pod(decode(t, `{"spec":{"tolerations":[{"key":"k","operator":"Lt"},{"key":"k","operator":"Gt","value":"007"},{"key":"k","operator":"Gt","value":"-9223372036854775809"}],
		"securityContext":{"seLinuxChangePolicy":"Odd"},"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"k","whenUnsatisfiable":"DoNotSchedule","matchLabelKeys":["a","-"]},
		{"maxSkew":1,"topologyKey":"l","whenUnsatisfiable":"DoNotSchedule","matchLabelKeys":["-","c"],"labelSelector":{"matchExpressions":[{"key":"c","operator":"Exists"}]}}],`+ctr+`}}`)),
		`spec.securityContext.seLinuxChangePolicy: Unsupported value: "Odd": supported values: "MountOption", "Recursive"
spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set
spec.topologySpreadConstraints[0].matchLabelKeys[1]: Invalid value: "-": `+qualified+`
spec.topologySpreadConstraints[1].matchLabelKeys[0]: Invalid value: "-": `+qualified+`
spec.topologySpreadConstraints[1].matchLabelKeys[1]: Invalid value: "c": exists in both matchLabelKeys and labelSelector
spec.tolerations[0].value: Invalid value: "": must be non-empty
spec.tolerations[0].value: Invalid value: "": strconv.ParseInt: parsing "": invalid syntax
spec.tolerations[1].value: Invalid value: "007": must be a valid decimal integer in canonical form
spec.tolerations[2].value: Invalid value: "-9223372036854775809": strconv.ParseInt: parsing "-9223372036854775809": value out of range`)
	if rules = (Rules{AllowPrivileged: true}); rules.AfterTemplate(nil) != rules {
		t.Error("a missing old template changes the rules")
	}
}

func TestAppArmorFields(t *testing.T) {
	pod := decode(t, `{"metadata":{"annotations":{"container.apparmor.security.beta.kubernetes.io/same":"runtime/default","container.apparmor.security.beta.kubernetes.io/other":"localhost/p",
		"container.apparmor.security.beta.kubernetes.io/odd":"localhost/ p","container.apparmor.security.beta.kubernetes.io/has":"unconfined"}},
		"spec":{"securityContext":{"appArmorProfile":{"type":"RuntimeDefault"}},"containers":[{"name":"same"},{"name":"other"},{"name":"odd"},{"name":"none"},
		{"name":"has","securityContext":{"appArmorProfile":{"type":"Unconfined"}}}]}}`)
	var got string
	AppArmorFields(pod, func(text string) { got += text + "\n" })
	const msg = `: deprecated since v1.30; use the "appArmorProfile" field instead` + "\n"
	want := "metadata.annotations[container.apparmor.security.beta.kubernetes.io/other]" + msg + "metadata.annotations[container.apparmor.security.beta.kubernetes.io/odd]" + msg
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for i, has := range []bool{false, true, false, false, true} {
		if sc := pod.Spec.Containers[i].SecurityContext; (sc != nil) != has {
			t.Errorf("container %d: got %v", i, sc)
		}
	}
	pod = decode(t, `{"metadata":{"annotations":{"container.apparmor.security.beta.kubernetes.io/c":"unconfined"}},"spec":{"os":{"name":"windows"},"containers":[{"name":"c"}]}}`)
	AppArmorFields(pod, func(text string) { t.Errorf("Windows has no AppArmor: %s", text) })
	if pod.Spec.Containers[0].SecurityContext != nil {
		t.Error("Windows has no AppArmor")
	}
}
