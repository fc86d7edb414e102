package podspec

import (
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/field"
)

func TestPod(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"good", `{"containers":[{"name":"c","image":"i"}]}`, ``},
		{"empty", `{}`, `spec.containers: Required value`},
		{"many errors", `{"restartPolicy":"Sometimes","dnsPolicy":"X","containers":[
			{"name":"C_","image":"","imagePullPolicy":"Maybe","ports":[{"containerPort":0},{"containerPort":70000,"protocol":"FOO"}]},
			{"name":"C_","image":"i","volumeMounts":[{"mountPath":"/v","name":"v"}]}]}`, `
spec.containers[0].name: Invalid value: "C_": ` + checktest.Label + `
spec.containers[0].image: Required value
spec.containers[0].ports[0].containerPort: Required value
spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive
spec.containers[0].ports[1].protocol: Unsupported value: "FOO": supported values: "SCTP", "TCP", "UDP"
spec.containers[0].imagePullPolicy: Unsupported value: "Maybe": supported values: "Always", "IfNotPresent", "Never"
spec.containers[1].name: Invalid value: "C_": ` + checktest.Label + `
spec.containers[1].volumeMounts[0].name: Not found: "v"
spec.containers[1].name: Duplicate value: "C_"
spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"
spec.dnsPolicy: Unsupported value: "X": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"`},
		{"padded image", `{"containers":[{"name":"c","image":" i "}]}`,
			`spec.containers[0].image: Invalid value: " i ": must not have leading or trailing whitespace`},
		{"host network", `{"hostNetwork":true,"containers":[{"name":"c","image":"i","ports":[{"containerPort":80,"hostPort":81}]}]}`,
			"spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"},
		{"host port twice", `{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80,"hostPort":81},{"containerPort":82,"hostPort":81}]}]}`,
			`spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//81"`},
		{"env", `{"containers":[{"name":"c","image":"i","env":[{"name":"","value":"x"},{"name":"a=b"},
			{"name":"ok","value":"x","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},
			{"name":"f","valueFrom":{"fieldRef":{"fieldPath":"spec.bogus"}}},
			{"name":"g","valueFrom":{"secretKeyRef":{"name":"s"}}},{"name":"h","valueFrom":{}},
			{"name":"i","valueFrom":{"fieldRef":{"fieldPath":"status.phase"}}},
			{"name":"j","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"1k"}}}]}]}`, `
spec.containers[0].env[0].name: Required value
spec.containers[0].env[1].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than '='
spec.containers[0].env[2].valueFrom: Invalid value: "": may not be specified when ` + "`value`" + ` is not empty
spec.containers[0].env[3].valueFrom.fieldRef.fieldPath: Invalid value: "spec.bogus": error converting fieldPath: field label not supported: spec.bogus
spec.containers[0].env[4].valueFrom.secretKeyRef.key: Required value
spec.containers[0].env[5].valueFrom: Invalid value: "": must specify one of: ` + "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`" + `
spec.containers[0].env[6].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"
spec.containers[0].env[7].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource`},
		{"volumes", `{"volumes":[{"name":"v","emptyDir":{},"hostPath":{"path":"/x"}},{"name":"v","emptyDir":{}},{"name":"V_"}],
			"containers":[{"name":"a","image":"i","volumeMounts":[{"name":"nope","mountPath":"/x"},{"name":"v","mountPath":""},
			{"name":"v","mountPath":"/y","subPath":"../z"}]}]}`, `
spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type
spec.volumes[2].name: Invalid value: "V_": ` + checktest.Label + `
spec.containers[0].volumeMounts[0].name: Not found: "nope"
spec.containers[0].volumeMounts[1].mountPath: Required value
spec.containers[0].volumeMounts.subPath: Invalid value: "../z": must not contain '..'`},
		{"volume sources", `{"volumes":[{"name":"a","nfs":{"server":"","path":"x"}},{"name":"b","secret":{"items":[{"key":"k","path":"../p"}]}},
			{"name":"c","projected":{"sources":[{"secret":{"name":"s","items":[{"key":"k","path":"p"}]},"configMap":{"name":"m"}},
			{"configMap":{"name":"m","items":[{"key":"k","path":"p"}]}}]}},{"name":"d","iscsi":{"targetPortal":"p","iqn":"bad","lun":300}},
			{"name":"e","csi":{"driver":""}},{"name":"f","ephemeral":{}},{"name":"g","hostPath":{"path":"/a/../b","type":"Odd"}},
			{"name":"h","downwardAPI":{"items":[{"path":"p","fieldRef":{"fieldPath":"spec.nodeName"}},{"path":"q"}]}}],
			"containers":[{"name":"a","image":"i"}]}`, `
spec.volumes[0].nfs.server: Required value
spec.volumes[0].nfs.path: Invalid value: "x": must be an absolute path
spec.volumes[1].secret.secretName: Required value
spec.volumes[1].secret.items[0].path: Invalid value: "../p": must not contain '..'
spec.volumes[2].projected.sources[0]: Forbidden: may not specify more than 1 volume type per source
spec.volumes[2].projected: Invalid value: "m": conflicting duplicate paths
spec.volumes[3].iscsi.iqn: Invalid value: "bad": must be valid format starting with iqn, eui, or naa
spec.volumes[3].iscsi.lun: Invalid value: 300: must be between 0 and 255, inclusive
spec.volumes[4].csi.driver: Required value
spec.volumes[5].ephemeral.volumeClaimTemplate: Required value
spec.volumes[6].hostPath.path: Invalid value: "/a/../b": must not contain '..'
spec.volumes[6].hostPath.type: Unsupported value: "Odd": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"
spec.volumes[7].downwardAPI.fieldRef.fieldPath: Unsupported value: "spec.nodeName": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"
spec.volumes[7].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required`},
		{"resources", `{"containers":[{"name":"a","image":"i","resources":{"limits":{"cpu":1,"memory":"-1"},"requests":{"bogus":1,"cpu":2}}}]}`, `
spec.containers[0].resources.limits[memory]: Invalid value: "-1": must be greater than or equal to 0
spec.containers[0].resources.requests[bogus]: Invalid value: "bogus": must be a standard resource type or fully qualified
spec.containers[0].resources.requests[bogus]: Invalid value: "bogus": must be a standard resource for containers
spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1
spec.containers[0].resources.requests[memory]: Invalid value: "-1": must be greater than or equal to 0`},
		{"huge pages and devices", `{"containers":[{"name":"a","image":"i","resources":{"limits":{"hugepages-2Mi":"3Mi","example.com/gpu":"2"},"requests":{"example.com/gpu":"1"}}}]}`, `
spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi
spec.containers[0].resources.requests: Invalid value: "1": must be equal to example.com/gpu limit of 2
spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi
spec.containers[0].resources: Forbidden: HugePages require cpu or memory`},
		{"claims", `{"resourceClaims":[{"name":"a"},{"name":"a","resourceClaimName":"x"}],"containers":[{"name":"a","image":"i","resources":{"claims":[{"name":"b"}]}}]}`,
			"spec.resourceClaims[0]: Invalid value: {\"Name\":\"a\",\"ResourceClaimName\":null,\"ResourceClaimTemplateName\":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`\n" +
				`spec.resourceClaims[1].name: Duplicate value: "a"
spec.containers[0].resources.claims[0]: Not found: "b": must be one of the names in pod.spec.resourceClaims: a`},
		{"probes", `{"activeDeadlineSeconds":0,"containers":[{"name":"a","image":"i",
			"livenessProbe":{"httpGet":{"port":0},"tcpSocket":{"port":1},"periodSeconds":-2,"successThreshold":3},
			"readinessProbe":{"terminationGracePeriodSeconds":0},"lifecycle":{"preStop":{"sleep":{"seconds":31}},"postStart":{"exec":{}}}}]}`, `
spec.containers[0].lifecycle.postStart.exec.command: Required value
spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)
spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive
spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type
spec.containers[0].livenessProbe.periodSeconds: Invalid value: -2: must be greater than or equal to 0
spec.containers[0].livenessProbe.successThreshold: Invalid value: 3: must be 1
spec.containers[0].readinessProbe: Required value: must specify a handler type
spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0
spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 0: must not be set for readinessProbes
spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive`},
		{"init containers", `{"initContainers":[{"name":"c","image":"i","livenessProbe":{"exec":{"command":["x"]}}},
			{"name":"s","image":"i","restartPolicy":"Always","livenessProbe":{"exec":{"command":["x"]}}},
			{"name":"t","image":"i","restartPolicy":"Odd"}],"containers":[{"name":"c","image":"i"}]}`, `
spec.initContainers[0].name: Duplicate value: "c"
spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always
spec.initContainers[2].restartPolicy: Unsupported value: "Odd": supported values: "Always", "Never", "OnFailure"`},
		{"ephemeral containers", `{"containers":[{"name":"c","image":"i"}],"ephemeralContainers":[{"name":"c","image":"i","ports":[{"containerPort":1}],"targetContainerName":"z"}]}`, `
spec.ephemeralContainers[0].name: Duplicate value: "c"
spec.ephemeralContainers[0].targetContainerName: Not found: "z"
spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container`},
		{"scheduling", `{"containers":[{"name":"c","image":"i"}],"nodeName":"n","schedulingGates":[{"name":"g"},{"name":"g"}],
			"nodeSelector":{"a":"b c"},"tolerations":[{"operator":"Exists","value":"x"},{"key":"","operator":"Equal"},{"key":"k","operator":"Gt"},
			{"key":"k","effect":"Foo"},{"key":"k","tolerationSeconds":1}],
			"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]},
			"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":0,"preference":{"matchExpressions":[{"key":"a","operator":"In"}],"matchFields":[{"key":"x","operator":"In","values":["y"]}]}}]},
			"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"","matchLabelKeys":["a"]}]}},
			"topologySpreadConstraints":[{"maxSkew":0,"topologyKey":"k","whenUnsatisfiable":"ScheduleAnyway","minDomains":1},{"maxSkew":1,"topologyKey":"k","whenUnsatisfiable":"ScheduleAnyway"}]}`, `
spec.nodeSelector: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term
spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100
spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values: Required value: must be specified when ` + "`operator` is 'In' or 'NotIn'" + `
spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchFields[0].key: Invalid value: "x": not a valid field selector key
spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set
spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty
spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must be non-empty
spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
spec.schedulingGates[1]: Duplicate value: "g"
spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero
spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{k, ScheduleAnyway}"
spec.topologySpreadConstraints[0].minDomains: Invalid value: 1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway
spec.tolerations[0].operator: Invalid value: "x": value must be empty when ` + "`operator` is 'Exists'" + `
spec.tolerations[1].operator: Invalid value: "Equal": operator must be Exists when ` + "`key` is empty, which means \"match all values and all keys\"" + `
spec.tolerations[2].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"
spec.tolerations[3].effect: Unsupported value: "Foo": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"
spec.tolerations[4].effect: Invalid value: "": effect must be 'NoExecute' when ` + "`tolerationSeconds`" + ` is set`},
		{"security", `{"hostUsers":false,"hostPID":true,"securityContext":{"fsGroup":-1,"sysctls":[{"name":"net.x","value":"1"},{"name":"net.x","value":"1"},{"name":"A","value":""}],"seccompProfile":{"type":"Localhost"}},
			"hostNetwork":true,"containers":[{"name":"c","image":"i","securityContext":{"privileged":true,"runAsUser":-5,"procMount":"Odd","appArmorProfile":{"type":"RuntimeDefault","localhostProfile":"x"},
			"allowPrivilegeEscalation":false,"windowsOptions":{"runAsUserName":"a\\b\\c"}}}]}`, `
spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy
spec.containers[0].securityContext.runAsUser: Invalid value: -5: must be between 0 and 2147483647, inclusive
spec.containers[0].securityContext.procMount: Unsupported value: "Odd": supported values: "Default", "Unmasked"
spec.containers[0].securityContext: Invalid value: {"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":{"GMSACredentialSpecName":null,"GMSACredentialSpec":null,"RunAsUserName":"a\\b\\c","HostProcess":null},"RunAsUser":-5,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":"Odd","SeccompProfile":null,"AppArmorProfile":{"Type":"RuntimeDefault","LocalhostProfile":"x"}}: cannot set ` + "`allowPrivilegeEscalation` to false and `privileged` to true" + `
spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: "a\\b\\c": runAsUserName cannot contain more than one backslash
spec.containers[0].securityContext.appArmorProfile.localhostProfile: Invalid value: "x": can only be set when AppArmor type is Localhost
spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive
spec.securityContext.sysctls[0].name: Invalid value: "net.x": may not be specified when 'hostNetwork' is true
spec.securityContext.sysctls[1].name: Duplicate value: "net.x"
spec.securityContext.sysctls[1].name: Invalid value: "net.x": may not be specified when 'hostNetwork' is true
spec.securityContext.sysctls[2].name: Invalid value: "A": must have at most 253 characters and match regex ` + sysctlPattern + `
spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost
spec.hostNetwork: Forbidden: when ` + "`hostUsers`" + ` is false
spec.HostPID: Forbidden: when ` + "`hostUsers`" + ` is false`},
		{"windows", `{"os":{"name":"windows"},"hostIPC":true,"securityContext":{"runAsUser":1},"containers":[{"name":"c","image":"i","securityContext":{"readOnlyRootFilesystem":true}}]}`, `
spec.hostIPC: Forbidden: cannot be set for a windows pod
spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod
spec.containers[0].securityContext.readOnlyRootFilesystem: Forbidden: cannot be set for a windows pod`},
		{"dns", `{"dnsPolicy":"None","containers":[{"name":"c","image":"i"}]}`,
			"spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"},
		{"token without account", `{"volumes":[{"name":"t","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}],"containers":[{"name":"c","image":"i"}]}`,
			`spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set`},
		{"projected", `{"serviceAccountName":"a","volumes":[{"name":"v","projected":{"defaultMode":512,"sources":[
			{"secret":{"items":[{"key":"k","path":"../x"}]},"configMap":{"name":"m","items":[{"key":"","path":"a"},{"key":"k","path":"a"}]}},
			{"downwardAPI":{"items":[{"path":"a","fieldRef":{"fieldPath":"metadata.name"}},{"path":"/b"}]}},
			{"serviceAccountToken":{"path":"","expirationSeconds":5}},{"serviceAccountToken":{"path":"..t"}},{"serviceAccountToken":{"path":"a"}}]}}],
			"containers":[{"name":"c","image":"i"}]}`, `
spec.volumes[0].projected.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive
spec.volumes[0].projected.sources[0].secret.name: Required value
spec.volumes[0].projected.sources[0].secret.items[0].path: Invalid value: "../x": must not contain '..'
spec.volumes[0].projected.sources[0].configMap.items[0].key: Required value
spec.volumes[0].projected: Invalid value: "m": conflicting duplicate paths
spec.volumes[0].projected.sources[0]: Forbidden: may not specify more than 1 volume type per source
spec.volumes[0].projected: Invalid value: "a": conflicting duplicate paths
spec.volumes[0].projected.sources[1].downwardAPI.path: Invalid value: "/b": must be a relative path
spec.volumes[0].projected.sources[1].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required
spec.volumes[0].projected.sources[2].serviceAccountToken.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes
spec.volumes[0].projected.path: Required value
spec.volumes[0].projected.path: Invalid value: "..t": must not start with '..'`},
		{"token lifetimes", `{"serviceAccountName":"a","volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"a","expirationSeconds":600}},
			{"serviceAccountToken":{"path":"b","expirationSeconds":4294967296}},{"serviceAccountToken":{"path":"c","expirationSeconds":599}},
			{"serviceAccountToken":{"path":"d","expirationSeconds":4294967297}}]}}],"containers":[{"name":"c","image":"i"}]}`, `
spec.volumes[0].projected.sources[2].serviceAccountToken.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes
spec.volumes[0].projected.sources[3].serviceAccountToken.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds`},
		{"names", `{"hostname":"A","subdomain":"b.c","priorityClassName":"P","preemptionPolicy":"Odd","hostAliases":[{"ip":"x","hostnames":["H"]}],"containers":[{"name":"c","image":"i"}]}`, `
spec.hostname: Invalid value: "A": ` + checktest.Label + `
spec.subdomain: Invalid value: "b.c": must not contain dots
spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)
spec.hostAliases[0].hostnames[0]: Invalid value: "H": ` + checktest.Subdomain + `
spec.priorityClassName: Invalid value: "P": ` + checktest.Subdomain + `
spec.preemptionPolicy: Unsupported value: "Odd": supported values: "PreemptLowerPriority", "Never"`},
		{"pod resources", `{"resources":{"limits":{"cpu":"1","storage":"1"},"requests":{"cpu":"500m"}},"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"1"}}}]}`, `
spec.resources.limits[storage]: Unsupported value: "storage": supported values: "cpu", "hugepages-", "memory"
spec.resources.requests[cpu]: Invalid value: "500m": must be greater than or equal to aggregate container requests of 1
spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checktest.Want(t, Rules{}.Pod(decode(t, `{"spec":`+tt.spec+`}`)), tt.want)
		})
	}
}

// TestProfiles checks the annotations for seccomp and AppArmor, alone and against the fields that
// replaced them.
func TestProfiles(t *testing.T) {
	const seccomp, perContainer, appArmor = "seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.security.alpha.kubernetes.io/c",
		"container.apparmor.security.beta.kubernetes.io/"
	for _, tt := range []struct{ name, annotations, podContext, context, os, want string }{
		{"none", ``, `"seccompProfile":{"type":"Unconfined"}`, ``, "linux", ``},
		{"good", `"` + seccomp + `":"docker/default","` + perContainer + `":"localhost/a/b","` + appArmor + `c":"localhost/p"`,
			`"seccompProfile":{"type":"RuntimeDefault"},"appArmorProfile":{"type":"Unconfined"}`,
			`"seccompProfile":{"type":"Localhost","localhostProfile":"a/b"},"appArmorProfile":{"type":"Localhost","localhostProfile":"p"}`, "linux", ``},
		{"names", `"` + seccomp + `":"odd","` + perContainer + `":"localhost/../b","` + appArmor + `c":"odd","` + appArmor + `z":""`, ``, ``, "linux", `
metadata.annotations.` + seccomp + `: Invalid value: "odd": must be a valid seccomp profile
metadata.annotations.` + perContainer + `: Invalid value: "../b": must not contain '..'
metadata.annotations[` + appArmor + `c]: Invalid value: "odd": invalid AppArmor profile name: "odd"
metadata.annotations[` + appArmor + `z]: Invalid value: "z": container not found`},
		{"other types", `"` + seccomp + `":"unconfined","` + perContainer + `":"runtime/default","` + appArmor + `c":"unconfined"`,
			`"seccompProfile":{"type":"RuntimeDefault"},"appArmorProfile":{"type":"RuntimeDefault"}`,
			`"seccompProfile":{"type":"Localhost","localhostProfile":"a"}`, "linux", `
spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match
spec.containers[0].securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match
spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match`},
		{"unconfined", `"` + seccomp + `":"unconfined","` + perContainer + `":"localhost/a","` + appArmor + `c":"unconfined"`,
			`"seccompProfile":{"type":"Unconfined"}`, `"seccompProfile":{"type":"Unconfined"},"appArmorProfile":{"type":"Unconfined"}`, "linux",
			`spec.containers[0].securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match`},
		{"not unconfined", `"` + perContainer + `":"docker/default","` + appArmor + `c":"runtime/default"`, ``,
			`"seccompProfile":{"type":"Unconfined"},"appArmorProfile":{"type":"Unconfined"}`, "linux", `
spec.containers[0].securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match
spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match`},
		{"other files", `"` + perContainer + `":"localhost/b","` + appArmor + `c":"localhost/b"`, ``,
			`"seccompProfile":{"type":"Localhost","localhostProfile":"a"},"appArmorProfile":{"type":"Localhost","localhostProfile":"a"}`, "linux", `
spec.containers[0].securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and field must match
spec.containers[0].securityContext.appArmorProfile.localhostProfile: Forbidden: apparmor profile in annotation and field must match`},
		{"windows has no AppArmor", `"` + appArmor + `c":"unconfined"`, `"appArmorProfile":{"type":"RuntimeDefault"}`, ``, "windows", `
spec.securityContext.appArmorProfile: Forbidden: cannot be set for a windows pod`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := decode(t, `{"metadata":{"annotations":{`+tt.annotations+`}},"spec":{"os":{"name":"`+tt.os+`"},"securityContext":{`+tt.podContext+`},
				"containers":[{"name":"c","image":"i","securityContext":{`+tt.context+`}}]}}`)
			errs := append(Rules{}.Pod(pod), ProfileAnnotations(field.NewPath("spec"), pod.Annotations, &pod.Spec)...)
			checktest.Want(t, errs, tt.want)
		})
	}
}
