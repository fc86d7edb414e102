package podspec

import (
	"path"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// This file checks PersistentVolumes for registry/core, and the inline volumes of VolumeAttachments
// for registry/storage. Many types have a variant for PersistentVolumes, whose secrets may be in
// any namespace because a PersistentVolume has none. The check of a variant takes the fields that
// both have to the check for pods, and adds its own rule for the namespace, if there is one.

// PersistentVolume returns what is wrong with the spec at p of the PersistentVolume called name.
// nodeAffinity needs a required part; volumeAttributesClassName needs a CSI volume (KEP-3751).
func PersistentVolume(p *field.Path, spec *corev1.PersistentVolumeSpec, name string) field.ErrorList {
	errs := checkVolumeModes(p, spec)
	errs = append(errs, checkCapacity(p.Child("capacity"), spec.Capacity)...)
	if spec.PersistentVolumeReclaimPolicy != "" {
		errs = append(errs, check.Supported(p.Child("persistentVolumeReclaimPolicy"),
			spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimDelete,
			corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain)...)
	}
	if affinity := spec.NodeAffinity; affinity != nil {
		at := p.Child("nodeAffinity", "required")
		if affinity.Required == nil {
			errs = append(errs, field.Required(at, "must specify required node constraints"))
		} else {
			errs = append(errs, NodeSelector(at, affinity.Required)...)
		}
	}
	errs = append(errs, checkVolumeSource(p, spec, name, spec.NodeAffinity != nil)...)
	errs = append(errs, check.Optional(p.Child("storageClassName"), spec.StorageClassName, check.DNSSubdomain)...)
	errs = append(errs, check.OptionalOneOf(p.Child("volumeMode"), spec.VolumeMode,
		corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)...)
	if class := spec.VolumeAttributesClassName; class != nil {
		if at := p.Child("volumeAttributesClassName"); *class == "" {
			errs = append(errs, field.Required(at, "an empty string is disallowed"))
		} else {
			errs = append(errs, check.DNSSubdomain(at, *class)...)
		}
		if spec.CSI == nil {
			errs = append(errs, field.Required(p.Child("csi"),
				"has to be specified when using volumeAttributesClassName"))
		}
	}
	return errs
}

// InlineVolume returns what is wrong with the spec at p of the volume inside a VolumeAttachment.
// Such a spec is made from an in-tree volume of a pod when CSI migration is on. It is a CSI volume,
// and has none of the fields that bind a PersistentVolume to a claim.
func InlineVolume(p *field.Path, spec *corev1.PersistentVolumeSpec) field.ErrorList {
	const inline = " in the context of inline volumes"
	forbid := func(fields ...check.Setting) field.ErrorList {
		return check.Forbidden(p, "may not be specified"+inline, fields)
	}
	errs := forbid(check.Setting{"claimRef", spec.ClaimRef != nil}, check.Setting{"capacity", len(spec.Capacity) > 0})
	if spec.CSI == nil {
		errs = append(errs, field.Required(p.Child("csi"), "has to be specified"+inline))
	}
	errs = append(errs, checkVolumeModes(p, spec)...)
	if policy := spec.PersistentVolumeReclaimPolicy; policy != "" && policy != corev1.PersistentVolumeReclaimRetain {
		errs = append(errs, field.Forbidden(p.Child("persistentVolumeReclaimPolicy"), "may only be Retain"+inline))
	}
	errs = append(errs, forbid(check.Setting{"nodeAffinity", spec.NodeAffinity != nil})...)
	errs = append(errs, checkVolumeSource(p, spec, "", false)...)
	errs = append(errs, forbid(check.Setting{"storageClassName", spec.StorageClassName != ""})...)
	if spec.VolumeMode != nil && *spec.VolumeMode != corev1.PersistentVolumeFilesystem {
		errs = append(errs, field.Forbidden(p.Child("volumeMode"),
			"may not specify volumeMode other than Filesystem"+inline))
	}
	return errs
}

// checkVolumeModes checks the access modes, of which there must be at least one.
func checkVolumeModes(p *field.Path, spec *corev1.PersistentVolumeSpec) field.ErrorList {
	if len(spec.AccessModes) == 0 {
		return field.ErrorList{field.Required(p.Child("accessModes"), "")}
	}
	return checkAccessModes(p.Child("accessModes"), spec.AccessModes)
}

// checkCapacity checks that the capacity is a positive amount of storage, and of nothing else.
func checkCapacity(p *field.Path, capacity corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	if len(capacity) == 0 {
		errs = append(errs, field.Required(p, ""))
	}
	if _, ok := capacity[corev1.ResourceStorage]; !ok || len(capacity) > 1 {
		errs = append(errs, field.NotSupported(p, capacity, []corev1.ResourceName{corev1.ResourceStorage}))
	}
	for name, q := range field.Entries(&errs, capacity) {
		errs = append(errs, BasicAmount(p.Key(string(name)), q)...)
		errs = append(errs, check.PositiveQuantity(p.Key(string(name)), q)...)
	}
	return errs
}

// checkVolumeSource checks that a volume has exactly one source, and the source. name is that of
// the volume, affinity whether it has nodeAffinity. The root of a node must not be recycled: the
// recycler would delete all of it.
func checkVolumeSource(p *field.Path, spec *corev1.PersistentVolumeSpec, name string, affinity bool) field.ErrorList {
	errs, n := union(p, persistentSources(p, spec, name, affinity))
	if n == 0 {
		errs = append(errs, field.Required(p, "must specify a volume type"))
	}
	recycled := spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle
	if recycled && spec.HostPath != nil && path.Clean(spec.HostPath.Path) == "/" {
		errs = append(errs, field.Forbidden(p.Child("persistentVolumeReclaimPolicy"),
			"may not be 'recycle' for a hostPath mount of '/'"))
	}
	return errs
}

// persistentSources lists the checks of all types of PersistentVolumes, in kube-apiserver's order.
// Some report under another name than the field has. A flexVolume is checked rather than refused
// when it is a second source, as in kube-apiserver.
func persistentSources(p *field.Path, s *corev1.PersistentVolumeSpec, name string, affinity bool) []checker {
	iscsi := func(p *field.Path, s *corev1.ISCSIPersistentVolumeSource) field.ErrorList {
		return checkISCSIVolume(p, s, name)
	}
	local := func(at *field.Path, s *corev1.LocalVolumeSource) field.ErrorList {
		errs := check.Needed(at.Child("path"), s.Path, check.NoBacksteps)
		if !affinity {
			errs = append(errs, field.Required(p.Child("nodeAffinity"), "Local volume requires node affinity"))
		}
		return errs
	}
	flex := member("flexVolume", s.FlexVolume, checkFlexVolume)
	flex.beside = true
	return []checker{
		member("hostPath", s.HostPath, checkHostPath),
		member("gcePersistentDisk", s.GCEPersistentDisk, checkGCEDisk).at("persistentDisk"),
		member("awsElasticBlockStore", s.AWSElasticBlockStore, checkAWSDisk),
		member("glusterfs", s.Glusterfs, checkGlusterfsVolume),
		member("flocker", s.Flocker, checkFlocker),
		member("nfs", s.NFS, checkNFS),
		member("rbd", s.RBD, checkRBDVolume),
		member("quobyte", s.Quobyte, checkQuobyte),
		member("cephFS", s.CephFS, checkCephFSVolume).at("cephfs"),
		member("iscsi", s.ISCSI, iscsi),
		member("cinder", s.Cinder, checkCinderVolume),
		member("fc", s.FC, checkFC),
		flex,
		member("azureFile", s.AzureFile, checkAzureFileVolume),
		member("vsphereVolume", s.VsphereVolume, checkVsphere),
		member("photonPersistentDisk", s.PhotonPersistentDisk, checkPhoton),
		member("portworxVolume", s.PortworxVolume, checkPortworx),
		member("azureDisk", s.AzureDisk, checkAzureDisk),
		member("scaleIO", s.ScaleIO, checkScaleIOVolume),
		member("local", s.Local, local),
		member("storageos", s.StorageOS, checkStorageOSVolume),
		member("csi", s.CSI, checkCSIVolume),
	}
}

// checkCSIVolume checks a CSI volume and the secrets that the driver's calls get.
func checkCSIVolume(p *field.Path, s *corev1.CSIPersistentVolumeSource) field.ErrorList {
	errs := CSIDriverName(p.Child("driver"), s.Driver)
	errs = append(errs, check.Required(p.Child("volumeHandle"), s.VolumeHandle)...)
	for _, secret := range []struct {
		name string
		ref  *corev1.SecretReference
	}{
		{"controllerPublishSecretRef", s.ControllerPublishSecretRef},
		{"controllerExpandSecretRef", s.ControllerExpandSecretRef},
		{"nodePublishSecretRef", s.NodePublishSecretRef}, {"nodeExpandSecretRef", s.NodeExpandSecretRef},
	} {
		if secret.ref != nil {
			at := p.Child(secret.name)
			errs = append(errs, check.Needed(at.Child("name"), secret.ref.Name, check.DNSSubdomain)...)
			errs = append(errs, check.Needed(at.Child("namespace"), secret.ref.Namespace, check.DNSLabel)...)
		}
	}
	return errs
}

// checkISCSIVolume is checkISCSI for PersistentVolumes. name is that of the volume.
func checkISCSIVolume(p *field.Path, s *corev1.ISCSIPersistentVolumeSource, name string) field.ErrorList {
	errs := check.Required(p.Child("targetPortal"), s.TargetPortal)
	if s.InitiatorName != nil && len(name)+1+len(s.TargetPortal) > maxInitiator {
		errs = append(errs, field.Invalid(p.Child("targetportal"), s.TargetPortal, longInitiator))
	}
	errs = append(errs, check.Needed(p.Child("iqn"), s.IQN, iscsiName)...)
	errs = append(errs, check.InRange(p.Child("lun"), s.Lun, 0, 255)...)
	if s.SecretRef != nil {
		errs = append(errs, check.Required(p.Child("secretRef", "name"), s.SecretRef.Name)...)
	} else if s.DiscoveryCHAPAuth || s.SessionCHAPAuth {
		errs = append(errs, field.Required(p.Child("secretRef"), ""))
	}
	if s.InitiatorName != nil {
		errs = append(errs, iscsiName(p.Child("initiatorname"), *s.InitiatorName)...)
	}
	return errs
}

// checkGlusterfsVolume is checkGlusterfs for PersistentVolumes, which also have the namespace of
// the endpoints; nil means the namespace of the claim.
func checkGlusterfsVolume(p *field.Path, s *corev1.GlusterfsPersistentVolumeSource) field.ErrorList {
	errs := checkGlusterfs(p, &corev1.GlusterfsVolumeSource{EndpointsName: s.EndpointsName, Path: s.Path})
	if ns := s.EndpointsNamespace; ns != nil {
		if at := p.Child("endpointsNamespace"); *ns == "" {
			errs = append(errs, field.Invalid(at, *ns, "if the endpointnamespace is set, it must be a valid namespace name"))
		} else {
			errs = append(errs, check.DNSLabel(at, *ns)...)
		}
	}
	return errs
}

func checkRBDVolume(p *field.Path, s *corev1.RBDPersistentVolumeSource) field.ErrorList {
	return checkRBD(p, &corev1.RBDVolumeSource{CephMonitors: s.CephMonitors, RBDImage: s.RBDImage})
}

func checkCephFSVolume(p *field.Path, s *corev1.CephFSPersistentVolumeSource) field.ErrorList {
	return checkMonitors(p, s.Monitors)
}

func checkCinderVolume(p *field.Path, s *corev1.CinderPersistentVolumeSource) field.ErrorList {
	errs := check.Required(p.Child("volumeID"), s.VolumeID)
	if s.SecretRef != nil {
		errs = append(errs, checkSecretReference(p.Child("secretRef"), s.SecretRef.Name, s.SecretRef.Namespace)...)
	}
	return errs
}

// checkSecretReference checks that a reference to a secret has a name and a namespace.
func checkSecretReference(p *field.Path, name, namespace string) field.ErrorList {
	return append(check.Required(p.Child("name"), name), check.Required(p.Child("namespace"), namespace)...)
}

func checkFlexVolume(p *field.Path, s *corev1.FlexPersistentVolumeSource) field.ErrorList {
	return checkFlex(p, &corev1.FlexVolumeSource{Driver: s.Driver, Options: s.Options})
}

func checkAzureFileVolume(p *field.Path, s *corev1.AzureFilePersistentVolumeSource) field.ErrorList {
	errs := checkAzureFile(p, &corev1.AzureFileVolumeSource{SecretName: s.SecretName, ShareName: s.ShareName})
	if s.SecretNamespace != nil {
		errs = append(errs, check.Required(p.Child("secretNamespace"), *s.SecretNamespace)...)
	}
	return errs
}

func checkScaleIOVolume(p *field.Path, s *corev1.ScaleIOPersistentVolumeSource) field.ErrorList {
	return checkScaleIO(p, &corev1.ScaleIOVolumeSource{Gateway: s.Gateway, System: s.System, VolumeName: s.VolumeName})
}

func checkStorageOSVolume(p *field.Path, s *corev1.StorageOSPersistentVolumeSource) field.ErrorList {
	errs := checkStorageOS(p,
		&corev1.StorageOSVolumeSource{VolumeName: s.VolumeName, VolumeNamespace: s.VolumeNamespace})
	if s.SecretRef != nil {
		errs = append(errs, checkSecretReference(p.Child("secretRef"), s.SecretRef.Name, s.SecretRef.Namespace)...)
	}
	return errs
}

// PersistentVolumeWarnings returns warnings about deprecated annotations, reclaim policy, node
// labels and volume types of a PersistentVolume.
func PersistentVolumeWarnings(v *corev1.PersistentVolume) []string {
	w, p, spec := &warner{}, field.NewPath("spec"), &v.Spec
	for _, old := range []struct{ key, msg string }{
		{corev1.BetaStorageClassAnnotation, `deprecated since v1.8; use "storageClassName" attribute instead`},
		{corev1.MountOptionsAnnotation, `deprecated since v1.31; use "mountOptions" attribute instead`},
	} {
		if _, ok := v.Annotations[old.key]; ok {
			w.add(field.NewPath("metadata", "annotations").Key(old.key), "%s", old.msg)
		}
	}
	if spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		w.add(p.Child("persistentVolumeReclaimPolicy"),
			"The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.")
	}
	if spec.NodeAffinity != nil && spec.NodeAffinity.Required != nil {
		terms := p.Child("nodeAffinity", "required", "nodeSelectorTerms")
		for i, t := range each(w, spec.NodeAffinity.Required.NodeSelectorTerms) {
			w.nodeTerm(terms.Index(i), t, false)
		}
	}
	for _, old := range []struct {
		name string
		set  bool
		msg  string
	}{
		{"cephfs", spec.CephFS != nil, "deprecated in v1.28, non-functional in v1.31+"},
		{"photonPersistentDisk", spec.PhotonPersistentDisk != nil, "deprecated in v1.11, non-functional in v1.16+"},
		{"scaleIO", spec.ScaleIO != nil, "deprecated in v1.16, non-functional in v1.22+"},
		{"storageOS", spec.StorageOS != nil, "deprecated in v1.22, non-functional in v1.25+"},
		{"glusterfs", spec.Glusterfs != nil, "deprecated in v1.25, non-functional in v1.26+"},
		{"rbd", spec.RBD != nil, "deprecated in v1.28, non-functional in v1.31+"},
	} {
		if old.set {
			w.add(p.Child(old.name), "%s", old.msg)
		}
	}
	return w.list
}
