package podspec

import (
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// oldSources are the sources that are deprecated: their data is still checked, in case somebody serves them.
func oldSources(s *corev1.VolumeSource) []checker {
	return append(diskSources(s), clusterSources(s)...)
}

// diskSources are disks of clouds and hypervisors.
func diskSources(s *corev1.VolumeSource) []checker {
	return []checker{
		{"gcePersistentDisk", s.GCEPersistentDisk != nil, func(p *field.Path) field.ErrorList {
			return checkDisk(p.Child("pdName"), s.GCEPersistentDisk.PDName, p.Child("partition"), s.GCEPersistentDisk.Partition)
		}},
		{"awsElasticBlockStore", s.AWSElasticBlockStore != nil, func(p *field.Path) field.ErrorList {
			aws := s.AWSElasticBlockStore
			return checkDisk(p.Child("volumeID"), aws.VolumeID, p.Child("partition"), aws.Partition)
		}},
		{"cinder", s.Cinder != nil, func(p *field.Path) field.ErrorList {
			errs := check.Required(p.Child("volumeID"), s.Cinder.VolumeID)
			if s.Cinder.SecretRef != nil {
				errs = append(errs, check.Required(p.Child("secretRef", "name"), s.Cinder.SecretRef.Name)...)
			}
			return errs
		}},
		{"azureFile", s.AzureFile != nil, func(p *field.Path) field.ErrorList {
			return append(check.Required(p.Child("secretName"), s.AzureFile.SecretName),
				check.Required(p.Child("shareName"), s.AzureFile.ShareName)...)
		}},
		{"vsphereVolume", s.VsphereVolume != nil, func(p *field.Path) field.ErrorList {
			return check.Required(p.Child("volumePath"), s.VsphereVolume.VolumePath)
		}},
		{"photonPersistentDisk", s.PhotonPersistentDisk != nil, func(p *field.Path) field.ErrorList {
			return check.Required(p.Child("pdID"), s.PhotonPersistentDisk.PdID)
		}},
		{"portworxVolume", s.PortworxVolume != nil, func(p *field.Path) field.ErrorList {
			return check.Required(p.Child("volumeID"), s.PortworxVolume.VolumeID)
		}},
		{"azureDisk", s.AzureDisk != nil, func(p *field.Path) field.ErrorList { return checkAzureDisk(p, s.AzureDisk) }},
		{"gitRepo", s.GitRepo != nil, func(p *field.Path) field.ErrorList {
			return append(check.Required(p.Child("repository"), s.GitRepo.Repository),
				check.DescendingPath(p.Child("directory"), s.GitRepo.Directory)...)
		}},
	}
}

// clusterSources are distributed file systems and the plugins for them.
func clusterSources(s *corev1.VolumeSource) []checker {
	return []checker{
		{"glusterfs", s.Glusterfs != nil, func(p *field.Path) field.ErrorList {
			return append(check.Required(p.Child("endpoints"), s.Glusterfs.EndpointsName),
				check.Required(p.Child("path"), s.Glusterfs.Path)...)
		}},
		{"flocker", s.Flocker != nil, func(p *field.Path) field.ErrorList { return checkFlocker(p, s.Flocker) }},
		{"rbd", s.RBD != nil, func(p *field.Path) field.ErrorList {
			var errs field.ErrorList
			if len(s.RBD.CephMonitors) == 0 {
				errs = append(errs, field.Required(p.Child("monitors"), ""))
			}
			return append(errs, check.Required(p.Child("image"), s.RBD.RBDImage)...)
		}},
		{"cephfs", s.CephFS != nil, func(p *field.Path) field.ErrorList {
			if len(s.CephFS.Monitors) == 0 {
				return field.ErrorList{field.Required(p.Child("monitors"), "")}
			}
			return nil
		}},
		{"quobyte", s.Quobyte != nil, func(p *field.Path) field.ErrorList { return checkQuobyte(p, s.Quobyte) }},
		{"flexVolume", s.FlexVolume != nil, func(p *field.Path) field.ErrorList { return checkFlex(p, s.FlexVolume) }},
		{"storageos", s.StorageOS != nil, func(p *field.Path) field.ErrorList { return checkStorageOS(p, s.StorageOS) }},
		{"scaleIO", s.ScaleIO != nil, func(p *field.Path) field.ErrorList {
			errs := check.Required(p.Child("gateway"), s.ScaleIO.Gateway)
			errs = append(errs, check.Required(p.Child("system"), s.ScaleIO.System)...)
			return append(errs, check.Required(p.Child("volumeName"), s.ScaleIO.VolumeName)...)
		}},
	}
}

func checkDisk(idPath *field.Path, id string, partitionPath *field.Path, partition int32) field.ErrorList {
	errs := check.Required(idPath, id)
	if partition < 0 || partition > 255 {
		errs = append(errs, field.Invalid(partitionPath, partition, "must be between 1 and 255, inclusive"))
	}
	return errs
}

// managedDiskForm and blobDiskForm are how the two sorts of Azure disks are named.
const (
	managedDiskForm = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
	blobDiskForm    = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
)

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
const maxQuobyteTenant = 65

func checkQuobyte(p *field.Path, s *corev1.QuobyteVolumeSource) field.ErrorList {
	var errs field.ErrorList
	registry := p.Child("registry")
	if s.Registry == "" {
		errs = append(errs, field.Required(registry, "must be a host:port pair or multiple pairs separated by commas"))
	} else {
		for _, pair := range strings.Split(s.Registry, ",") {
			if host, port, ok := strings.Cut(pair, ":"); !ok || host == "" || port == "" {
				errs = append(errs, field.Invalid(registry, s.Registry,
					"must be a host:port pair or multiple pairs separated by commas"))
				break
			}
		}
	}
	if len(s.Tenant) >= maxQuobyteTenant {
		errs = append(errs, field.Required(p.Child("tenant"), "must be a UUID and may not exceed a length of 64 characters"))
	}
	return append(errs, check.Required(p.Child("volume"), s.Volume)...)
}

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
	if s.SecretRef != nil {
		errs = append(errs, check.Required(p.Child("secretRef", "name"), s.SecretRef.Name)...)
	}
	return errs
}
