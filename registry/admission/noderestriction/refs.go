package noderestriction

import (
	"fmt"
	"reflect"

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
	secrets, configMaps := variables(&pod.Spec)
	for i := range pod.Spec.ImagePullSecrets {
		secrets = secrets || pod.Spec.ImagePullSecrets[i].Name != ""
	}
	for i := range pod.Spec.Volumes {
		s, c := volumeData(&pod.Spec.Volumes[i].VolumeSource)
		secrets, configMaps = secrets || s, configMaps || c
	}
	switch {
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

// variables reports whether environment variables of containers come from secrets or config maps.
func variables(spec *corev1.PodSpec) (secrets, configMaps bool) {
	look := func(c *corev1.Container) {
		for i := range c.EnvFrom {
			from := &c.EnvFrom[i]
			secrets = secrets || from.SecretRef != nil && from.SecretRef.Name != ""
			configMaps = configMaps || from.ConfigMapRef != nil && from.ConfigMapRef.Name != ""
		}
		for i := range c.Env {
			if from := c.Env[i].ValueFrom; from != nil {
				secrets = secrets || from.SecretKeyRef != nil && from.SecretKeyRef.Name != ""
				configMaps = configMaps || from.ConfigMapKeyRef != nil && from.ConfigMapKeyRef.Name != ""
			}
		}
	}
	for _, list := range [...][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			look(&list[i])
		}
	}
	for i := range spec.EphemeralContainers {
		c := &spec.EphemeralContainers[i].EphemeralContainerCommon
		look(&corev1.Container{EnvFrom: c.EnvFrom, Env: c.Env})
	}
	return secrets, configMaps
}

// volumeData reports whether a volume names a secret or a config map. Volumes of the types that are
// not listed cannot name either.
func volumeData(v *corev1.VolumeSource) (secrets, configMaps bool) {
	named := func(ref *corev1.LocalObjectReference) bool { return ref != nil && ref.Name != "" }
	switch {
	case v.AzureFile != nil:
		return v.AzureFile.SecretName != "", false
	case v.CephFS != nil:
		return named(v.CephFS.SecretRef), false
	case v.Cinder != nil:
		return named(v.Cinder.SecretRef), false
	case v.FlexVolume != nil:
		return named(v.FlexVolume.SecretRef), false
	case v.Projected != nil:
		for i := range v.Projected.Sources {
			s := &v.Projected.Sources[i]
			secrets = secrets || s.Secret != nil && s.Secret.Name != ""
			configMaps = configMaps || s.ConfigMap != nil && s.ConfigMap.Name != ""
		}
		return secrets, configMaps
	case v.RBD != nil:
		return named(v.RBD.SecretRef), false
	case v.Secret != nil:
		return v.Secret.SecretName != "", false
	case v.ConfigMap != nil:
		return false, v.ConfigMap.Name != ""
	case v.ScaleIO != nil:
		return named(v.ScaleIO.SecretRef), false
	case v.ISCSI != nil:
		return named(v.ISCSI.SecretRef), false
	case v.StorageOS != nil:
		return named(v.StorageOS.SecretRef), false
	case v.CSI != nil:
		return named(v.CSI.NodePublishSecretRef), false
	}
	return false, false
}

// volumeRefersTo returns which resource a volume refers to, "" if it refers to none. It goes by the
// type of the volume alone, so it also finds references without a name, which volumeData passes.
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
