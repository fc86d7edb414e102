package podspec

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
)

// TestVolumeSources checks each volume type: a valid volume, then its flaws. In want, $ is the path
// of the source.
func TestVolumeSources(t *testing.T) {
	for _, tt := range []struct{ source, want string }{
		{``, ``}, // an emptyDir, by default

		{`"emptyDir":{"sizeLimit":"0"}`, ``},
		{`"emptyDir":{"sizeLimit":"-1"}`, `$.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity`},

		{`"hostPath":{"path":"/x","type":"File"}`, ``},
		{`"hostPath":{"path":""}`, `$.path: Required value`},

		{`"secret":{"secretName":"s","defaultMode":0,"items":[{"key":"k","path":"p","mode":511}]}`, ``},
		{`"secret":{"secretName":"s","defaultMode":512,"items":[{"key":"","path":"","mode":-1}]}`, `
$.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive
$.items[0].key: Required value
$.items[0].path: Required value
$.items[0].mode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive`},
		{`"secret":{"secretName":"s","items":[{"key":"k","path":"/p"},{"key":"k","path":"a/../b"},{"key":"k","path":"..data"},{"key":"k","path":"a/..b"}]}`, `
$.items[0].path: Invalid value: "/p": must be a relative path
$.items[1].path: Invalid value: "a/../b": must not contain '..'
$.items[2].path: Invalid value: "..data": must not start with '..'`},

		{`"configMap":{"name":"m"}`, ``},
		{`"configMap":{"name":"","defaultMode":512,"items":[{"path":"p"}]}`, `
$.name: Required value
$.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive
$.items[0].key: Required value`},

		{`"nfs":{"server":"s","path":"/p"}`, ``},
		{`"nfs":{"server":"s","path":""}`, `
$.path: Required value
$.path: Invalid value: "": must be an absolute path`},

		{`"iscsi":{"targetPortal":"p","iqn":"iqn.2001-04.com.example:storage","lun":255,"initiatorName":"eui.0123456789abcdef"}`, ``},
		{`"iscsi":{"targetPortal":"p","iqn":"naa.0123456789abcdef0123456789abcdef","lun":0,"chapAuthSession":true,"secretRef":{"name":"s"}}`, ``},
		{`"iscsi":{"iqn":"","lun":-1,"chapAuthDiscovery":true,"initiatorName":"x"}`, `
$.targetPortal: Required value
$.iqn: Required value
$.lun: Invalid value: -1: must be between 0 and 255, inclusive
$.secretRef: Required value
$.initiatorname: Invalid value: "x": must be valid format starting with iqn, eui, or naa`},
		{`"iscsi":{"targetPortal":"p","iqn":"iqn.x","lun":0,"initiatorName":"iqn:iqn.2001-04.com.example:a"}`, `$.iqn: Invalid value: "iqn.x": must be valid format`},
		{`"iscsi":{"targetPortal":"` + strings.Repeat("p", 62) + `","iqn":"eui.0123456789abcdef","lun":0,"initiatorName":"eui.0123456789abcdef"}`, ``},
		{`"iscsi":{"targetPortal":"` + strings.Repeat("p", 63) + `","iqn":"eui.0123456789abcdef","lun":0,"initiatorName":"eui.0123456789abcdef"}`,
			`spec.volumes[0].name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.`},
		{`"nfs":{"server":"s","path":"/"},"iscsi":{"targetPortal":"` + strings.Repeat("p", 63) + `","initiatorName":"x"},"csi":{"driver":"d"}`, `
spec.volumes[0].iscsi: Forbidden: may not specify more than 1 volume type
spec.volumes[0].name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.
spec.volumes[0].csi: Forbidden: may not specify more than 1 volume type`},
		{`"iscsi":{"targetPortal":"p","iqn":"eui.0123456789abcdef","lun":256,"chapAuthSession":true}`, `
$.lun: Invalid value: 256: must be between 0 and 255, inclusive
$.secretRef: Required value`},

		{`"persistentVolumeClaim":{"claimName":"c"}`, ``},
		{`"persistentVolumeClaim":{"claimName":""}`, `$.claimName: Required value`},

		{`"downwardAPI":{"items":[{"path":"p","resourceFieldRef":{"containerName":"c","resource":"limits.cpu"}}]}`, ``},
		{`"downwardAPI":{"defaultMode":-1,"items":[{"path":"","fieldRef":{"fieldPath":"metadata.name"},"mode":512},
			{"path":"/p","fieldRef":{"fieldPath":"metadata.name"},"resourceFieldRef":{"containerName":"c","resource":"limits.cpu"}},
			{"path":"q","resourceFieldRef":{"resource":"limits.cpu"}}]}`, `
$.defaultMode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive
$.path: Required value
$.mode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive
$.path: Invalid value: "/p": must be a relative path
$: Invalid value: "resource": fieldRef and resourceFieldRef can not be specified simultaneously
$.resourceFieldRef.containerName: Required value`},

		{`"fc":{"targetWWNs":["a"],"lun":255}`, ``},
		{`"fc":{"wwids":["a"]}`, ``},
		{`"fc":{}`, `$.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both`},
		{`"fc":{"targetWWNs":["a"],"wwids":["b"]}`, `
$.targetWWNs: Invalid value: ["a"]: targetWWNs and wwids can not be specified simultaneously
$.lun: Required value: lun is required if targetWWNs is specified`},
		{`"fc":{"targetWWNs":["a"],"lun":256}`, `$.lun: Invalid value: 256: must be between 0 and 255, inclusive`},

		{`"csi":{"driver":"d.example.com","nodePublishSecretRef":{"name":"s"}}`, ``},
		{`"csi":{"driver":"` + strings.Repeat("d", 63) + `","nodePublishSecretRef":{"name":"S"}}`, `$.name: Invalid value: "S": ` + checktest.Subdomain},
		{`"csi":{"driver":"` + strings.Repeat("d", 64) + `","nodePublishSecretRef":{}}`, `
$.driver: Too long: may not be more than 63 bytes
$.nodePublishSecretRef.name: Required value`},
		{`"csi":{"driver":"D_"}`, `$.driver: Invalid value: "D_": ` + checktest.Subdomain},
		{`"csi":{"driver":"` + strings.Repeat("d", 63) + `_"}`, `
$.driver: Too long: may not be more than 63 bytes
$.driver: Invalid value: "` + strings.Repeat("d", 63) + `_": ` + checktest.Subdomain},

		{`"image":{"reference":"r","pullPolicy":"Never"}`, ``},
		{`"image":{"pullPolicy":"Odd"}`, `
$.reference: Required value
$.pullPolicy: Unsupported value: "Odd": supported values: "Always", "IfNotPresent", "Never"`},

		{`"gcePersistentDisk":{"pdName":"d","partition":255}`, ``},
		{`"gcePersistentDisk":{"pdName":"","partition":-1}`, `
spec.volumes[0].persistentDisk.pdName: Required value
spec.volumes[0].persistentDisk.partition: Invalid value: -1: must be between 1 and 255, inclusive`},
		{`"awsElasticBlockStore":{"volumeID":"v"}`, ``},
		{`"awsElasticBlockStore":{"volumeID":"","partition":256}`, `
$.volumeID: Required value
$.partition: Invalid value: 256: must be between 1 and 255, inclusive`},
		{`"cinder":{"volumeID":"v","secretRef":{"name":"s"}}`, ``},
		{`"cinder":{"volumeID":"","secretRef":{}}`, `
$.volumeID: Required value
$.secretRef.name: Required value`},
		{`"azureFile":{"secretName":"s","shareName":"s"}`, ``},
		{`"azureFile":{}`, `
$.secretName: Required value
$.shareName: Required value`},
		{`"vsphereVolume":{"volumePath":"v"}`, ``},
		{`"vsphereVolume":{}`, `$.volumePath: Required value`},
		{`"photonPersistentDisk":{"pdID":"v"}`, ``},
		{`"photonPersistentDisk":{}`, `$.pdID: Required value`},
		{`"portworxVolume":{"volumeID":"v"}`, ``},
		{`"portworxVolume":{}`, `$.volumeID: Required value`},
		{`"azureDisk":{"diskName":"d","diskURI":"https://a","kind":"Dedicated","cachingMode":"None"}`, ``},
		{`"azureDisk":{"diskName":"d","diskURI":"/subscriptions/a","kind":"Managed"}`, ``},
		{`"azureDisk":{"diskName":"","diskURI":"","kind":"Odd","cachingMode":"Odd"}`, `
$.diskName: Required value
$.diskURI: Required value
$.cachingMode: Unsupported value: "Odd": supported values: "None", "ReadOnly", "ReadWrite"
$.kind: Unsupported value: "Odd": supported values: "Dedicated", "Managed", "Shared"
$.diskURI: Unsupported value: "": supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"`},
		{`"azureDisk":{"diskName":"d","diskURI":"https://a","kind":"Managed"}`, `$.diskURI: Unsupported value: "https://a": supported values: ` +
			`"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"`},
		{`"gitRepo":{"repository":"r","directory":"d"}`, ``},
		{`"gitRepo":{"repository":"","directory":"/a/.."}`, `
$.repository: Required value
$.directory: Invalid value: "/a/..": must be a relative path
$.directory: Invalid value: "/a/..": must not contain '..'`},

		{`"glusterfs":{"endpoints":"e","path":"p"}`, ``},
		{`"glusterfs":{}`, `
$.endpoints: Required value
$.path: Required value`},
		{`"flocker":{"datasetName":"d"}`, ``},
		{`"flocker":{"datasetUUID":"d"}`, ``},
		{`"flocker":{}`, `$: Required value: one of datasetName and datasetUUID is required`},
		{`"flocker":{"datasetName":"a/b","datasetUUID":"d"}`, `
$: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously
$.datasetName: Invalid value: "a/b": must not contain '/'`},
		{`"rbd":{"monitors":["m"],"image":"i"}`, ``},
		{`"rbd":{}`, `
$.monitors: Required value
$.image: Required value`},
		{`"cephfs":{"monitors":["m"]}`, ``},
		{`"cephfs":{}`, `$.monitors: Required value`},
		{`"quobyte":{"registry":"a:1,b:2","volume":"v","tenant":"` + strings.Repeat("t", 64) + `"}`, ``},
		{`"quobyte":{"tenant":"` + strings.Repeat("t", 65) + `"}`, `
$.registry: Required value: must be a host:port pair or multiple pairs separated by commas
$.volume: Required value`},
		{`"quobyte":{"registry":"a","tenant":"` + strings.Repeat("t", 65) + `","volume":"v"}`,
			`$.tenant: Required value: must be a UUID and may not exceed a length of 64 characters`},
		{`"quobyte":{"registry":"a,b:1,c","volume":"v"}`, `
$.registry: Invalid value: "a,b:1,c": must be a host:port pair or multiple pairs separated by commas
$.registry: Invalid value: "a,b:1,c": must be a host:port pair or multiple pairs separated by commas`},
		{`"flexVolume":{"driver":"d","options":{"example.com/a":"b","notk8s.io/a":"b"}}`, ``},
		{`"flexVolume":{"driver":"","options":{"K8s.io/a":"b","x.kubernetes.io/a":"b"}}`, `
$.driver: Required value
$.options[K8s.io/a]: Invalid value: "K8s.io/a": kubernetes.io and k8s.io namespaces are reserved
$.options[x.kubernetes.io/a]: Invalid value: "x.kubernetes.io/a": kubernetes.io and k8s.io namespaces are reserved`},
		{`"storageos":{"volumeName":"v","volumeNamespace":"n","secretRef":{"name":"s"}}`, ``},
		{`"storageos":{"volumeName":"","volumeNamespace":"N","secretRef":{}}`, `
$.volumeName: Required value
$.volumeNamespace: Invalid value: "N": ` + checktest.Label + `
$.secretRef.name: Required value`},
		{`"scaleIO":{"gateway":"g","system":"s","volumeName":"v","secretRef":{"name":"s"}}`, ``},
		{`"scaleIO":{"secretRef":{"name":"s"}}`, `
$.gateway: Required value
$.system: Required value
$.volumeName: Required value`},
	} {
		checkVolume(t, tt.source, tt.want)
	}
}

// TestClaimTemplates checks the templates of the claims of ephemeral volumes.
func TestClaimTemplates(t *testing.T) {
	const size = `"resources":{"requests":{"storage":"1Gi"}}`
	for _, tt := range []struct{ template, want string }{
		{`"metadata":{"labels":{"a":"b"},"annotations":{"a":"b"}},"spec":{"accessModes":["ReadOnlyMany","ReadWriteMany","ReadWriteOnce"],` + size + `,
			"selector":{"matchLabels":{"a":"b"}},"storageClassName":"","volumeMode":"Block","dataSource":{"kind":"PersistentVolumeClaim","name":"n"},
			"dataSourceRef":{"kind":"PersistentVolumeClaim","name":"n"},"volumeAttributesClassName":""}`, ``},
		{`"spec":{"accessModes":["ReadWriteOncePod"],` + size + `}`, ``},
		{`"spec":{"accessModes":["ReadWriteOncePod","ReadOnlyMany"],` + size + `}`,
			`$.spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes`},
		{`"spec":{}`, `
$.spec.accessModes: Required value: at least 1 access mode is required
$.spec.resources[storage]: Required value`},
		{`"spec":{"accessModes":["Odd"],"resources":{"requests":{"storage":"0"}},"selector":{"matchLabels":{"a b":"c"}},"storageClassName":"S_",
			"volumeMode":"Odd","dataSource":{"kind":"","name":""},"dataSourceRef":{"apiGroup":"G_","kind":"Any","name":"n"},"volumeAttributesClassName":"V_"}`, `
$.spec.selector.matchLabels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
$.spec.accessModes: Unsupported value: "Odd": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"
$.spec.resources[storage]: Invalid value: "0": must be greater than zero
$.spec.storageClassName: Invalid value: "S_": ` + checktest.Subdomain + `
$.spec.volumeMode: Unsupported value: "Odd": supported values: "Block", "Filesystem"
$.spec.dataSource.name: Required value
$.spec.dataSource.kind: Required value
$.spec.dataSource: Invalid value: "": must be 'PersistentVolumeClaim' when referencing the default apiGroup
$.spec.dataSourceRef.apiGroup: Invalid value: "G_": ` + checktest.Subdomain + `
$.spec: Invalid value: {}: must match dataSourceRef
$.spec.volumeAttributesClassName: Invalid value: "V_": ` + checktest.Subdomain},
		{`"metadata":{"name":"n","generateName":"g","namespace":"s","selfLink":"l","uid":"u","resourceVersion":"1","generation":1,
			"creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":1,
			"ownerReferences":[],"finalizers":[],"managedFields":[]},"spec":{"accessModes":["ReadWriteOnce"],` + size + `}`, `
$.metadata.name: Forbidden: cannot be set
$.metadata.generateName: Forbidden: cannot be set
$.metadata.namespace: Forbidden: cannot be set
$.metadata.selfLink: Forbidden: cannot be set
$.metadata.uID: Forbidden: cannot be set
$.metadata.resourceVersion: Forbidden: cannot be set
$.metadata.generation: Forbidden: cannot be set
$.metadata.creationTimestamp: Forbidden: cannot be set
$.metadata.deletionTimestamp: Forbidden: cannot be set
$.metadata.deletionGracePeriodSeconds: Forbidden: cannot be set
$.metadata.ownerReferences: Forbidden: cannot be set
$.metadata.finalizers: Forbidden: cannot be set
$.metadata.managedFields: Forbidden: cannot be set`},
	} {
		checkVolume(t, `"ephemeral":{"volumeClaimTemplate":{`+tt.template+`}}`, strings.ReplaceAll(tt.want, "$", "$.volumeClaimTemplate"))
	}
}

// TestClaimsOfPod checks the names of the claims that are created for a pod. No other volume of the
// pod may refer to such a claim.
func TestClaimsOfPod(t *testing.T) {
	const template = `"ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}`
	pod := decode(t, `{"metadata":{"name":"p"},"spec":{"volumes":[{"name":"v",`+template+`},
		{"name":"w","persistentVolumeClaim":{"claimName":"p-v"}},{"name":"x","persistentVolumeClaim":{"claimName":"p-w"}}],
		"containers":[{"name":"c","image":"i"}]}}`)
	checktest.Want(t, Rules{}.Pod(pod), `spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "p-v": must not reference a PVC that `+
		`gets created for an ephemeral volume`)

	pod = decode(t, `{"metadata":{"name":"`+strings.Repeat("p", 252)+`"},"spec":{"volumes":[{"name":"v",`+template+`}],"containers":[{"name":"c","image":"i"}]}}`)
	checktest.Want(t, Rules{}.Pod(pod), `spec.volumes[0].name: Invalid value: "v": PVC name "`+pod.Name+`-v": must be no more than 253 characters`)

	pod = decode(t, `{"metadata":{"name":"`+strings.Repeat("p", 252)+`"},"spec":{"volumes":[{"name":"v","emptyDir":{},`+template+`}],"containers":[{"name":"c","image":"i"}]}}`)
	checktest.Want(t, Rules{}.Pod(pod), `spec.volumes[0].ephemeral: Forbidden: may not specify more than 1 volume type`)
	pod = decode(t, `{"metadata":{"name":"`+strings.Repeat("p", 253)+`"},"spec":{"volumes":[{"name":"",`+template+`}],"containers":[{"name":"c","image":"i"}]}}`)
	checktest.Want(t, Rules{}.Pod(pod), `spec.volumes[0].name: Required value`)
}

// checkVolume compares the errors of a pod that has one volume.
func checkVolume(t *testing.T, source, want string) {
	t.Helper()
	sort, _, _ := strings.Cut(strings.TrimPrefix(source, `"`), `"`)
	pod := `{"metadata":{"name":"x"},"spec":{"volumes":[{"name":"v",` + source + `}],"containers":[{"name":"c","image":"i"}]}}`
	checktest.Want(t, Rules{}.Pod(decode(t, strings.Replace(pod, ",}", "}", 1))), strings.ReplaceAll(want, "$", "spec.volumes[0]."+sort))
}
