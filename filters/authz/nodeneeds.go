package authz

import (
	"cmp"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// This file lists what a kubelet reads to run a pod: podNeeds for the pod, volumeNeeds for a
// persistent volume. NodeGraph calls both.

// podNeeds returns the objects that a kubelet reads to run a pod: service account, secrets,
// configmaps, claims.
func podNeeds(pod *corev1.Pod) []vertex {
	l := needs{namespace: pod.Namespace}
	spec := &pod.Spec
	l.add(serviceAccountSort, spec.ServiceAccountName)
	for i := range spec.ImagePullSecrets {
		l.add(secretSort, spec.ImagePullSecrets[i].Name)
	}
	for _, list := range [...][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			l.addVariables(list[i].EnvFrom, list[i].Env)
		}
	}
	for i := range spec.EphemeralContainers {
		c := &spec.EphemeralContainers[i].EphemeralContainerCommon
		l.addVariables(c.EnvFrom, c.Env)
	}
	for i := range spec.Volumes {
		l.addVolume(pod, &spec.Volumes[i])
	}
	for i := range spec.ResourceClaims {
		l.add(resourceClaimSort, resourceClaim(pod, &spec.ResourceClaims[i]))
	}
	if made := pod.Status.ExtendedResourceClaimStatus; made != nil {
		l.add(resourceClaimSort, made.ResourceClaimName)
	}
	return l.list
}

// needs collects objects in the pod's namespace.
type needs struct {
	namespace string
	list      []vertex
}

// add adds an object, unless its name is empty.
func (l *needs) add(s objectSort, name string) {
	if name != "" {
		l.list = append(l.list, vertexOf(s, l.namespace, name))
	}
}

// addRef adds the secret that ref names; ref may be nil.
func (l *needs) addRef(ref *corev1.LocalObjectReference) {
	if ref != nil {
		l.add(secretSort, ref.Name)
	}
}

// addVariables adds the secrets and configmaps from which environment variables come.
func (l *needs) addVariables(from []corev1.EnvFromSource, vars []corev1.EnvVar) {
	for i := range from {
		if r := from[i].SecretRef; r != nil {
			l.add(secretSort, r.Name)
		}
		if r := from[i].ConfigMapRef; r != nil {
			l.add(configMapSort, r.Name)
		}
	}
	for i := range vars {
		value := vars[i].ValueFrom
		if value == nil {
			continue
		}
		if r := value.SecretKeyRef; r != nil {
			l.add(secretSort, r.Name)
		}
		if r := value.ConfigMapKeyRef; r != nil {
			l.add(configMapSort, r.Name)
		}
	}
}

// addVolume adds the claims, secrets and configmaps that a volume refers to. A volume has exactly
// one source; sources that are not here refer to no such object.
func (l *needs) addVolume(pod *corev1.Pod, v *corev1.Volume) {
	switch {
	case v.PersistentVolumeClaim != nil:
		l.add(claimSort, v.PersistentVolumeClaim.ClaimName)
	case v.Ephemeral != nil:
		l.add(claimSort, pod.Name+"-"+v.Name)
	case v.Secret != nil:
		l.add(secretSort, v.Secret.SecretName)
	case v.ConfigMap != nil:
		l.add(configMapSort, v.ConfigMap.Name)
	case v.Projected != nil:
		for i := range v.Projected.Sources {
			if s := v.Projected.Sources[i].Secret; s != nil {
				l.add(secretSort, s.Name)
			}
			if c := v.Projected.Sources[i].ConfigMap; c != nil {
				l.add(configMapSort, c.Name)
			}
		}
	case v.CSI != nil:
		l.addRef(v.CSI.NodePublishSecretRef)
	case v.AzureFile != nil:
		l.add(secretSort, v.AzureFile.SecretName)
	case v.CephFS != nil:
		l.addRef(v.CephFS.SecretRef)
	case v.Cinder != nil:
		l.addRef(v.Cinder.SecretRef)
	case v.FlexVolume != nil:
		l.addRef(v.FlexVolume.SecretRef)
	case v.RBD != nil:
		l.addRef(v.RBD.SecretRef)
	case v.ScaleIO != nil:
		l.addRef(v.ScaleIO.SecretRef)
	case v.ISCSI != nil:
		l.addRef(v.ISCSI.SecretRef)
	case v.StorageOS != nil:
		l.addRef(v.StorageOS.SecretRef)
	}
}

// volumeNeeds returns the secrets that a kubelet reads for a persistent volume, which must have a
// claim.
func volumeNeeds(pv *corev1.PersistentVolume) []vertex {
	var list []vertex
	add := func(namespace, name string) {
		if name != "" {
			list = append(list, vertexOf(secretSort, namespace, name))
		}
	}
	own := pv.Spec.ClaimRef.Namespace
	// The secrets of some volume types default to the namespace of the claim.
	addDefaulted := func(ref *corev1.SecretReference) {
		if ref != nil {
			add(cmp.Or(ref.Namespace, own), ref.Name)
		}
	}
	addNamed := func(ref *corev1.SecretReference) {
		if ref != nil {
			add(ref.Namespace, ref.Name)
		}
	}
	switch s := &pv.Spec.PersistentVolumeSource; {
	case s.AzureFile != nil:
		add(cmp.Or(scheme.OrZero(s.AzureFile.SecretNamespace), own), s.AzureFile.SecretName)
	case s.CephFS != nil:
		addDefaulted(s.CephFS.SecretRef)
	case s.Cinder != nil:
		addNamed(s.Cinder.SecretRef)
	case s.FlexVolume != nil:
		addDefaulted(s.FlexVolume.SecretRef)
	case s.RBD != nil:
		addDefaulted(s.RBD.SecretRef)
	case s.ScaleIO != nil:
		addDefaulted(s.ScaleIO.SecretRef)
	case s.ISCSI != nil:
		addDefaulted(s.ISCSI.SecretRef)
	case s.StorageOS != nil:
		if ref := s.StorageOS.SecretRef; ref != nil {
			add(ref.Namespace, ref.Name)
		}
	case s.CSI != nil:
		addNamed(s.CSI.NodePublishSecretRef)
		addNamed(s.CSI.NodeStageSecretRef)
		addNamed(s.CSI.NodeExpandSecretRef)
	}
	return list
}
