package podspec

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
)

// TestSecurityContexts checks the security contexts of pods and containers. In want, P is the path
// of the pod's context and C that of the container's.
func TestSecurityContexts(t *testing.T) {
	const userChars = "runAsUserName's User cannot contain the following characters: " + badUserChars
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, tt := range []struct{ pod, container, want string }{
		{``, `"runAsUser":0,"runAsGroup":2147483647`, ``},
		{``, `"runAsUser":2147483648,"runAsGroup":-1`, `
C.runAsUser: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive
C.runAsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive`},
		{``, `"procMount":"Default"`, ``},
		{``, `"procMount":"Unmasked"`, "C.procMount: Invalid value: \"Unmasked\": `hostUsers` must be false to use `Unmasked`"},
		{``, `"allowPrivilegeEscalation":true,"capabilities":{"add":["CAP_SYS_ADMIN"]}`, ``},
		{``, `"allowPrivilegeEscalation":false,"capabilities":{"add":["SYS_TIME"]}`, ``},
		{``, `"allowPrivilegeEscalation":false,"capabilities":{"add":["CAP_SYS_ADMIN"]}`, `C: Invalid value: {"Capabilities":{"Add":["CAP_SYS_ADMIN"],` +
			`"Drop":null},"Privileged":null,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,` +
			`"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: ` +
			"cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"},

		{`"runAsUser":-1,"runAsGroup":-1,"supplementalGroups":[0,-1],"fsGroupChangePolicy":"Odd","supplementalGroupsPolicy":"Odd","seLinuxChangePolicy":"Odd"`, ``, `
P.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive
P.runAsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive
P.supplementalGroups[1]: Invalid value: -1: must be between 0 and 2147483647, inclusive
P.fsGroupChangePolicy: Unsupported value: "Odd": supported values: "Always", "OnRootMismatch"
P.supplementalGroupsPolicy: Unsupported value: "Odd": supported values: "Merge", "Strict"
P.seLinuxChangePolicy: Unsupported value: "Odd": supported values: "Recursive"`},
		{`"fsGroupChangePolicy":"Always","supplementalGroupsPolicy":"Strict","seLinuxChangePolicy":"Recursive"`, ``, ``},

		{`"sysctls":[{"name":"net.ipv4.x"},{"name":"net/ipv4/x.y"},{"name":"kernel.sem"},{"name":"` + long(253) + `"}]`, ``, ``},
		{`"sysctls":[{"name":""},{"name":"a..b"},{"name":"` + long(254) + `"}]`, ``, `
P.sysctls[0].name: Required value
P.sysctls[1].name: Invalid value: "a..b": must have at most 253 characters and match regex ` + sysctlPattern + `
P.sysctls[2].name: Invalid value: "` + long(254) + `": must have at most 253 characters and match regex ` + sysctlPattern},

		{`"seccompProfile":{"type":"RuntimeDefault"}`, `"seccompProfile":{"type":"Localhost","localhostProfile":"a/b"}`, ``},
		{`"seccompProfile":{"type":"Odd"}`, `"seccompProfile":{"type":"Localhost","localhostProfile":"/../b"}`, `
C.seccompProfile.localhostProfile: Invalid value: "/../b": must be a relative path
C.seccompProfile.localhostProfile: Invalid value: "/../b": must not contain '..'
P.seccompProfile.type: Unsupported value: "Odd": supported values: "Localhost", "RuntimeDefault", "Unconfined"`},
		{`"seccompProfile":{"type":""}`, ``, `P.seccompProfile.type: Required value: type is required when seccompProfile is set`},

		{`"appArmorProfile":{"type":"Unconfined"}`, `"appArmorProfile":{"type":"Localhost","localhostProfile":"` + long(4095) + `"}`, ``},
		{`"appArmorProfile":{"type":"Odd"}`, `"appArmorProfile":{"type":"Localhost"}`, `
C.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost
P.appArmorProfile.type: Unsupported value: "Odd": supported values: "Localhost", "RuntimeDefault", "Unconfined"`},
		{`"appArmorProfile":{"type":""}`, `"appArmorProfile":{"type":"Localhost","localhostProfile":""}`, `
C.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost
P.appArmorProfile.type: Required value: type is required when appArmorProfile is set`},
		{`"appArmorProfile":{"type":"Unconfined","localhostProfile":"x"}`, `"appArmorProfile":{"type":"Localhost","localhostProfile":" x"}`, `
C.appArmorProfile.localhostProfile: Invalid value: " x": must not be padded with whitespace
P.appArmorProfile.localhostProfile: Invalid value: "x": can only be set when AppArmor type is Localhost`},
		{``, `"appArmorProfile":{"type":"Localhost","localhostProfile":"` + long(4096) + `"}`,
			`C.appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes`},

		{``, `"windowsOptions":{"gmsaCredentialSpecName":"n","gmsaCredentialSpec":"` + long(64<<10) + `","runAsUserName":"NT AUTHORITY\\Local"}`, ``},
		{``, `"windowsOptions":{"gmsaCredentialSpecName":"N_","gmsaCredentialSpec":"","runAsUserName":""}`, `
C.windowsOptions.gmsaCredentialSpecName: Invalid value: "N_": ` + checktest.Subdomain + `
C.windowsOptions.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string
C.windowsOptions.runAsUserName: Invalid value: "": runAsUserName cannot be an empty string`},
		{``, `"windowsOptions":{"runAsUserName":"a\tb"}`, `C.windowsOptions.runAsUserName: Invalid value: "a\tb": runAsUserName cannot contain control characters`},
		{``, `"windowsOptions":{"runAsUserName":"\u0000"}`, `C.windowsOptions.runAsUserName: Invalid value: "\u0000": runAsUserName cannot contain control characters`},
		{``, `"windowsOptions":{"runAsUserName":"?\\"}`, `
C.windowsOptions.runAsUserName: Invalid value: "?\\": runAsUserName's Domain doesn't match the NetBios nor the DNS format
C.windowsOptions.runAsUserName: Invalid value: "?\\": runAsUserName's User cannot be empty`},
		{``, `"windowsOptions":{"runAsUserName":". ."}`, `C.windowsOptions.runAsUserName: Invalid value: ". .": runAsUserName's User cannot contain only periods or spaces`},
		{``, `"windowsOptions":{"runAsUserName":"a|b"}`, `C.windowsOptions.runAsUserName: Invalid value: "a|b": ` + userChars},
		{``, `"windowsOptions":{"runAsUserName":"` + long(104) + `"}`, ``},
		{``, `"windowsOptions":{"runAsUserName":"` + long(105) + `"}`,
			`C.windowsOptions.runAsUserName: Invalid value: "` + long(105) + `": runAsUserName's User length must not be longer than 104 characters`},
		{``, `"windowsOptions":{"runAsUserName":"` + domain(255) + `\\u"}`, ``},
		{``, `"windowsOptions":{"runAsUserName":"` + domain(256) + `\\u"}`,
			`C.windowsOptions.runAsUserName: Invalid value: "` + domain(256) + `\\u": runAsUserName's Domain length must be under 256 characters`},
	} {
		pod := decode(t, `{"spec":{"securityContext":{`+tt.pod+`},"containers":[{"name":"c","image":"i","securityContext":{`+tt.container+`}}]}}`)
		want := strings.NewReplacer("P.", "spec.securityContext.", "C.", "spec.containers[0].securityContext.", "C:",
			"spec.containers[0].securityContext:").Replace(tt.want)
		checktest.Want(t, Rules{}.Pod(pod), want)
	}
}

// domain is a DNS domain of n bytes.
func domain(n int) string { return strings.Repeat("d.", n/2-1) + strings.Repeat("d", n-2*(n/2-1)) }

// TestSecurityOfPods checks settings that depend on each other or on the options in Rules.
func TestSecurityOfPods(t *testing.T) {
	const escape = `"containers":[{"name":"c","image":"i","securityContext":{"privileged":true}}]`
	for _, tt := range []struct{ name, spec, allowed, denied string }{
		{"privileged", escape, ``, `spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy`},
		{"unmasked", `"hostUsers":false,"containers":[{"name":"c","image":"i","securityContext":{"procMount":"Unmasked"}}]`, ``, ``},
		{"shared processes", `"hostPID":true,"shareProcessNamespace":true,"containers":[{"name":"c","image":"i"}]`,
			`spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled`, `
spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled`},
		{"host sysctls", `"hostNetwork":true,"hostIPC":true,"securityContext":{"sysctls":[{"name":"net/a"},{"name":"kernel.shm_rmid_forced"},{"name":"kernel.sem"},
			{"name":"fs/mqueue/x"},{"name":"vm.x"},{"name":"kernel.semi"},{"name":"network.x"}]},"containers":[{"name":"c","image":"i"}]`, `
spec.securityContext.sysctls[0].name: Invalid value: "net/a": may not be specified when 'hostNetwork' is true
spec.securityContext.sysctls[1].name: Invalid value: "kernel.shm_rmid_forced": may not be specified when 'hostIPC' is true
spec.securityContext.sysctls[2].name: Invalid value: "kernel.sem": may not be specified when 'hostIPC' is true
spec.securityContext.sysctls[3].name: Invalid value: "fs/mqueue/x": may not be specified when 'hostIPC' is true`, `
spec.securityContext.sysctls[0].name: Invalid value: "net/a": may not be specified when 'hostNetwork' is true
spec.securityContext.sysctls[1].name: Invalid value: "kernel.shm_rmid_forced": may not be specified when 'hostIPC' is true
spec.securityContext.sysctls[2].name: Invalid value: "kernel.sem": may not be specified when 'hostIPC' is true
spec.securityContext.sysctls[3].name: Invalid value: "fs/mqueue/x": may not be specified when 'hostIPC' is true`},
		{"host process", `"hostNetwork":true,"securityContext":{"windowsOptions":{"hostProcess":true}},"containers":[{"name":"c","image":"i"}]`,
			``, `spec: Forbidden: hostProcess containers are disallowed by cluster policy`},
		{"mixed host processes", `"securityContext":{"windowsOptions":{"hostProcess":true}},"containers":[{"name":"c","image":"i"},
			{"name":"d","image":"i","securityContext":{"windowsOptions":{"hostProcess":false}}}]`, `
spec.containers[1].securityContext.windowsOptions.hostProcess: Invalid value: false: pod hostProcess value must be identical if both are specified, was true
spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers
spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers`, `
spec.containers[1].securityContext.windowsOptions.hostProcess: Invalid value: false: pod hostProcess value must be identical if both are specified, was true
spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers
spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers
spec: Forbidden: hostProcess containers are disallowed by cluster policy`},
		{"host processes of one's own", `"hostNetwork":true,"containers":[{"name":"c","image":"i","securityContext":{"windowsOptions":{"hostProcess":true}}},
			{"name":"d","image":"i"}]`, `
spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers`, `
spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers
spec: Forbidden: hostProcess containers are disallowed by cluster policy`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := decode(t, `{"spec":{`+tt.spec+`}}`)
			checktest.Want(t, Rules{AllowPrivileged: true}.Pod(pod), tt.allowed)
			checktest.Want(t, Rules{}.Pod(pod), tt.denied)
		})
	}
}
