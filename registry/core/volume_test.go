package core

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// volume returns a stored volume; more is added to its spec.
func volume(t *testing.T, spec string) *corev1.PersistentVolume {
	t.Helper()
	return checktest.Decode[corev1.PersistentVolume](t,
		`{"metadata":{"resourceVersion":"1"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},`+spec+`}}`)
}

func TestPersistentVolumeIsPrepared(t *testing.T) {
	r := resource(t, "persistentvolumes")
	early := &meta.Time{Time: testTime.Add(-time.Hour)}
	v := volume(t, `"hostPath":{"path":"/x"}`)
	v.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound, LastPhaseTransitionTime: early}
	checktest.Want(t, create(r, v), ``)
	if v.Status.Phase != corev1.VolumePending || !v.Status.LastPhaseTransitionTime.Time.Equal(testTime) {
		t.Errorf("a new volume: got %+v, want it pending from now on", v.Status)
	}
	for _, tt := range []struct {
		name      string
		was, sent corev1.PersistentVolumeStatus
		want      *meta.Time
	}{
		{"same phase", corev1.PersistentVolumeStatus{Phase: "Bound", LastPhaseTransitionTime: early}, corev1.PersistentVolumeStatus{Phase: "Bound"}, early},
		{"same phase, time set", corev1.PersistentVolumeStatus{Phase: "Bound"}, corev1.PersistentVolumeStatus{Phase: "Bound", LastPhaseTransitionTime: early}, early},
		{"other phase", corev1.PersistentVolumeStatus{Phase: "Bound", LastPhaseTransitionTime: early}, corev1.PersistentVolumeStatus{Phase: "Failed"}, &meta.Time{Time: testTime}},
		{"other phase, time kept", corev1.PersistentVolumeStatus{Phase: "Bound", LastPhaseTransitionTime: early}, corev1.PersistentVolumeStatus{Phase: "Failed", LastPhaseTransitionTime: early}, &meta.Time{Time: testTime}},
		{"other phase, time set", corev1.PersistentVolumeStatus{Phase: "Bound"}, corev1.PersistentVolumeStatus{Phase: "Failed", LastPhaseTransitionTime: early}, early},
	} {
		now, was := volume(t, `"hostPath":{"path":"/x"}`), volume(t, `"hostPath":{"path":"/x"}`)
		now.Status, was.Status = tt.sent, tt.was
		checktest.Want(t, update(r, "status", now, was), ``)
		if got := now.Status.LastPhaseTransitionTime; !got.Equal(tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestPersistentVolumeUpdate validates updates of volumes. The errors of a volume itself come
// twice. The differences in messages are cut off.
func TestPersistentVolumeUpdate(t *testing.T) {
	const (
		host, csi = `"hostPath":{"path":"/x"}`, `"csi":{"driver":"d","volumeHandle":"h"}`
		expanding = `"csi":{"driver":"d","volumeHandle":"h","controllerExpandSecretRef":{"name":"s","namespace":"n"}}`
		moved     = "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation"
		zones     = `,"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"},` +
			`{"key":"failure-domain.beta.kubernetes.io/zone","operator":"In","values":["z"]}]}]}}`
	)
	r := resource(t, "persistentvolumes")
	for _, tt := range []struct{ name, old, now, want string }{
		{"same", host, host, ``},
		{"moved", host, `"hostPath":{"path":"/y"}`, moved},
		{"expand secret", csi, expanding, ``},
		{"expand secret and handle", csi, strings.Replace(expanding, `"h"`, `"i"`, 1), moved},
		{"other expand secret", expanding, strings.Replace(expanding, `"s"`, `"t"`, 1), moved},
		{"no expand secret", expanding, csi, moved},
		{"csi at last", host, expanding, moved},
		{"mode", host, host + `,"volumeMode":"Block"`, `volumeMode: Invalid value: "Block": field is immutable`},
		{"nodes", host, host + zones, ``},
		{"nodes removed", host + zones, host, `nodeAffinity: Invalid value: null: field is immutable, except for updating from beta label to GA`},
		{"nodes renamed", host + zones, host + strings.Replace(zones, "failure-domain.beta", "topology", 1), ``},
		{"nodes renamed otherwise", host + zones, host + strings.Replace(zones, "failure-domain.beta", "failure-domain", 1),
			`nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"a","Operator":"Exists","Values":null},` +
				`{"Key":"failure-domain.kubernetes.io/zone","Operator":"In","Values":["z"]}],"MatchFields":null}]}}: field is immutable, except for updating from beta label to GA`},
		{"nodes back", host + strings.Replace(zones, "failure-domain.beta", "topology", 1), host + zones,
			`nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"a","Operator":"Exists","Values":null},` +
				`{"Key":"failure-domain.beta.kubernetes.io/zone","Operator":"In","Values":["z"]}],"MatchFields":null}]}}: field is immutable, except for updating from beta label to GA`},
		{"attributes", csi, csi + `,"volumeAttributesClassName":"a"`, ``},
		{"other attributes", csi + `,"volumeAttributesClassName":"a"`, csi + `,"volumeAttributesClassName":"b"`, ``},
		{"no attributes", csi + `,"volumeAttributesClassName":"a"`, csi, `spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden`},
		{"bad class", host, host + `,"storageClassName":"S_"`, `
spec.storageClassName: Invalid value: "S_": ` + checktest.Subdomain + `
spec.storageClassName: Invalid value: "S_": ` + checktest.Subdomain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			errs := update(r, "", volume(t, tt.now), volume(t, tt.old))
			for _, e := range errs {
				e.Detail, _, _ = strings.Cut(e.Detail, "\n")
			}
			checktest.Want(t, errs, tt.want)
		})
	}
}

// TestVolumeMetadata: like kube-apiserver, the strategy checks the metadata of a volume twice on an
// update, and never compares them with the old ones.
func TestVolumeMetadata(t *testing.T) {
	const plain = `metadata.finalizers[0]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified`
	v := volume(t, `"hostPath":{"path":"/x"}`)
	v.Finalizers = []string{"plain"}
	checktest.Want(t, create(resource(t, "persistentvolumes"), v), plain)
	old := volume(t, `"hostPath":{"path":"/x"}`)
	old.UID = "other"
	checktest.Want(t, update(resource(t, "persistentvolumes"), "", v, old), plain+"\n"+plain)
}

func TestMountOptions(t *testing.T) {
	const refused = `metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not specify mount options for this volume type`
	for source, want := range map[string]string{
		`"hostPath":{}`: refused, `"local":{}`: refused, `"csi":{}`: refused, `"fc":{}`: refused, `"flexVolume":{}`: refused,
		`"gcePersistentDisk":{}`: ``, `"awsElasticBlockStore":{}`: ``, `"glusterfs":{}`: ``, `"nfs":{}`: ``, `"rbd":{}`: ``, `"quobyte":{}`: ``, `"iscsi":{}`: ``,
		`"cinder":{}`: ``, `"cephfs":{}`: ``, `"azureFile":{}`: ``, `"vsphereVolume":{}`: ``, `"azureDisk":{}`: ``, `"photonPersistentDisk":{}`: ``,
	} {
		v := volume(t, source)
		checktest.Want(t, checkMountOptions(v), ``)
		v.Annotations = map[string]string{corev1.MountOptionsAnnotation: "ro"}
		checktest.Want(t, checkMountOptions(v), want)
	}
}

// claim returns a stored claim. spec is more JSON for its spec, more is JSON beside the spec.
func claim(t *testing.T, spec, more string) *corev1.PersistentVolumeClaim {
	t.Helper()
	return checktest.Decode[corev1.PersistentVolumeClaim](t,
		`{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}}`+spec+`}`+more+`}`)
}

// TestClaimIsPrepared prepares claims with each sort of data source.
func TestClaimIsPrepared(t *testing.T) {
	const (
		other    = `{"kind":"PersistentVolumeClaim","name":"n"}`
		snapshot = `{"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"n"}`
		foreign  = `{"apiGroup":"example.com","kind":"Any","name":"n"}`
		away     = `{"apiGroup":"example.com","kind":"Any","name":"n","namespace":"s"}`
	)
	r := resource(t, "persistentvolumeclaims")
	for _, tt := range []struct{ name, old, now, source, ref string }{
		{"claim", ``, `,"dataSource":` + other, other, other},
		{"empty group", ``, `,"dataSource":{"apiGroup":"","kind":"PersistentVolumeClaim","name":"n"}`,
			`{"apiGroup":"","kind":"PersistentVolumeClaim","name":"n"}`, `{"apiGroup":"","kind":"PersistentVolumeClaim","name":"n"}`},
		{"snapshot", ``, `,"dataSource":` + snapshot, snapshot, snapshot},
		{"snapshot of another group", ``, `,"dataSource":{"kind":"VolumeSnapshot","name":"n"}`, ``, ``},
		{"claim of another group", ``, `,"dataSource":{"apiGroup":"snapshot.storage.k8s.io","kind":"PersistentVolumeClaim","name":"n"}`, ``, ``},
		{"anything", ``, `,"dataSource":` + foreign, ``, ``},
		{"anything by reference", ``, `,"dataSourceRef":` + foreign, foreign, foreign},
		{"anything in both forms", ``, `,"dataSource":` + foreign + `,"dataSourceRef":` + foreign, foreign, foreign},
		{"of an old claim", `,"dataSource":` + foreign, `,"dataSource":` + foreign, foreign, foreign},
		{"of an old claim by reference", `,"dataSourceRef":` + foreign, `,"dataSource":` + foreign, foreign, foreign},
		{"elsewhere", ``, `,"dataSourceRef":` + away, ``, ``},
		{"here", ``, `,"dataSourceRef":{"apiGroup":"example.com","kind":"Any","name":"n","namespace":""}`, foreign, `{"apiGroup":"example.com","kind":"Any","name":"n","namespace":""}`},
		{"elsewhere, of an old claim", `,"dataSourceRef":` + away, `,"dataSourceRef":` + away, ``, away},
		{"elsewhere, of an old claim without", `,"dataSource":` + foreign, `,"dataSourceRef":` + away, ``, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now, want := claim(t, tt.now, `,"status":{"phase":"Bound"}`), claim(t, dataSources(tt.source, tt.ref), "")
			if tt.old == "" {
				create(r, now)
			} else {
				update(r, "", now, claim(t, tt.old, ""))
			}
			if !reflect.DeepEqual(now.Spec, want.Spec) {
				t.Errorf("got %+v, want %+v", now.Spec, want.Spec)
			}
			if now.Status.Phase != corev1.ClaimPending {
				t.Errorf("phase: got %q, want Pending", now.Status.Phase)
			}
		})
	}
}

func dataSources(source, ref string) string {
	text := ""
	if source != "" {
		text += `,"dataSource":` + source
	}
	if ref != "" {
		text += `,"dataSourceRef":` + ref
	}
	return text
}

// TestClaimUpdate validates updates of claims. The differences in messages are cut off.
func TestClaimUpdate(t *testing.T) {
	const (
		bound     = `,"status":{"phase":"Bound","capacity":{"storage":"1Gi"}}`
		annotated = `,"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"slow"}}`
		fixed     = "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
		sized     = `,"resources":{"requests":{"storage":"`
		inUse     = `,"status":{"phase":"Bound","currentVolumeAttributesClassName":"gold"}`
	)
	const class = "metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "
	r := resource(t, "persistentvolumeclaims")
	for _, tt := range []struct{ name, oldSpec, old, nowSpec, now, want string }{
		{"same", ``, ``, ``, ``, ``},
		{"bad as such", ``, ``, `,"storageClassName":"S_"`, ``, `spec.storageClassName: Invalid value: "S_": ` + checktest.Subdomain},
		{"bound to a volume", ``, ``, `,"volumeName":"v"`, ``, ``},
		{"bound to another", `,"volumeName":"v"`, ``, `,"volumeName":"w"`, ``, fixed},
		{"filled, as older servers stored it", `,"dataSource":{"kind":"PersistentVolumeClaim","name":"n"}`, ``, `,"dataSource":{"kind":"PersistentVolumeClaim","name":"n"}`, ``, ``},

		{"a default class", ``, ``, `,"storageClassName":"fast"`, ``, ``},
		{"another class", `,"storageClassName":"fast"`, ``, `,"storageClassName":"slow"`, ``, fixed},
		{"no class", `,"storageClassName":"fast"`, ``, ``, ``, fixed},
		{"the class of the annotation", ``, annotated, `,"storageClassName":"slow"`, ``, ``},
		{"the class of the annotation, beside it", ``, annotated, `,"storageClassName":"slow"`, annotated, ``},
		{"another class than the annotation", ``, annotated, `,"storageClassName":"fast"`, annotated, fixed},
		{"another class, no annotation", ``, annotated, `,"storageClassName":"fast"`, ``, class + "\"\": field is immutable\n" + fixed},
		{"no annotation", ``, annotated, ``, ``, class + `"": field is immutable`},
		{"an annotation", ``, ``, ``, annotated, class + `"slow": field is immutable`},
		{"a class and another annotation", ``, annotated, `,"storageClassName":"slow"`, strings.Replace(annotated, `"slow"`, `"fast"`, 1), class + `"fast": field is immutable`},
		{"a default class and an annotation", ``, ``, `,"storageClassName":"slow"`, annotated, class + `"slow": field is immutable`},

		{"more while pending", ``, ``, sized + `3Gi"}}`, ``, fixed},
		{"more", ``, bound, sized + `3Gi"}}`, ``, ``},
		{"more, and of something else", ``, bound, sized + `3Gi","a":"1"}}`, ``, fixed},
		{"less", ``, bound, sized + `1025Mi"}}`, ``, ``},
		{"less than there is", ``, bound, sized + `1Gi"}}`, ``, `spec.resources.requests.storage: Forbidden: field can not be less than status.capacity`},
		{"less, of which there is nothing", ``, `,"status":{"phase":"Bound"}`, sized + `1Gi"}}`, ``, ``},
		{"what there is", ``, strings.Replace(bound, `"1Gi"`, `"2Gi"`, 1), ``, ``, ``},
		{"nothing", ``, bound, `,"resources":{"requests":null}`, ``, `
spec.resources[storage]: Required value
` + fixed + `
spec.resources.requests.storage: Forbidden: field can not be less than status.capacity`},

		{"mode", ``, ``, `,"volumeMode":"Block"`, ``, fixed + "\nvolumeMode: Invalid value: \"Block\": field is immutable"},

		{"attributes while pending", ``, ``, `,"volumeAttributesClassName":"gold"`, ``, fixed},
		{"attributes", ``, bound, `,"volumeAttributesClassName":"gold"`, ``, ``},
		{"no attributes, not in use", `,"volumeAttributesClassName":"gold"`, bound, ``, ``, ``},
		{"other attributes", `,"volumeAttributesClassName":"gold"`, inUse, `,"volumeAttributesClassName":"silver"`, ``, ``},
		{"no attributes", `,"volumeAttributesClassName":"gold"`, inUse, ``, ``,
			`spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when status.currentVolumeAttributesClassName is not nil`},
		{"empty attributes", `,"volumeAttributesClassName":"gold"`, inUse, `,"volumeAttributesClassName":""`, ``,
			`spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil`},
		{"attributes still unset", ``, inUse, ``, ``, ``},
		{"attributes still empty", `,"volumeAttributesClassName":""`, inUse, `,"volumeAttributesClassName":""`, ``, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			errs := update(r, "", claim(t, tt.nowSpec, tt.now), claim(t, tt.oldSpec, tt.old))
			for _, e := range errs {
				e.Detail, _, _ = strings.Cut(e.Detail, "\n")
			}
			checktest.Want(t, errs, tt.want)
		})
	}
	old, now := claim(t, ``, bound), claim(t, sized+`3Gi"}}`, ``)
	update(r, "", now, old)
	if q := now.Spec.Resources.Requests[corev1.ResourceStorage]; q.String() != "3Gi" {
		t.Errorf("a claim that is expanded asks for %s afterwards, want 3Gi", q.String())
	}
}

func TestClaimStatus(t *testing.T) {
	const qualifiedName = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
		"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
	r := resource(t, "persistentvolumeclaims")
	for _, tt := range []struct{ status, want string }{
		{`"capacity":{"storage":"1","other":"1"},"allocatedResources":{"storage":"1","example.com/a":"0"},
			"allocatedResourceStatuses":{"storage":"NodeResizePending","example.com/a":"ControllerResizeInfeasible"}`, ``},
		{`"capacity":{"storage":"-1"},"allocatedResources":{"cpu":"-1","storage":"-1","example.com/a":"-1m","x/":"1"},
			"allocatedResourceStatuses":{"cpu":"Odd","kubernetes.io/a":"NodeResizePending","a b":"NodeResizePending"}`, `
status.capacity[storage]: Invalid value: -1: must be a valid resource quantity
status.allocatedResourceStatuses: Invalid value: "a b": ` + qualifiedName + `
status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: "storage"
status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"
status.allocatedResourceStatuses: Unsupported value: "kubernetes.io/a": supported values: "storage"
status.allocatedResources: Unsupported value: "cpu": supported values: "storage"
status.allocatedResources[example.com/a]: Invalid value: -1: must be a valid resource quantity
status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity
status.allocatedResources: Invalid value: "x/": name part must be non-empty
status.allocatedResources: Invalid value: "x/": ` + qualifiedName},
	} {
		checktest.Want(t, update(r, "status", claim(t, ``, `,"status":{`+tt.status+`}`), claim(t, ``, ``)), tt.want)
	}
}

func TestClaimWarnings(t *testing.T) {
	c := claim(t, `,"resources":{"requests":{"storage":"1500m"}}`, `,"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":""}}`)
	got, want := claimWarnings(c, nil), []string{
		`metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead`,
		`spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
