package storage

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// attachment returns an attachment of a source. more is JSON that follows its spec.
func attachment(t *testing.T, source, more string) *storagev1.VolumeAttachment {
	t.Helper()
	return checktest.Decode[storagev1.VolumeAttachment](t, `{"spec":{"attacher":"d.example.com","nodeName":"n","source":{`+source+`}}`+more+`}`)
}

func TestVolumeAttachment(t *testing.T) {
	const named, inline = `"persistentVolumeName":"v"`, `"inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],"csi":{"driver":"d","volumeHandle":"h"}}`
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, tt := range []struct{ source, more, want string }{
		{named, `,"status":{"attachError":{"message":"` + long(1024) + `","errorCode":0},"attachmentMetadata":{"k":"` + long(256<<10-1) + `"}}`, ``},
		{inline, ``, ``},
		{``, ``, `spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName`},
		{named + `,` + inline, ``, `spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName`},
		{`"persistentVolumeName":""`, ``, `
spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName
spec.source.persistentVolumeName: Invalid value: "": ` + checktest.Subdomain},
		{`"persistentVolumeName":"V"`, ``, `spec.source.persistentVolumeName: Invalid value: "V": ` + checktest.Subdomain},
		{`"inlineVolumeSpec":{"accessModes":["ReadWriteOnce"]}`, ``, `
spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes
spec.source.inlineVolumeSpec: Required value: must specify a volume type`},
		{named, `,"status":{"attachError":{"message":"` + long(1025) + `","errorCode":-1},"detachError":{"errorCode":-2},"attachmentMetadata":{"k":"` + long(256<<10) + `"}}`, `
status.attachmentMetadata: Too long: may not be more than 262144 bytes
status.attachError.message: Too long: may not be more than 262144 bytes
status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive
status.detachError.errorCode: Invalid value: -2: must be between 0 and 2147483647, inclusive`},
	} {
		checktest.Want(t, write(t, "volumeattachments", attachment(t, tt.source, tt.more), nil), tt.want)
	}
	a := attachment(t, named, ``)
	a.Spec.Attacher, a.Spec.NodeName = "", "N"
	checktest.Want(t, write(t, "volumeattachments", a, nil), `
spec.attacher: Required value
spec.nodeName: Invalid value: "N": `+checktest.Subdomain)
}

func TestVolumeAttachmentUpdate(t *testing.T) {
	const named = `"persistentVolumeName":"v"`
	checktest.Want(t, write(t, "volumeattachments", attachment(t, named, ``), attachment(t, named, ``)), ``)
	checktest.Want(t, write(t, "volumeattachments", attachment(t, `"persistentVolumeName":"w"`, ``), attachment(t, named, ``)),
		`spec: Invalid value: {"Attacher":"d.example.com","Source":{"PersistentVolumeName":"w","InlineVolumeSpec":null},"NodeName":"n"}: field is immutable`)

	status := declared(t, "volumeattachments").Status
	now := attachment(t, named, `,"metadata":{"labels":{"a":"b"},"annotations":{"a":"b"},"finalizers":["a/b"],"ownerReferences":[{}],"deletionTimestamp":"2030-01-01T00:00:00Z"},
		"status":{"attached":true,"attachError":{"errorCode":-1}}`)
	old := attachment(t, named, `,"metadata":{"labels":{"c":"d"}}`)
	status.Prepare(nil, now, old)
	m := now.ObjectMeta
	if m.Labels["c"] != "d" || len(m.Labels) != 1 || m.Annotations != nil || m.Finalizers != nil || m.OwnerReferences != nil || m.DeletionTimestamp != (*meta.Time)(nil) {
		t.Errorf("got %+v, want the old metadata", m)
	}
	if !now.Status.Attached {
		t.Error("the status is not that of the client")
	}
	checktest.Want(t, status.Validate(now, old), `status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive`)
}
