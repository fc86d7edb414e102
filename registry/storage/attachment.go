package storage

import (
	"math"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// volumeAttachments declares the resource volumeattachments: the intent to attach a volume to a
// node, and the result. An update of the status keeps metadata, and is validated like a whole
// object.
func volumeAttachments() registry.Resource {
	return registry.Typed(registry.ResourceOf[*storagev1.VolumeAttachment]{
		GroupResource: resource("volumeattachments"),
		Kind:          "VolumeAttachment",
		Strategy: registry.StrategyOf[*storagev1.VolumeAttachment]{Metadata: registry.MetaObject,
			Validate: checkAttachment},
		Status: &registry.StatusOf[*storagev1.VolumeAttachment]{
			Prepare:     registry.KeepMeta[*storagev1.VolumeAttachment],
			Validate:    checkAttachment,
			ResetFields: []string{"metadata", "spec"},
		},
		Table: &registry.TableOf[*storagev1.VolumeAttachment]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				{Name: "Attacher", Type: "string", Format: "name",
					Description: "Name of the CSI driver that attaches the volume."},
				registry.Column("PV", "Name of the persistent volume.", 0),
				registry.Column("Node", "Name of the node.", 0),
				registry.BooleanColumn("Attached", "Whether the volume is attached.", 0),
				registry.AgeColumn,
			},
			Cells: func(a *storagev1.VolumeAttachment, now time.Time) []any {
				volume := scheme.OrZero(a.Spec.Source.PersistentVolumeName)
				return []any{a.Name, a.Spec.Attacher, volume, a.Spec.NodeName, a.Status.Attached,
					registry.Age(&a.ObjectMeta, now)}
			},
		},
		ReturnsDeleted: true,
	})
}

// checkAttachment validates an attachment, for updates of the object and of the status. The spec
// never changes.
func checkAttachment(a, old *storagev1.VolumeAttachment) field.ErrorList {
	p := field.NewPath("spec")
	errs := podspec.CSIDriverName(p.Child("attacher"), a.Spec.Attacher)
	errs = append(errs, checkAttached(p.Child("source"), &a.Spec.Source)...)
	errs = append(errs, check.DNSSubdomain(p.Child("nodeName"), a.Spec.NodeName)...)
	status := field.NewPath("status")
	errs = append(errs, checkSize(status.Child("attachmentMetadata"), a.Status.AttachmentMetadata)...)
	errs = append(errs, checkVolumeError(status.Child("attachError"), a.Status.AttachError)...)
	errs = append(errs, checkVolumeError(status.Child("detachError"), a.Status.DetachError)...)
	if name := a.Spec.Source.PersistentVolumeName; name != nil {
		errs = append(errs, check.DNSSubdomain(p.Child("source", "persistentVolumeName"), *name)...)
	}
	if old != nil {
		errs = append(errs, check.Immutable(p, &a.Spec, &old.Spec)...)
	}
	return errs
}

// checkAttached checks the source: the name of a persistent volume, or the spec of a volume inside
// a pod, not both.
func checkAttached(p *field.Path, s *storagev1.VolumeAttachmentSource) field.ErrorList {
	const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	switch name, spec := s.PersistentVolumeName, s.InlineVolumeSpec; {
	case name == nil && spec == nil:
		return field.ErrorList{field.Required(p, one)}
	case name != nil && spec != nil:
		return field.ErrorList{field.Forbidden(p, one)}
	case spec != nil:
		return podspec.InlineVolume(p.Child("inlineVolumeSpec"), spec)
	case *name == "":
		return field.ErrorList{field.Required(p.Child("persistentVolumeName"),
			"must specify non empty persistentVolumeName")}
	}
	return nil
}

// maxErrorMessage is the bound of an error's message, in bytes. As in kube-apiserver, the error
// about a longer message names another bound, maxParameterSize.
const maxErrorMessage = 1024

// checkVolumeError checks an error of attaching or detaching. It may be nil.
func checkVolumeError(p *field.Path, e *storagev1.VolumeError) field.ErrorList {
	if e == nil {
		return nil
	}
	var errs field.ErrorList
	if len(e.Message) > maxErrorMessage {
		errs = append(errs, field.TooLong(p.Child("message"), "", maxParameterSize))
	}
	if code := e.ErrorCode; code != nil && *code < 0 {
		errs = append(errs, field.Invalid(p.Child("errorCode"), *code, names.RangeError(0, math.MaxInt32)))
	}
	return errs
}
