package storagev1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// VolumeAttachment asks for a volume to be attached to a node; once the object is deleted, the
// volume is to be detached.
type VolumeAttachment struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// What is to be attached, where, and by whom. Cannot be changed.
	Spec VolumeAttachmentSpec `json:"spec" pb:"2"`
	// What the attacher reports.
	Status VolumeAttachmentStatus `json:"status,omitempty" pb:"3"`
}

// VolumeAttachmentList is a list of attachments.
type VolumeAttachmentList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The attachments.
	Items []VolumeAttachment `json:"items" pb:"2"`
}

// VolumeAttachmentSpec tells what is to be attached.
type VolumeAttachmentSpec struct {
	// Name of the CSI driver that attaches the volume; at most 63 characters.
	Attacher string `json:"attacher" pb:"1"`
	// Volume to attach.
	Source VolumeAttachmentSource `json:"source" pb:"2"`
	// Node that the volume is attached to.
	NodeName string `json:"nodeName" pb:"3"`
}

// VolumeAttachmentSource names a volume. One member must be set.
type VolumeAttachmentSource struct {
	// The persistent volume, by its name.
	PersistentVolumeName *string `json:"persistentVolumeName,omitempty" pb:"1"`
	// A CSI volume that stands in for one that a pod describes itself.
	InlineVolumeSpec *corev1.PersistentVolumeSpec `json:"inlineVolumeSpec,omitempty" pb:"2"`
}

// VolumeAttachmentStatus is what the attacher reports.
type VolumeAttachmentStatus struct {
	// Whether the volume is attached.
	Attached bool `json:"attached" pb:"1"`
	// What later steps must be told, as the attacher returned it; at most 256 KiB.
	AttachmentMetadata map[string]string `json:"attachmentMetadata,omitempty" pb:"2"`
	// What last went wrong when the volume was attached.
	AttachError *VolumeError `json:"attachError,omitempty" pb:"3"`
	// What last went wrong when the volume was detached.
	DetachError *VolumeError `json:"detachError,omitempty" pb:"4"`
}

// VolumeError is something that went wrong with a volume.
type VolumeError struct {
	// When it went wrong.
	Time meta.Time `json:"time,omitempty" pb:"1"`
	// What went wrong; at most 1024 characters. It may be logged, so it must hold no secrets.
	Message string `json:"message,omitempty" pb:"2"`
	// Status code of the gRPC call that failed, if it was one.
	ErrorCode *int32 `json:"errorCode,omitempty" pb:"3"`
}
