package podspec

import "testing"

func TestMounts(t *testing.T) {
	for _, tt := range []struct{ more, want string }{
		{`"volumeMounts":[{"name":"e","mountPath":"/a","subPath":"b/c"},{"name":"e","mountPath":"/b","subPathExpr":"$(X)"}]`, ``},
		{`"volumeMounts":[{"name":"","mountPath":"/a"},{"name":"e","mountPath":"/a"}]`, `
$.volumeMounts[0].name: Required value
$.volumeMounts[0].name: Not found: ""
$.volumeMounts[1].mountPath: Invalid value: "/a": must be unique`},
		{`"volumeMounts":[{"name":"e","mountPath":"/a","subPath":"/b"},{"name":"e","mountPath":"/b","subPathExpr":"../c"},
			{"name":"e","mountPath":"/c","subPath":"b","subPathExpr":"c"}]`, `
$.volumeMounts.subPath: Invalid value: "/b": must be a relative path
$.volumeMounts.subPathExpr: Invalid value: "../c": must not contain '..'
$.volumeMounts[2].subPathExpr: Invalid value: "c": subPathExpr and subPath are mutually exclusive`},

		{`"volumeMounts":[{"name":"e","mountPath":"/a","mountPropagation":"HostToContainer"}]`, ``},
		{`"volumeMounts":[{"name":"e","mountPath":"/a","mountPropagation":"Odd"}]`,
			`$.volumeMounts.mountPropagation: Unsupported value: "Odd": supported values: "Bidirectional", "HostToContainer", "None"`},
		{`"securityContext":{"privileged":true},"volumeMounts":[{"name":"e","mountPath":"/a","mountPropagation":"Bidirectional"}]`, ``},
		{`"securityContext":{"privileged":false},"volumeMounts":[{"name":"e","mountPath":"/a","mountPropagation":"Bidirectional"}]`,
			`$.volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`},
		{`"securityContext":{},"volumeMounts":[{"name":"e","mountPath":"/a","mountPropagation":"Bidirectional"}]`,
			`$.volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`},
		{`"volumeMounts":[{"name":"e","mountPath":"/a","mountPropagation":"Bidirectional"}]`,
			`$.volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`},

		{`"volumeMounts":[{"name":"e","mountPath":"/a","recursiveReadOnly":"Disabled"},{"name":"e","mountPath":"/b","readOnly":true,"recursiveReadOnly":"Enabled"},
			{"name":"e","mountPath":"/c","readOnly":true,"recursiveReadOnly":"IfPossible","mountPropagation":"None"}]`, ``},
		{`"volumeMounts":[{"name":"e","mountPath":"/a","recursiveReadOnly":"IfPossible","mountPropagation":"HostToContainer"},{"name":"e","mountPath":"/b","recursiveReadOnly":"Odd"}]`, `
$.volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true
$.volumeMounts.recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified
$.volumeMounts.recursiveReadOnly: Unsupported value: "Odd": supported values: "Disabled", "Enabled", "IfPossible"`},

		{`"volumeDevices":[{"name":"p","devicePath":"/dev/a"}]`, ``},
		{`"volumeDevices":[{"name":"","devicePath":""},{"name":"p","devicePath":"/dev/../a"},{"name":"p","devicePath":"/dev/../a"},{"name":"x","devicePath":"/b"},
			{"name":"e","devicePath":"/b"}]`, `
$.volumeDevices[0].name: Required value
$.volumeDevices[0].name: Not found: ""
$.volumeDevices[0].devicePath: Required value
$.volumeDevices[1].devicePath: Invalid value: "/dev/../a": can not contain backsteps ('..')
$.volumeDevices[2].name: Invalid value: "p": must be unique
$.volumeDevices[2].devicePath: Invalid value: "/dev/../a": can not contain backsteps ('..')
$.volumeDevices[3].name: Not found: "x"
$.volumeDevices[4].name: Invalid value: "e": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode
$.volumeDevices[4].devicePath: Invalid value: "/b": must be unique`},
		{`"volumeMounts":[{"name":"p","mountPath":"/a"}],"volumeDevices":[{"name":"p","devicePath":"/a"}]`, `
$.volumeMounts[0].name: Invalid value: "p": must not already exist in volumeDevices
$.volumeMounts[0].mountPath: Invalid value: "/a": must not already exist as a path in volumeDevices
$.volumeDevices[0].name: Invalid value: "p": must not already exist in volumeMounts
$.volumeDevices[0].devicePath: Invalid value: "/a": must not already exist as a path in volumeMounts`},
		{`"volumeMounts":[{"name":"e","mountPath":"/a"},{"name":"e","mountPath":"/b"}],"volumeDevices":[{"name":"p","devicePath":"/a"}]`, `
$.volumeMounts[0].mountPath: Invalid value: "/a": must not already exist as a path in volumeDevices`},
	} {
		checkContainer(t, tt.more, tt.want)
	}
	checkSpec(t, `"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}}],
		"containers":[{"name":"c","image":"i","volumeDevices":[{"name":"v","devicePath":"/a"}]}]`, ``)
}
