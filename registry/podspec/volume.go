package podspec

import (
	"fmt"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file checks the volumes of a pod: specCheck.check calls checkVolumes first of all. The
// volume types that only pods have are here; those that PersistentVolumes have, too, are in
// volume_source.go.

// checkVolumes checks the volumes and fills c.volumes with the valid ones. A mount of an invalid
// volume is therefore reported as not found, as in kube-apiserver.
func (c *specCheck) checkVolumes(p *field.Path) field.ErrorList {
	var errs field.ErrorList
	c.volumes = make(map[string]*corev1.VolumeSource, len(c.spec.Volumes))
	created := check.Duplicates{} // the claims that a controller will create for ephemeral volumes
	for i, v := range field.Each(&errs, c.spec.Volumes) {
		p := p.Index(i)
		bad := c.checkSource(p, v)
		bad = append(bad, check.Needed(p.Child("name"), v.Name, check.DNSLabel)...)
		if c.volumes[v.Name] != nil {
			bad = append(bad, field.Duplicate(p.Child("name"), v.Name))
		}
		if len(bad) == 0 {
			c.volumes[v.Name] = &v.VolumeSource
		}
		if v.Ephemeral != nil && c.podName != "" {
			created.Add(c.podName + "-" + v.Name)
		}
		errs = append(errs, bad...)
	}
	for i, v := range field.Each(&errs, c.spec.Volumes) {
		if pvc := v.PersistentVolumeClaim; pvc != nil && created[pvc.ClaimName] {
			errs = append(errs, field.Invalid(p.Index(i).Child("persistentVolumeClaim", "claimName"), pvc.ClaimName,
				"must not reference a PVC that gets created for an ephemeral volume"))
		}
	}
	return errs
}

// checkSource checks that a volume has exactly one source, and the source.
func (c *specCheck) checkSource(p *field.Path, v *corev1.Volume) field.ErrorList {
	errs, n := union(p, c.sources(p, v))
	if n == 0 {
		errs = append(errs, field.Required(p, "must specify a volume type"))
	}
	return errs
}

// sources lists the checks of all volume types, in the order in which kube-apiserver looks at them.
// For some types it forbids a second source under one name (member) and reports inside the source
// under another (at); "downwarAPI" is spelled like that there.
func (c *specCheck) sources(p *field.Path, v *corev1.Volume) []checker {
	s := &v.VolumeSource
	ephemeral := func(at *field.Path, s *corev1.EphemeralVolumeSource) field.ErrorList {
		return append(checkEphemeral(at, s), c.checkCreatedClaimName(p.Child("name"), v.Name)...)
	}
	return []checker{
		member("emptyDir", s.EmptyDir, checkEmptyDir),
		member("hostPath", s.HostPath, checkHostPath),
		member("gitRepo", s.GitRepo, checkGitRepo),
		member("gcePersistentDisk", s.GCEPersistentDisk, checkGCEDisk).at("persistentDisk"),
		member("awsElasticBlockStore", s.AWSElasticBlockStore, checkAWSDisk),
		member("secret", s.Secret, checkSecret),
		member("nfs", s.NFS, checkNFS),
		member("iscsi", s.ISCSI, checkISCSI).and(func() field.ErrorList { return checkInitiator(p.Child("name"), v) }),
		member("glusterfs", s.Glusterfs, checkGlusterfs),
		member("flocker", s.Flocker, checkFlocker),
		member("persistentVolumeClaim", s.PersistentVolumeClaim, checkClaimName),
		member("rbd", s.RBD, checkRBD),
		member("cinder", s.Cinder, checkCinder),
		member("cephFS", s.CephFS, checkCephFS).at("cephfs"),
		member("quobyte", s.Quobyte, checkQuobyte),
		member("downwarAPI", s.DownwardAPI, checkDownwardAPI).at("downwardAPI"),
		member("fc", s.FC, checkFC),
		member("flexVolume", s.FlexVolume, checkFlex),
		member("configMap", s.ConfigMap, checkConfigMap),
		member("azureFile", s.AzureFile, checkAzureFile),
		member("vsphereVolume", s.VsphereVolume, checkVsphere),
		member("photonPersistentDisk", s.PhotonPersistentDisk, checkPhoton),
		member("portworxVolume", s.PortworxVolume, checkPortworx),
		member("azureDisk", s.AzureDisk, checkAzureDisk),
		member("storageos", s.StorageOS, checkStorageOS),
		member("projected", s.Projected, c.checkProjected),
		member("scaleIO", s.ScaleIO, checkScaleIO),
		member("csi", s.CSI, checkCSI),
		member("ephemeral", s.Ephemeral, ephemeral),
		member("image", s.Image, c.checkImage),
	}
}

// checker is the check of one member of a union: of a struct that must have exactly one member set.
type checker struct {
	name   string
	check  func(*field.Path) field.ErrorList // nil for a member that is not set
	path   string                            // the name below which check reports
	also   func() field.ErrorList            // nil, or a check that applies even to a refused member
	beside bool                              // the member is checked, not refused, even beside another one
}

// member returns the checker of the member with a name. If value is nil, the member is not set, and
// the checker is empty.
func member[T any](name string, value *T, rule func(*field.Path, *T) field.ErrorList) checker {
	if value == nil {
		return checker{}
	}
	return checker{name: name, path: name, check: func(p *field.Path) field.ErrorList { return rule(p, value) }}
}

// at returns c with another path to report under.
func (c checker) at(path string) checker {
	c.path = path
	return c
}

// and returns c with another check, which applies even if the member is refused.
func (c checker) and(also func() field.ErrorList) checker {
	c.also = also
	return c
}

// union checks the first member that is set and refuses the others, except those with beside. It
// returns how many are set, so that the caller can report a missing member in its own words. For
// example, in a volume with emptyDir and secret, emptyDir is checked, because it is first in the
// list of sources, and secret is refused without a look at what is in it.
func union(p *field.Path, members []checker) (field.ErrorList, int) {
	var errs field.ErrorList
	n := 0
	for _, m := range members {
		if m.check == nil {
			continue
		}
		if n++; n > 1 && !m.beside {
			errs = append(errs, field.Forbidden(p.Child(m.name), "may not specify more than 1 volume type"))
		} else {
			errs = append(errs, m.check(p.Child(m.path))...)
		}
		if m.also != nil {
			errs = append(errs, m.also()...)
		}
	}
	return errs, n
}

func checkEmptyDir(p *field.Path, s *corev1.EmptyDirVolumeSource) field.ErrorList {
	if s.SizeLimit != nil && s.SizeLimit.Sign() < 0 {
		return field.ErrorList{field.Forbidden(p.Child("sizeLimit"),
			"SizeLimit field must be a valid resource quantity")}
	}
	return nil
}

func checkSecret(p *field.Path, s *corev1.SecretVolumeSource) field.ErrorList {
	errs := check.Required(p.Child("secretName"), s.SecretName)
	return append(errs, checkKeyPaths(p, s.Items, s.DefaultMode)...)
}

func checkConfigMap(p *field.Path, s *corev1.ConfigMapVolumeSource) field.ErrorList {
	errs := check.Required(p.Child("name"), s.Name)
	return append(errs, checkKeyPaths(p, s.Items, s.DefaultMode)...)
}

func checkClaimName(p *field.Path, s *corev1.PersistentVolumeClaimVolumeSource) field.ErrorList {
	return check.Required(p.Child("claimName"), s.ClaimName)
}

// checkEphemeral checks a generic ephemeral volume: a claim that is created and deleted with the
// pod (KEP-1698).
func checkEphemeral(p *field.Path, s *corev1.EphemeralVolumeSource) field.ErrorList {
	if s.VolumeClaimTemplate == nil {
		return field.ErrorList{field.Required(p.Child("volumeClaimTemplate"), "")}
	}
	return checkClaimTemplate(p.Child("volumeClaimTemplate"), s.VolumeClaimTemplate)
}

// checkCreatedClaimName checks the name of the claim that is created for an ephemeral volume: the
// name of the pod, a dash, and the name of the volume. The error is reported on the name of the
// volume.
func (c *specCheck) checkCreatedClaimName(p *field.Path, volume string) field.ErrorList {
	if c.podName == "" || volume == "" {
		return nil // no pod yet, or a missing name that is reported already
	}
	var errs field.ErrorList
	claim := c.podName + "-" + volume
	for _, msg := range names.IsDNS1123Subdomain(claim) {
		errs = append(errs, field.Invalid(p, volume, fmt.Sprintf("PVC name %q: %v", claim, msg)))
	}
	return errs
}

// checkImage checks an image volume (KEP-4639). A template may leave the reference to be filled in.
func (c *specCheck) checkImage(p *field.Path, s *corev1.ImageVolumeSource) field.ErrorList {
	var errs field.ErrorList
	if c.pod {
		errs = check.Required(p.Child("reference"), s.Reference)
	}
	return append(errs, check.OneOf(p.Child("pullPolicy"), s.PullPolicy, pullPolicies...)...)
}

// checkKeyPaths checks which keys of a secret or config map become files, and with which mode bits.
func checkKeyPaths(p *field.Path, items []corev1.KeyToPath, mode *int32) field.ErrorList {
	errs := check.FileMode(p.Child("defaultMode"), mode)
	for i, item := range field.Each(&errs, items) {
		errs = append(errs, checkKeyPath(p.Child("items").Index(i), item)...)
	}
	return errs
}

// checkKeyPath checks the file that one key becomes. Its path is relative and stays inside the
// volume; paths that begin with ".." are reserved for the kubelet, which updates volumes through
// such directories.
func checkKeyPath(p *field.Path, item *corev1.KeyToPath) field.ErrorList {
	errs := check.Required(p.Child("key"), item.Key)
	errs = append(errs, check.Required(p.Child("path"), item.Path)...)
	errs = append(errs, check.NonReservedPath(p.Child("path"), item.Path)...)
	return append(errs, check.FileMode(p.Child("mode"), item.Mode)...)
}

// checkProjected checks a projected volume, whose sources write into one directory and so must not
// write the same file. Two things are as in kube-apiserver: a token is not compared with other
// files, and a bad path of a token is reported on the volume. Cluster trust bundles and pod
// certificates are not checked, because DropDisabled clears them in new specs.
func (c *specCheck) checkProjected(p *field.Path, s *corev1.ProjectedVolumeSource) field.ErrorList {
	errs := check.FileMode(p.Child("defaultMode"), s.DefaultMode)
	files := check.Duplicates{}
	taken := func(file string, value any) {
		if file != "" && !files.Add(file) {
			errs = append(errs, field.Invalid(p, value, "conflicting duplicate paths"))
		}
	}
	keys := func(at *field.Path, name string, items []corev1.KeyToPath) {
		errs = append(errs, check.Required(at.Child("name"), name)...)
		for i, item := range field.Each(&errs, items) {
			errs = append(errs, checkKeyPath(at.Child("items").Index(i), item)...)
			taken(item.Path, name)
		}
	}
	for i, source := range field.Each(&errs, s.Sources) {
		at, n := p.Child("sources").Index(i), 0
		if source.Secret != nil {
			n++
			keys(at.Child("secret"), source.Secret.Name, source.Secret.Items)
		}
		if source.ConfigMap != nil {
			n++
			keys(at.Child("configMap"), source.ConfigMap.Name, source.ConfigMap.Items)
		}
		if source.DownwardAPI != nil {
			n++
			for _, file := range field.Each(&errs, source.DownwardAPI.Items) {
				errs = append(errs, checkDownwardFile(at.Child("downwardAPI"), file)...)
				taken(file.Path, file.Path)
			}
		}
		if source.ServiceAccountToken != nil {
			n++
			errs = append(errs, c.checkToken(at.Child("serviceAccountToken"), p, source.ServiceAccountToken)...)
		}
		if n > 1 {
			errs = append(errs, field.Forbidden(at, "may not specify more than 1 volume type per source"))
		}
	}
	return errs
}

// Bounds of a requested token's lifetime, in seconds: 10 minutes to 136 years.
const (
	minTokenSeconds = 10 * 60
	maxTokenSeconds = 1 << 32
)

// checkToken checks the service account token at p. volume is the path of the projected volume,
// where an error of the token's path is reported.
func (c *specCheck) checkToken(p, volume *field.Path, s *corev1.ServiceAccountTokenProjection) field.ErrorList {
	var errs field.ErrorList
	if s.ExpirationSeconds != nil {
		errs = TokenLifetime(p.Child("expirationSeconds"), *s.ExpirationSeconds)
	}
	if s.Path != "" && c.was.has(tokenPathsOutside) {
		return errs
	}
	return append(errs, check.Needed(volume.Child("path"), s.Path, check.NonReservedPath)...)
}

// TokenLifetime returns what is wrong with the requested lifetime of a token at p: it is less than
// ten minutes or more than 2^32 seconds.
func TokenLifetime(p *field.Path, seconds int64) field.ErrorList {
	switch {
	case seconds < minTokenSeconds:
		return field.ErrorList{field.Invalid(p, seconds, "may not specify a duration less than 10 minutes")}
	case seconds > maxTokenSeconds:
		return field.ErrorList{field.Invalid(p, seconds, "may not specify a duration larger than 2^32 seconds")}
	}
	return nil
}

func checkDownwardAPI(p *field.Path, s *corev1.DownwardAPIVolumeSource) field.ErrorList {
	errs := check.FileMode(p.Child("defaultMode"), s.DefaultMode)
	for _, file := range field.Each(&errs, s.Items) {
		errs = append(errs, checkDownwardFile(p, file)...)
	}
	return errs
}

// checkDownwardFile checks one file of the downward API, whose content is either a field of the pod
// or a resource of a container. Its caller passes the path of the volume, without an index, as
// kube-apiserver does.
func checkDownwardFile(p *field.Path, f *corev1.DownwardAPIVolumeFile) field.ErrorList {
	errs := check.Required(p.Child("path"), f.Path)
	errs = append(errs, check.NonReservedPath(p.Child("path"), f.Path)...)
	switch {
	case f.FieldRef != nil:
		errs = append(errs, checkFieldRef(p.Child("fieldRef"), f.FieldRef, fileFields)...)
		if f.ResourceFieldRef != nil {
			errs = append(errs, field.Invalid(p, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
		}
	case f.ResourceFieldRef != nil:
		errs = append(errs, checkResourceFieldRef(p.Child("resourceFieldRef"), f.ResourceFieldRef, true)...)
	default:
		errs = append(errs, field.Required(p, "one of fieldRef and resourceFieldRef is required"))
	}
	return append(errs, check.FileMode(p.Child("mode"), f.Mode)...)
}
