package podspec

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

func TestSpec(t *testing.T) {
	const ctr = `"containers":[{"name":"c","image":"i"}]`
	long := func(n int) string { return strings.Repeat("x", n) }
	searches := func(list ...string) string {
		text, _ := json.Marshal(list)
		return `"dnsConfig":{"searches":` + string(text) + `}`
	}
	for _, tt := range []struct{ more, want string }{
		{`"restartPolicy":"OnFailure","dnsPolicy":"Default","nodeName":"n","activeDeadlineSeconds":1,"hostname":"h","subdomain":"s","priorityClassName":"p",
			"runtimeClassName":"r","preemptionPolicy":"Never","serviceAccountName":"a"`, ``},
		{`"nodeName":"N","activeDeadlineSeconds":2147483648,"runtimeClassName":"","serviceAccountName":"A"`, `
$.serviceAccountName: Invalid value: "A": ` + checktest.Subdomain + `
$.nodeName: Invalid value: "N": ` + checktest.Subdomain + `
$.activeDeadlineSeconds: Invalid value: 2147483648: must be between 1 and 2147483647, inclusive
$.runtimeClassName: Invalid value: "": ` + checktest.Subdomain},
		{`"activeDeadlineSeconds":2147483647`, ``},
		{`"preemptionPolicy":""`, `$.preemptionPolicy: Required value`},

		{`"hostAliases":[{"ip":"1.2.3.4","hostnames":["a","b.c"]},{"ip":"::1"}]`, ``},
		{`"hostAliases":[{"ip":"::1"},{"ip":"a","hostnames":["a","B"]}]`, `
$.hostAliases[1].ip: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)
$.hostAliases[1].hostnames[1]: Invalid value: "B": ` + checktest.Subdomain},
		{`"readinessGates":[{"conditionType":"a/b"},{"conditionType":"a b"}]`, `$.readinessGates[1].conditionType: Invalid value: "a b": ` + qualified},
		{`"schedulingGates":[{"name":"a/b"},{"name":"a b"}]`, `$.schedulingGates[1]: Invalid value: "a b": ` + qualified},

		{`"hostnameOverride":"` + long(61) + `.io"`, ``},
		{`"hostnameOverride":"a","setHostnameAsFQDN":false`, ``},
		{`"hostnameOverride":"` + long(62) + `.io"`, `$.hostnameOverride: Too long: may not be more than 64 bytes`},
		{`"hostnameOverride":"A","hostNetwork":true,"setHostnameAsFQDN":true`, `
$.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true
$.hostnameOverride: Forbidden: may not be specified when hostNetwork is true
$.hostnameOverride: Invalid value: "A": ` + checktest.Subdomain},

		{`"dnsPolicy":"None","dnsConfig":{"nameservers":["1.2.3.4"],"options":[{"name":"n"}]}`, ``},
		{`"dnsPolicy":"None","dnsConfig":{"searches":["A"]}`, "$.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None"},
		{`"dnsConfig":{"nameservers":["1.1.1.1","1.1.1.2","1.1.1.3"],"options":[{"name":"n"},{"name":"","value":"v"}]}`, `$.dnsConfig.options[1]: Required value: must not be empty`},
		{`"dnsConfig":{"nameservers":["1.1.1.1","1.1.1.2","1.1.1.3","a"]}`, `
$.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","a"]: must not have more than 3 nameservers
$.dnsConfig.nameservers[3]: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`},
		{searches(".", "a_b.c."), ``},
		{searches("a", "B."), `$.dnsConfig.searches[1]: Invalid value: "B": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', ` +
			`and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')`},
		{searches(slices.Repeat([]string{long(63)}, 32)...), ``}, // 32*63+31 are 2047 characters
		{searches(append(slices.Repeat([]string{long(63)}, 31), long(63)+".")...), ``},
		{searches(append(slices.Repeat([]string{long(63)}, 31), long(63)+".a")...), `$.dnsConfig.searches: Invalid value: [` + strings.Repeat(`"`+long(63)+`",`, 31) +
			`"` + long(63) + `.a"]: must not have more than 2048 characters (including spaces) in the search list`},
		{searches(slices.Repeat([]string{"a"}, 33)...), `$.dnsConfig.searches: Invalid value: [` + strings.Repeat(`"a",`, 32) + `"a"]: must not have more than 32 search paths`},

		{`"resourceClaims":[{"name":"a","resourceClaimName":"x"},{"name":"b","resourceClaimTemplateName":"x"}]`, ``},
		{`"resourceClaims":[{"name":"","resourceClaimName":"X"},{"name":"A","resourceClaimTemplateName":"X"},{"name":"b","resourceClaimName":"x","resourceClaimTemplateName":"x"}]`, `
$.resourceClaims[0].name: Required value
$.resourceClaims[0].resourceClaimName: Invalid value: "X": ` + checktest.Subdomain + `
$.resourceClaims[1].name: Invalid value: "A": ` + checktest.Label + `
$.resourceClaims[1].resourceClaimTemplateName: Invalid value: "X": ` + checktest.Subdomain + `
$.resourceClaims[2]: Invalid value: {"Name":"b","ResourceClaimName":"x","ResourceClaimTemplateName":"x"}: at most one of ` +
			"`resourceClaimName` or `resourceClaimTemplateName` may be specified"},

		{`"os":{"name":"linux"},"securityContext":{"runAsUser":1}`, ``},
		{`"os":{"name":""}`, `$.os.name: Required value`},
		{`"os":{"name":"plan9"}`, `$.os: Unsupported value: "plan9": supported values: "linux", "windows"`},
		{`"os":{"name":"linux"},"securityContext":{"windowsOptions":{}},"initContainers":[{"name":"i","image":"i","securityContext":{"windowsOptions":{}}}]`, `
$.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod
$.initContainers[0].securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod`},
		{`"os":{"name":"windows"}`, ``},
		{`"hostUsers":false,"hostIPC":true`, "$.HostIPC: Forbidden: when `hostUsers` is false"},
		{`"hostUsers":true,"hostIPC":true`, ``},
		{`"hostNetwork":true,"initContainers":[{"name":"i","image":"i","ports":[{"containerPort":1,"hostPort":1}]}]`, ``},
	} {
		checkSpec(t, tt.more+`,`+ctr, tt.want)
	}
	checkSpec(t, `"hostUsers":false,"volumes":[{"name":"p","persistentVolumeClaim":{"claimName":"c"}}],
		"containers":[{"name":"c","image":"i","volumeDevices":[{"name":"p","devicePath":"/a"}]}]`, "$.containers[0].volumeDevices: Forbidden: when `hostUsers` is false")
}

// TestWindows checks that a pod for Windows must not set fields that only Linux has, and the
// reverse.
func TestWindows(t *testing.T) {
	const message = ": Forbidden: cannot be set for a windows pod"
	pod := decode(t, `{"spec":{"os":{"name":"windows"},"hostUsers":true,"hostPID":true,"hostIPC":true,"shareProcessNamespace":false,
		"securityContext":{"appArmorProfile":{"type":"Unconfined"},"seLinuxOptions":{},"seccompProfile":{"type":"Unconfined"},"fsGroup":1,"fsGroupChangePolicy":"Always",
			"seLinuxChangePolicy":"Recursive","sysctls":[{"name":"a"}],"runAsUser":1,"runAsGroup":1,"supplementalGroups":[],"supplementalGroupsPolicy":"Merge"},
		"containers":[{"name":"c","image":"i","securityContext":{"appArmorProfile":{"type":"Unconfined"},"seLinuxOptions":{},"seccompProfile":{"type":"Unconfined"},
			"capabilities":{},"readOnlyRootFilesystem":false,"privileged":false,"allowPrivilegeEscalation":true,"procMount":"Default","runAsUser":1,"runAsGroup":1}}]}}`)
	var want strings.Builder
	for _, name := range []string{"securityContext.appArmorProfile", "securityContext.seLinuxOptions", "hostUsers", "hostPID", "hostIPC",
		"securityContext.seccompProfile", "securityContext.fsGroup", "securityContext.fsGroupChangePolicy", "securityContext.sysctls",
		"shareProcessNamespace", "securityContext.runAsUser", "securityContext.runAsGroup", "securityContext.supplementalGroups",
		"securityContext.supplementalGroupsPolicy", "securityContext.seLinuxChangePolicy"} {
		want.WriteString("spec." + name + message + "\n")
	}
	for _, name := range []string{"appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
		"allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"} {
		want.WriteString("spec.containers[0].securityContext." + name + message + "\n")
	}
	checktest.Want(t, Rules{}.Pod(pod), want.String())
}

// TestOtherPods checks the rules for the mirrors of static pods and for templates.
func TestOtherPods(t *testing.T) {
	const spec = `"nodeName":"n","resourceClaims":[{"name":"A"}],"containers":[{"name":"c","image":"i"}]`
	checktest.Want(t, Rules{}.Pod(decode(t, `{"metadata":{"annotations":{"kubernetes.io/config.mirror":"m"}},"spec":{`+spec+`}}`)),
		`[]: Forbidden: static pods do not support resource claims`)

	for _, tt := range []struct{ cost, want string }{
		{"0", ``}, {"-1", ``}, {"2147483647", ``},
		{"+1", `"+1": must be a 32bit integer`}, {"01", `"01": must be a 32bit integer`}, {"2147483648", `"2147483648": must be a 32bit integer`},
	} {
		if tt.want != "" {
			tt.want = "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: " + tt.want
		}
		checktest.Want(t, Rules{}.Pod(decode(t, `{"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"`+tt.cost+`"}},
			"spec":{"containers":[{"name":"c","image":"i"}]}}`)), tt.want)
	}

	template := decode(t, `{"spec":{"hostNetwork":true,"containers":[{"name":"c","image":" i","ports":[{"containerPort":1,"hostPort":2},{"containerPort":1}]}]}}`)
	template.Spec.Containers[0].Ports[1].HostPort = 0 // a default sets it
	checktest.Want(t, Rules{}.Template(nil, &corev1.PodTemplateSpec{Spec: template.Spec}),
		"spec.containers[0].ports[0].hostPort: Invalid value: 2: must match `containerPort` when `hostNetwork` is true")
}

// TestDropDisabled checks that fields of features that are not served are cleared, unless the old
// pod has them.
func TestDropDisabled(t *testing.T) {
	const text = `{"schedulingGroup":{"podGroupName":"g"},"volumes":[{"name":"e","emptyDir":{}},{"name":"v","projected":{"sources":[
		{"clusterTrustBundle":{"path":"p"},"podCertificate":{"signerName":"s","keyType":"k"}}]}}],"containers":[{"name":"a","lifecycle":{"stopSignal":"SIGTERM"}},
		{"name":"b","lifecycle":{"preStop":{"sleep":{"seconds":1}},"stopSignal":"SIGTERM"}},{"name":"c","lifecycle":{"postStart":{"sleep":{"seconds":1}},"stopSignal":"SIGTERM"}},{"name":"d","lifecycle":{}}]}`
	const without, kept = `"volumes":[{"name":"e","emptyDir":{}},{"name":"v","projected":{"sources":[{}]}}],`,
		`{"schedulingGroup":{"podGroupName":"g"},"volumes":[{"name":"e","emptyDir":{}},{"name":"v","projected":{"sources":[` +
			`{"clusterTrustBundle":{"path":"p"},"podCertificate":{"signerName":"s","keyType":"k"}}]}}],"containers":[{"name":"a","lifecycle":{"stopSignal":"SIGTERM"}},` +
			`{"name":"b","lifecycle":{"preStop":{"sleep":{"seconds":1}},"stopSignal":"SIGTERM"}},{"name":"c","lifecycle":{"postStart":{"sleep":{"seconds":1}},"stopSignal":"SIGTERM"}},{"name":"d","lifecycle":{}}]}`
	const dropped = `{` + without + `"containers":[{"name":"a"},{"name":"b","lifecycle":{"preStop":{"sleep":{"seconds":1}}}},` +
		`{"name":"c","lifecycle":{"postStart":{"sleep":{"seconds":1}}}},{"name":"d","lifecycle":{}}]}`
	parse := func(text string) *corev1.PodSpec {
		spec := new(corev1.PodSpec)
		if err := json.Unmarshal([]byte(text), spec); err != nil {
			t.Fatal(err)
		}
		return spec
	}
	for _, tt := range []struct {
		name string
		old  *corev1.PodSpec
		want string
	}{
		{"new", nil, dropped},
		{"without", parse(`{"containers":[{"name":"a"},{"name":"b","lifecycle":{}}]}`), dropped},
		{"with", parse(text), kept},
	} {
		spec := parse(text)
		DropDisabled(spec, tt.old)
		if got, err := json.Marshal(spec); err != nil || string(got) != string(normal(t, parse(tt.want))) {
			t.Errorf("%s: got %s, %v\nwant %s", tt.name, got, err, tt.want)
		}
	}
}

func normal(t *testing.T, spec *corev1.PodSpec) []byte {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
