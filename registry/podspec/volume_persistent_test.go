package podspec

import (
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/field"
)

const capacity = `"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"}`

// checkVolumeSpec compares the errors of the PersistentVolume v. In want, $ is the path of its
// spec.
func checkVolumeSpec(t *testing.T, spec, want string) {
	t.Helper()
	v := checktest.Decode[corev1.PersistentVolume](t, `{"spec":{`+spec+`}}`)
	checktest.Want(t, PersistentVolume(field.NewPath("spec"), &v.Spec, "v"), strings.ReplaceAll(want, "$", "spec"))
}

// TestPersistentSources checks each type of PersistentVolume: a valid one, then flaws that only
// PersistentVolumes can have, and one flaw that shows that the rules of pods' volumes apply. In
// want, $ is the path of the source.
func TestPersistentSources(t *testing.T) {
	const secret = `"secretRef":{"name":"s","namespace":"n"}`
	for _, tt := range []struct{ source, want string }{
		{`"hostPath":{"path":"/x"}`, ``},
		{`"hostPath":{"path":""}`, `$.path: Required value`},
		{`"gcePersistentDisk":{"pdName":"d"}`, ``},
		{`"gcePersistentDisk":{}`, `spec.persistentDisk.pdName: Required value`},
		{`"awsElasticBlockStore":{"volumeID":"v"}`, ``},
		{`"awsElasticBlockStore":{}`, `$.volumeID: Required value`},
		{`"glusterfs":{"endpoints":"e","path":"p","endpointsNamespace":"n"}`, ``},
		{`"glusterfs":{"path":"p","endpointsNamespace":""}`, `
$.endpoints: Required value
$.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name`},
		{`"glusterfs":{"endpoints":"e","endpointsNamespace":"N"}`, `
$.path: Required value
$.endpointsNamespace: Invalid value: "N": ` + checktest.Label},
		{`"flocker":{"datasetName":"d"}`, ``},
		{`"flocker":{}`, `$: Required value: one of datasetName and datasetUUID is required`},
		{`"nfs":{"server":"s","path":"/p"}`, ``},
		{`"nfs":{"path":"/p"}`, `$.server: Required value`},
		{`"rbd":{"monitors":["m"],"image":"i"}`, ``},
		{`"rbd":{}`, `
$.monitors: Required value
$.image: Required value`},
		{`"quobyte":{"registry":"a:1","volume":"v"}`, ``},
		{`"quobyte":{"registry":"a:1"}`, `$.volume: Required value`},
		{`"cephfs":{"monitors":["m"]}`, ``},
		{`"cephfs":{}`, `$.monitors: Required value`},

		{`"iscsi":{"targetPortal":"p","iqn":"iqn.2001-04.com.example:a","lun":0,"chapAuthSession":true,` + secret + `,"initiatorName":"eui.0123456789abcdef"}`, ``},
		{`"iscsi":{"iqn":"","lun":256,"chapAuthDiscovery":true,"initiatorName":"x"}`, `
$.targetPortal: Required value
$.iqn: Required value
$.lun: Invalid value: 256: must be between 0 and 255, inclusive
$.secretRef: Required value
$.initiatorname: Invalid value: "x": must be valid format`},
		{`"iscsi":{"targetPortal":"p","iqn":"x","lun":-1,"chapAuthSession":true,"secretRef":{}}`, `
$.iqn: Invalid value: "x": must be valid format
$.lun: Invalid value: -1: must be between 0 and 255, inclusive
$.secretRef.name: Required value`},
		{`"iscsi":{"targetPortal":"p","iqn":"naa.0123456789abcdef0123456789abcdef","lun":0,"chapAuthSession":true}`, `$.secretRef: Required value`},
		{`"iscsi":{"targetPortal":"` + strings.Repeat("p", 62) + `","iqn":"eui.0123456789abcdef","lun":0,"initiatorName":"eui.0123456789abcdef"}`, ``},
		{`"iscsi":{"targetPortal":"` + strings.Repeat("p", 63) + `","iqn":"eui.0123456789abcdef","lun":0,"initiatorName":"eui.0123456789abcdef"}`,
			`$.targetportal: Invalid value: "` + strings.Repeat("p", 63) + `": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.`},
		{`"iscsi":{"targetPortal":"` + strings.Repeat("p", 63) + `","iqn":"eui.0123456789abcdef","lun":0}`, ``},

		{`"cinder":{"volumeID":"v",` + secret + `}`, ``},
		{`"cinder":{"secretRef":{}}`, `
$.volumeID: Required value
$.secretRef.name: Required value
$.secretRef.namespace: Required value`},
		{`"fc":{"wwids":["a"]}`, ``},
		{`"fc":{}`, `$.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both`},
		{`"flexVolume":{"driver":"d"}`, ``},
		{`"flexVolume":{"options":{"k8s.io/a":"b"}}`, `
$.driver: Required value
$.options[k8s.io/a]: Invalid value: "k8s.io/a": kubernetes.io and k8s.io namespaces are reserved`},
		{`"azureFile":{"secretName":"s","shareName":"s","secretNamespace":"n"}`, ``},
		{`"azureFile":{"secretNamespace":""}`, `
$.secretName: Required value
$.shareName: Required value
$.secretNamespace: Required value`},
		{`"vsphereVolume":{"volumePath":"v"}`, ``},
		{`"vsphereVolume":{}`, `$.volumePath: Required value`},
		{`"photonPersistentDisk":{"pdID":"v"}`, ``},
		{`"photonPersistentDisk":{}`, `$.pdID: Required value`},
		{`"portworxVolume":{"volumeID":"v"}`, ``},
		{`"portworxVolume":{}`, `$.volumeID: Required value`},
		{`"azureDisk":{"diskName":"d","diskURI":"https://a"}`, ``},
		{`"azureDisk":{"diskURI":"https://a"}`, `$.diskName: Required value`},
		{`"scaleIO":{"gateway":"g","system":"s","volumeName":"v"}`, ``},
		{`"scaleIO":{}`, `
$.gateway: Required value
$.system: Required value
$.volumeName: Required value`},
		{`"storageos":{"volumeName":"v","volumeNamespace":"n",` + secret + `}`, ``},
		{`"storageos":{"volumeName":"v","volumeNamespace":"N","secretRef":{}}`, `
$.volumeNamespace: Invalid value: "N": ` + checktest.Label + `
$.secretRef.name: Required value
$.secretRef.namespace: Required value`},
		{`"storageos":{}`, `$.volumeName: Required value`},

		{`"csi":{"driver":"d.example.com","volumeHandle":"h","controllerPublishSecretRef":{"name":"s","namespace":"n"},"nodeStageSecretRef":{}}`, ``},
		{`"csi":{"controllerPublishSecretRef":{},"controllerExpandSecretRef":{"name":"S","namespace":"N"},"nodePublishSecretRef":{"name":"s"},"nodeExpandSecretRef":{"namespace":"n"}}`, `
$.driver: Required value
$.volumeHandle: Required value
$.controllerPublishSecretRef.name: Required value
$.controllerPublishSecretRef.namespace: Required value
$.controllerExpandSecretRef.name: Invalid value: "S": ` + checktest.Subdomain + `
$.controllerExpandSecretRef.namespace: Invalid value: "N": ` + checktest.Label + `
$.nodePublishSecretRef.namespace: Required value
$.nodeExpandSecretRef.name: Required value`},
	} {
		sort, _, _ := strings.Cut(strings.TrimPrefix(tt.source, `"`), `"`)
		checkVolumeSpec(t, capacity+`,`+tt.source, strings.ReplaceAll(tt.want, "$", "$."+sort))
	}
}

// TestPersistentVolume checks the fields of a PersistentVolume other than its source.
func TestPersistentVolume(t *testing.T) {
	const host, csi = `"hostPath":{"path":"/x"}`, `"csi":{"driver":"d","volumeHandle":"h"}`
	const affinity = `"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}`
	for _, tt := range []struct{ spec, want string }{
		{capacity + `,"persistentVolumeReclaimPolicy":"Recycle","storageClassName":"s","volumeMode":"Block","volumeAttributesClassName":"v",` + affinity + `,` + csi, ``},
		{``, `
$.accessModes: Required value
$.capacity: Required value
$.capacity: Unsupported value: null: supported values: "storage"
$: Required value: must specify a volume type`},
		{`"accessModes":["Odd"],"capacity":{"cpu":"-1","storage":"0"},"persistentVolumeReclaimPolicy":"Odd","storageClassName":"S_","volumeMode":"Odd",
			"volumeAttributesClassName":"V_","nodeAffinity":{},` + host, `
$.accessModes: Unsupported value: "Odd": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"
$.capacity: Unsupported value: {"cpu":"-1","storage":"0"}: supported values: "storage"
$.capacity[cpu]: Invalid value: -1: must be a valid resource quantity
$.capacity[cpu]: Invalid value: "-1": must be greater than zero
$.capacity[storage]: Invalid value: "0": must be greater than zero
$.persistentVolumeReclaimPolicy: Unsupported value: "Odd": supported values: "Delete", "Recycle", "Retain"
$.nodeAffinity.required: Required value: must specify required node constraints
$.storageClassName: Invalid value: "S_": ` + checktest.Subdomain + `
$.volumeMode: Unsupported value: "Odd": supported values: "Block", "Filesystem"
$.volumeAttributesClassName: Invalid value: "V_": ` + checktest.Subdomain + `
$.csi: Required value: has to be specified when using volumeAttributesClassName`},
		{`"accessModes":["ReadWriteOnce"],"capacity":{"cpu":"1"},"volumeAttributesClassName":"",` + csi, `
$.capacity: Unsupported value: {"cpu":"1"}: supported values: "storage"
$.volumeAttributesClassName: Required value: an empty string is disallowed`},
		{capacity + `,"nodeAffinity":{"required":{"nodeSelectorTerms":[]}},` + host, `$.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term`},

		{capacity + `,"local":{"path":"/x"},` + affinity, ``},
		{capacity + `,"local":{"path":""}`, `
$.local.path: Required value
$.nodeAffinity: Required value: Local volume requires node affinity`},
		{capacity + `,"local":{"path":"/x/.."},` + affinity, `$.local.path: Invalid value: "/x/..": must not contain '..'`},
		{capacity + `,"persistentVolumeReclaimPolicy":"Recycle","hostPath":{"path":"/"}`,
			`$.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'`},
		{capacity + `,"persistentVolumeReclaimPolicy":"Recycle","hostPath":{"path":"/x"}`, ``},
		{capacity + `,"persistentVolumeReclaimPolicy":"Retain","hostPath":{"path":"//"}`, ``},

		{capacity + `,` + host + `,"cephfs":{},"flexVolume":{},` + csi, `
$.cephFS: Forbidden: may not specify more than 1 volume type
$.flexVolume.driver: Required value
$.csi: Forbidden: may not specify more than 1 volume type`},
		{capacity + `,"flexVolume":{"driver":"d"},` + csi, `$.csi: Forbidden: may not specify more than 1 volume type`},
	} {
		checkVolumeSpec(t, tt.spec, tt.want)
	}
}

// TestInlineVolume checks the volumes inside VolumeAttachments. In want, $ is the path of the spec.
func TestInlineVolume(t *testing.T) {
	const csi = `"accessModes":["ReadWriteOnce"],"csi":{"driver":"d","volumeHandle":"h"}`
	for _, tt := range []struct{ spec, want string }{
		{csi, ``},
		{csi + `,"persistentVolumeReclaimPolicy":"Retain","volumeMode":"Filesystem","volumeAttributesClassName":""`, ``},
		{`"hostPath":{"path":"/x"},"claimRef":{},"capacity":{"a":"1"},"persistentVolumeReclaimPolicy":"Delete","nodeAffinity":{},"storageClassName":"S_","volumeMode":"Block"`, `
$.claimRef: Forbidden: may not be specified in the context of inline volumes
$.capacity: Forbidden: may not be specified in the context of inline volumes
$.csi: Required value: has to be specified in the context of inline volumes
$.accessModes: Required value
$.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes
$.nodeAffinity: Forbidden: may not be specified in the context of inline volumes
$.storageClassName: Forbidden: may not be specified in the context of inline volumes
$.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes`},
		{`"accessModes":["ReadWriteOnce"],"local":{"path":"/x"}`, `
$.csi: Required value: has to be specified in the context of inline volumes
$.nodeAffinity: Required value: Local volume requires node affinity`},
	} {
		a := checktest.Decode[storagev1.VolumeAttachment](t, `{"spec":{"source":{"inlineVolumeSpec":{`+tt.spec+`}}}}`)
		checktest.Want(t, InlineVolume(field.NewPath("s"), a.Spec.Source.InlineVolumeSpec), strings.ReplaceAll(tt.want, "$", "s"))
	}
}

func TestPersistentVolumeWarnings(t *testing.T) {
	v := checktest.Decode[corev1.PersistentVolume](t, `{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"","volume.beta.kubernetes.io/mount-options":""}},
		"spec":{"persistentVolumeReclaimPolicy":"Recycle","nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[
		{"key":"zone"},{"key":"failure-domain.beta.kubernetes.io/zone"},{"key":"node-role.kubernetes.io/master"}]}]}},
		"cephfs":{},"photonPersistentDisk":{},"scaleIO":{},"storageos":{},"glusterfs":{},"rbd":{}}}`)
	want := strings.Split(`metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead
metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead
spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.
spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[1].key: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead
spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[2].key: node-role.kubernetes.io/master is use "node-role.kubernetes.io/control-plane" instead
spec.cephfs: deprecated in v1.28, non-functional in v1.31+
spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+
spec.scaleIO: deprecated in v1.16, non-functional in v1.22+
spec.storageOS: deprecated in v1.22, non-functional in v1.25+
spec.glusterfs: deprecated in v1.25, non-functional in v1.26+
spec.rbd: deprecated in v1.28, non-functional in v1.31+`, "\n")
	if got := PersistentVolumeWarnings(v); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, bare := range []string{`{}`, `{"spec":{"nodeAffinity":{}}}`} {
		if got := PersistentVolumeWarnings(checktest.Decode[corev1.PersistentVolume](t, bare)); len(got) > 0 {
			t.Errorf("%s: got %q, want no warnings", bare, got)
		}
	}
}
