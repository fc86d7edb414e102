package admission

import "github.com/coracle-project/coracle/scheme/api/corev1"

// DataOf reports whether a pod names secrets or config maps: in environment variables, in volumes,
// or to pull images. References without a name do not count. Claims and volumes that the pod names
// are not followed. The plugins ServiceAccount and NodeRestriction ask it about mirror pods.
func DataOf(spec *corev1.PodSpec) (secrets, configMaps bool) {
	secrets, configMaps = variables(spec)
	for i := range spec.ImagePullSecrets {
		secrets = secrets || spec.ImagePullSecrets[i].Name != ""
	}
	for i := range spec.Volumes {
		s, c := volumeData(&spec.Volumes[i].VolumeSource)
		secrets, configMaps = secrets || s, configMaps || c
	}
	return secrets, configMaps
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
