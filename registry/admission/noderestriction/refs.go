package noderestriction

import (
	"fmt"
	"reflect"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// This file finds the references of a pod to other objects. mirrorPod (pod.go) refuses a mirror pod
// that has any: static pods come from files on the node and cannot use them, so such a pod would
// only make the authorizer let the kubelet read the objects.

// refersTo returns which resource a pod refers to, "" if it refers to none. The order of the checks
// is that of kube-apiserver, because the first hit is in the message.
func refersTo(pod *corev1.Pod) (string, error) {
	if pod.Spec.ServiceAccountName != "" {
		return "serviceaccounts", nil
	}
	switch secrets, configMaps := admission.DataOf(&pod.Spec); {
	case secrets:
		return "secrets", nil
	case configMaps:
		return "configmaps", nil
	case len(pod.Spec.ResourceClaims) > 0:
		return "resourceclaims", nil
	}
	for i := range pod.Spec.Volumes {
		if what, err := volumeRefersTo(&pod.Spec.Volumes[i]); what != "" || err != nil {
			return what, err
		}
	}
	return "", nil
}

// volumeRefersTo returns which resource a volume refers to, "" if it refers to none. It goes by the
// type of the volume alone, so it also finds references without a name, which admission.DataOf
// passes.
func volumeRefersTo(v *corev1.Volume) (string, error) {
	switch {
	case v.ConfigMap != nil:
		return "configmaps (via configmap volumes)", nil
	case v.Secret != nil:
		return "secrets (via secret volumes)", nil
	case v.CSI != nil:
		return "csidrivers (via CSI volumes)", nil
	case v.Glusterfs != nil:
		return "endpoints (via glusterFS volumes)", nil
	case v.PersistentVolumeClaim != nil:
		return "persistentvolumeclaims", nil
	case v.Ephemeral != nil:
		return "persistentvolumeclaims (via ephemeral volumes)", nil
	case v.AzureFile != nil:
		return "secrets (via azureFile volumes)", nil
	case v.Projected != nil:
		return projectionRefersTo(v)
	case reflect.ValueOf(v.VolumeSource).IsZero():
		return "", fmt.Errorf("unknown volume type for volume  %q", v.Name)
	}
	return "", nil
}

// projectionRefersTo is volumeRefersTo for a projected volume: its first source that refers to a
// resource counts.
func projectionRefersTo(v *corev1.Volume) (string, error) {
	for i := range v.Projected.Sources {
		switch s := &v.Projected.Sources[i]; {
		case s.ConfigMap != nil:
			return "configmaps (via projected volumes)", nil
		case s.Secret != nil:
			return "secrets (via projected volumes)", nil
		case s.ServiceAccountToken != nil:
			return "serviceaccounts (via projected volumes)", nil
		case s.ClusterTrustBundle != nil:
			return "clustertrustbundles", nil
		case s.PodCertificate != nil:
			return "podcertificates", nil
		case s.DownwardAPI != nil:
		default:
			return "", fmt.Errorf("unknown source for projected volume %q", v.Name)
		}
	}
	return "", nil
}
