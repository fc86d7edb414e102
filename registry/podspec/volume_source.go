package podspec

import (
	"net"
	"path"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file checks the volume types that both pods and PersistentVolumes have, and similar types.
// Most are plugins that newer kubelets no longer have. The API still has them, and so they are
// still checked. sources in volume.go and persistentSources in volume_persistent.go call the
// checks.
//
// A check without a comment only requires what the plugin cannot mount without: the name of a disk,
// the servers of a storage cluster, the name of the secret with the credentials. Nothing is looked
// up: whether the disk or the secret exists, the kubelet finds out when it mounts the volume.

// checkHostPath checks a path on the node. An empty type means that nothing is checked before the
// mount.
func checkHostPath(p *field.Path, s *corev1.HostPathVolumeSource) field.ErrorList {
	if s.Path == "" {
		return field.ErrorList{field.Required(p.Child("path"), "")}
	}
	errs := check.NoBacksteps(p.Child("path"), s.Path)
	return append(errs, check.OptionalOneOf(p.Child("type"), s.Type, corev1.HostPathUnset, corev1.HostPathBlockDev,
		corev1.HostPathCharDev, corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate, corev1.HostPathFile,
		corev1.HostPathFileOrCreate, corev1.HostPathSocket)...)
}

// checkNFS checks an NFS export. An empty path is reported twice: as missing and as not absolute.
func checkNFS(p *field.Path, s *corev1.NFSVolumeSource) field.ErrorList {
	errs := check.Required(p.Child("server"), s.Server)
	errs = append(errs, check.Required(p.Child("path"), s.Path)...)
	if !path.IsAbs(s.Path) {
		errs = append(errs, field.Invalid(p.Child("path"), s.Path, "must be an absolute path"))
	}
	return errs
}

// The three forms of iSCSI names (RFC 7143): iqn names have a date and a domain, eui and naa names
// are numbers. The dots of the last two stand for any character, and the first allows a prefix that
// begins with iqn: the patterns are kube-apiserver's.
var (
	iqnName = names.Pattern(`^(?s:iqn.*)?iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`)
	euiName = names.Pattern(`^eui.[[:alnum:]]{16}$`)
	naaName = names.Pattern(`^naa.[[:alnum:]]{32}$`)
)

// A named initiator gets an interface called <volume>:<portal>, whose length the iSCSI initiator of
// Linux bounds.
const (
	maxInitiator  = 64 // characters
	longInitiator = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is " +
		"specified."
)

// iscsiName checks the iSCSI name of a target or initiator.
func iscsiName(p *field.Path, name string) field.ErrorList {
	if iqnName().MatchString(name) || euiName().MatchString(name) || naaName().MatchString(name) {
		return nil
	}
	return field.ErrorList{field.Invalid(p, name, "must be valid format")}
}

// iscsiPodName is iscsiName for the volumes of pods. Its message differs for a name that begins
// with none of the three prefixes.
func iscsiPodName(p *field.Path, name string) field.ErrorList {
	for _, prefix := range []string{"iqn", "eui", "naa"} {
		if strings.HasPrefix(name, prefix) {
			return iscsiName(p, name)
		}
	}
	return field.ErrorList{field.Invalid(p, name, "must be valid format starting with iqn, eui, or naa")}
}

// checkISCSI checks an iSCSI disk of a pod. CHAP authentication needs a secret with the
// credentials.
func checkISCSI(p *field.Path, s *corev1.ISCSIVolumeSource) field.ErrorList {
	errs := check.Required(p.Child("targetPortal"), s.TargetPortal)
	errs = append(errs, check.Needed(p.Child("iqn"), s.IQN, iscsiPodName)...)
	errs = append(errs, check.InRange(p.Child("lun"), s.Lun, 0, 255)...)
	if (s.DiscoveryCHAPAuth || s.SessionCHAPAuth) && s.SecretRef == nil {
		errs = append(errs, field.Required(p.Child("secretRef"), ""))
	}
	if s.InitiatorName != nil {
		errs = append(errs, iscsiPodName(p.Child("initiatorname"), *s.InitiatorName)...)
	}
	return errs
}

// checkInitiator checks the length of the interface name of a named initiator. It is reported on
// the name of the volume, whether or not the iSCSI source is refused as a second source.
func checkInitiator(p *field.Path, v *corev1.Volume) field.ErrorList {
	if s := v.ISCSI; s.InitiatorName != nil && len(v.Name)+1+len(s.TargetPortal) > maxInitiator {
		return field.ErrorList{field.Invalid(p, v.Name, longInitiator)}
	}
	return nil
}

// checkFC checks a Fibre Channel disk: either target names with a LUN of 0 to 255, or world wide
// identifiers.
func checkFC(p *field.Path, s *corev1.FCVolumeSource) field.ErrorList {
	var errs field.ErrorList
	targets := p.Child("targetWWNs")
	switch {
	case len(s.TargetWWNs) == 0 && len(s.WWIDs) == 0:
		errs = append(errs, field.Required(targets, "must specify either targetWWNs or wwids, but not both"))
	case len(s.TargetWWNs) > 0 && len(s.WWIDs) > 0:
		errs = append(errs, field.Invalid(targets, s.TargetWWNs,
			"targetWWNs and wwids can not be specified simultaneously"))
	}
	if len(s.TargetWWNs) > 0 {
		if s.Lun == nil {
			errs = append(errs, field.Required(p.Child("lun"), "lun is required if targetWWNs is specified"))
		} else {
			errs = append(errs, check.InRange(p.Child("lun"), *s.Lun, 0, 255)...)
		}
	}
	return errs
}

// checkCSI checks an inline CSI volume.
func checkCSI(p *field.Path, s *corev1.CSIVolumeSource) field.ErrorList {
	errs := CSIDriverName(p.Child("driver"), s.Driver)
	if ref := s.NodePublishSecretRef; ref != nil {
		if ref.Name == "" {
			return append(errs, field.Required(p.Child("nodePublishSecretRef", "name"), ""))
		}
		errs = append(errs, check.DNSSubdomain(p.Child("name"), ref.Name)...)
	}
	return errs
}

const maxCSIDriver = 63 // characters

// CSIDriverName returns what is wrong with the name of a CSI driver at p. It is a DNS subdomain of
// at most 63 characters, in any case: drivers register under the name that the CSI specification
// allows.
func CSIDriverName(p *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	if len(name) > maxCSIDriver {
		errs = append(errs, field.TooLong(p, name, maxCSIDriver))
	}
	return append(errs, check.Invalid(p, name, names.IsDNS1123Subdomain(strings.ToLower(name)))...)
}

func checkGCEDisk(p *field.Path, s *corev1.GCEPersistentDiskVolumeSource) field.ErrorList {
	return append(check.Required(p.Child("pdName"), s.PDName), checkPartition(p, s.Partition)...)
}

func checkAWSDisk(p *field.Path, s *corev1.AWSElasticBlockStoreVolumeSource) field.ErrorList {
	return append(check.Required(p.Child("volumeID"), s.VolumeID), checkPartition(p, s.Partition)...)
}

// checkPartition checks a partition of a cloud disk; 0 means the whole disk, although the message
// says 1.
func checkPartition(p *field.Path, partition int32) field.ErrorList {
	if partition < 0 || partition > 255 {
		return field.ErrorList{field.Invalid(p.Child("partition"), partition, "must be between 1 and 255, inclusive")}
	}
	return nil
}

// managedDiskForm and blobDiskForm are how the two sorts of Azure disks are named.
const (
	managedDiskForm = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
	blobDiskForm    = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
)

// checkAzureDisk checks an Azure disk, whose kind decides the form of its URI.
func checkAzureDisk(p *field.Path, s *corev1.AzureDiskVolumeSource) field.ErrorList {
	errs := check.Required(p.Child("diskName"), s.DiskName)
	errs = append(errs, check.Required(p.Child("diskURI"), s.DataDiskURI)...)
	errs = append(errs, check.OptionalOneOf(p.Child("cachingMode"), s.CachingMode, corev1.AzureDataDiskCachingNone,
		corev1.AzureDataDiskCachingReadOnly, corev1.AzureDataDiskCachingReadWrite)...)
	if s.Kind == nil {
		return errs
	}
	errs = append(errs, check.Supported(p.Child("kind"), *s.Kind, corev1.AzureDedicatedBlobDisk,
		corev1.AzureManagedDisk, corev1.AzureSharedBlobDisk)...)
	managed := *s.Kind == corev1.AzureManagedDisk
	switch {
	case managed && !strings.HasPrefix(s.DataDiskURI, "/subscriptions/"):
		errs = append(errs, field.NotSupported(p.Child("diskURI"), s.DataDiskURI, []string{managedDiskForm}))
	case !managed && !strings.HasPrefix(s.DataDiskURI, "https://"):
		errs = append(errs, field.NotSupported(p.Child("diskURI"), s.DataDiskURI, []string{blobDiskForm}))
	}
	return errs
}

func checkAzureFile(p *field.Path, s *corev1.AzureFileVolumeSource) field.ErrorList {
	return append(check.Required(p.Child("secretName"), s.SecretName),
		check.Required(p.Child("shareName"), s.ShareName)...)
}

func checkCinder(p *field.Path, s *corev1.CinderVolumeSource) field.ErrorList {
	return append(check.Required(p.Child("volumeID"), s.VolumeID), checkSecretName(p, s.SecretRef)...)
}

func checkSecretName(p *field.Path, ref *corev1.LocalObjectReference) field.ErrorList {
	if ref == nil {
		return nil
	}
	return check.Required(p.Child("secretRef", "name"), ref.Name)
}

func checkVsphere(p *field.Path, s *corev1.VsphereVirtualDiskVolumeSource) field.ErrorList {
	return check.Required(p.Child("volumePath"), s.VolumePath)
}

func checkPhoton(p *field.Path, s *corev1.PhotonPersistentDiskVolumeSource) field.ErrorList {
	return check.Required(p.Child("pdID"), s.PdID)
}

func checkPortworx(p *field.Path, s *corev1.PortworxVolumeSource) field.ErrorList {
	return check.Required(p.Child("volumeID"), s.VolumeID)
}

// checkGitRepo checks a volume that clones a repository. The directory stays inside the volume.
func checkGitRepo(p *field.Path, s *corev1.GitRepoVolumeSource) field.ErrorList {
	return append(check.Required(p.Child("repository"), s.Repository),
		check.DescendingPath(p.Child("directory"), s.Directory)...)
}

func checkGlusterfs(p *field.Path, s *corev1.GlusterfsVolumeSource) field.ErrorList {
	return append(check.Required(p.Child("endpoints"), s.EndpointsName), check.Required(p.Child("path"), s.Path)...)
}

func checkRBD(p *field.Path, s *corev1.RBDVolumeSource) field.ErrorList {
	return append(checkMonitors(p, s.CephMonitors), check.Required(p.Child("image"), s.RBDImage)...)
}

func checkCephFS(p *field.Path, s *corev1.CephFSVolumeSource) field.ErrorList {
	return checkMonitors(p, s.Monitors)
}

func checkMonitors(p *field.Path, monitors []string) field.ErrorList {
	if len(monitors) == 0 {
		return field.ErrorList{field.Required(p.Child("monitors"), "")}
	}
	return nil
}

// checkFlocker checks a Flocker dataset, which has either a name or a UUID.
func checkFlocker(p *field.Path, s *corev1.FlockerVolumeSource) field.ErrorList {
	var errs field.ErrorList
	switch {
	case s.DatasetName == "" && s.DatasetUUID == "":
		errs = append(errs, field.Required(p, "one of datasetName and datasetUUID is required"))
	case s.DatasetName != "" && s.DatasetUUID != "":
		errs = append(errs, field.Invalid(p, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
	}
	if strings.Contains(s.DatasetName, "/") {
		errs = append(errs, field.Invalid(p.Child("datasetName"), s.DatasetName, "must not contain '/'"))
	}
	return errs
}

// maxQuobyteTenant is the most characters of a tenant's id.
const maxQuobyteTenant = 64

// checkQuobyte checks a Quobyte volume. The registry is a list of host:port pairs, separated by
// commas.
func checkQuobyte(p *field.Path, s *corev1.QuobyteVolumeSource) field.ErrorList {
	const registries = "must be a host:port pair or multiple pairs separated by commas"
	var errs field.ErrorList
	switch {
	case s.Registry == "":
		errs = append(errs, field.Required(p.Child("registry"), registries))
	case len(s.Tenant) > maxQuobyteTenant:
		errs = append(errs, field.Required(p.Child("tenant"),
			"must be a UUID and may not exceed a length of 64 characters"))
	default:
		pairs := strings.Split(s.Registry, ",")
		for _, pair := range field.Each(&errs, pairs) {
			if _, _, err := net.SplitHostPort(*pair); err != nil {
				errs = append(errs, field.Invalid(p.Child("registry"), s.Registry, registries))
			}
		}
	}
	return append(errs, check.Required(p.Child("volume"), s.Volume)...)
}

// checkFlex checks a volume of an exec plugin. Options of the kubernetes.io and k8s.io domains are
// reserved, because the kubelet itself passes such options, for example the file system type.
func checkFlex(p *field.Path, s *corev1.FlexVolumeSource) field.ErrorList {
	errs := check.Required(p.Child("driver"), s.Driver)
	for key := range field.Entries(&errs, s.Options) {
		namespace, _, _ := strings.Cut(key, "/")
		normal := "." + strings.ToLower(namespace)
		if strings.HasSuffix(normal, ".kubernetes.io") || strings.HasSuffix(normal, ".k8s.io") {
			errs = append(errs, field.Invalid(p.Child("options").Key(key), key,
				"kubernetes.io and k8s.io namespaces are reserved"))
		}
	}
	return errs
}

func checkStorageOS(p *field.Path, s *corev1.StorageOSVolumeSource) field.ErrorList {
	errs := check.Needed(p.Child("volumeName"), s.VolumeName, check.DNSLabel)
	errs = append(errs, check.Optional(p.Child("volumeNamespace"), s.VolumeNamespace, check.DNSLabel)...)
	return append(errs, checkSecretName(p, s.SecretRef)...)
}

func checkScaleIO(p *field.Path, s *corev1.ScaleIOVolumeSource) field.ErrorList {
	errs := check.Required(p.Child("gateway"), s.Gateway)
	errs = append(errs, check.Required(p.Child("system"), s.System)...)
	return append(errs, check.Required(p.Child("volumeName"), s.VolumeName)...)
}
