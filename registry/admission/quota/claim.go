package quota

import (
	"strings"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file computes the usage of PersistentVolumeClaims. quota.go calls it.

// volumeClaimEvaluator is the evaluator of PersistentVolumeClaims, which use storage, also by
// storage class.
type volumeClaimEvaluator struct{}

// handles is true for creates, updates and changes of the status. A controller writes into the
// status how much storage is allocated for the claim, and which class the volume has.
func (volumeClaimEvaluator) handles(a *admission.Attributes) bool {
	return a.Subresource == "" || a.Subresource == "status" && a.Operation == admission.Update
}

const (
	volumeClaimCount corev1.ResourceName = "count/persistentvolumeclaims"
	// ofStorageClass stands between the name of a storage class and the name of the limited
	// resource.
	ofStorageClass = ".storageclass.storage.k8s.io/"
	// classAnnotation is the deprecated annotation for the class of a claim. It wins over the spec.
	classAnnotation = "volume.beta.kubernetes.io/storage-class"
)

func (volumeClaimEvaluator) tracks(name corev1.ResourceName, _ []*resourcev1.DeviceClass) bool {
	switch name {
	case volumeClaimCount, corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage:
		return true
	}
	return strings.HasSuffix(string(name), ofStorageClass+string(corev1.ResourcePersistentVolumeClaims)) ||
		strings.HasSuffix(string(name), ofStorageClass+string(corev1.ResourceRequestsStorage))
}

func (volumeClaimEvaluator) usage(obj meta.Typed, _ Surroundings) Amounts {
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil
	}
	list := make(Amounts, 0, 5)
	list = append(list, Amount{corev1.ResourcePersistentVolumeClaims, one}, Amount{volumeClaimCount, one})
	storage, asks := storageOf(claim)
	if asks {
		list = append(list, Amount{corev1.ResourceRequestsStorage, storage})
	}
	class := storageClass(claim)
	if class == "" {
		return list
	}
	prefix := corev1.ResourceName(class + ofStorageClass)
	list = append(list, Amount{prefix + corev1.ResourcePersistentVolumeClaims, one})
	if asks {
		list = append(list, Amount{prefix + corev1.ResourceRequestsStorage, storage})
	}
	return list
}

// storageClass returns the class of a claim, "" if it has none.
func storageClass(claim *corev1.PersistentVolumeClaim) string {
	if class, ok := claim.Annotations[classAnnotation]; ok {
		return class
	}
	if class := claim.Spec.StorageClassName; class != nil {
		return *class
	}
	return ""
}

// storageOf returns the storage that a claim uses, in whole bytes: the request, or the allocated
// amount if that is larger. It reports false if the claim requests no storage.
func storageOf(claim *corev1.PersistentVolumeClaim) (meta.Quantity, bool) {
	request, ok := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if !ok {
		return request, false
	}
	request = request.RoundUp(0)
	if aside, ok := claim.Status.AllocatedResources[corev1.ResourceStorage]; ok && aside.Cmp(request) > 0 {
		return aside.RoundUp(0), true
	}
	return request, true
}

// inScope is true in the scope VolumeAttributesClass if one of three classes fits: the current one,
// the wanted one, or the target of a change that is under way.
func (volumeClaimEvaluator) inScope(r *corev1.ScopedResourceSelectorRequirement, obj meta.Typed) (bool, error) {
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok || r.ScopeName != corev1.ResourceQuotaScopeVolumeAttributesClass {
		return false, nil
	}
	var room [3]string
	classes := room[:0]
	wants, has := claim.Spec.VolumeAttributesClassName, claim.Status.CurrentVolumeAttributesClassName
	for _, name := range [...]*string{wants, has} {
		if name != nil && *name != "" {
			classes = append(classes, *name)
		}
	}
	if change := claim.Status.ModifyVolumeStatus; change != nil && change.TargetVolumeAttributesClassName != "" {
		classes = append(classes, change.TargetVolumeAttributesClassName)
	}
	return compare(r, classes...)
}

func (volumeClaimEvaluator) lacks(corev1.ResourceList, meta.Typed) error { return nil }
