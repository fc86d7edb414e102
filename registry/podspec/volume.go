package podspec

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// checkVolumes checks the volumes and remembers the valid ones for the mounts of containers.
func (c *specCheck) checkVolumes(p *field.Path) field.ErrorList {
	var errs field.ErrorList
	c.volumes = make(map[string]*corev1.VolumeSource, len(c.spec.Volumes))
	created := check.Duplicates{} // claims that are made for the pod
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

// checker is the check of one member of a union, present if set.
type checker struct {
	name  string
	set   bool
	check func(p *field.Path) field.ErrorList
}

// union applies the check of the first member that is set, and refuses the others. It reports how many are set.
func union(p *field.Path, members []checker) (field.ErrorList, int) {
	var errs field.ErrorList
	n := 0
	for _, m := range members {
		if !m.set {
			continue
		}
		if n++; n > 1 {
			errs = append(errs, field.Forbidden(p.Child(m.name), "may not specify more than 1 volume type"))
		} else {
			errs = append(errs, m.check(p.Child(m.name))...)
		}
	}
	return errs, n
}

// checkSource checks the source of a volume, of which there must be one.
func (c *specCheck) checkSource(p *field.Path, v *corev1.Volume) field.ErrorList {
	s := &v.VolumeSource
	errs, n := union(p, append(c.currentSources(v), oldSources(s)...))
	if n == 0 {
		errs = append(errs, field.Required(p, "must specify a volume type"))
	}
	if v.Ephemeral != nil && c.podName != "" {
		claim := c.podName + "-" + v.Name
		for _, msg := range names.IsDNS1123Subdomain(claim) {
			errs = append(errs, field.Invalid(p.Child("name"), v.Name, fmt.Sprintf("PVC name %q: %v", claim, msg)))
		}
	}
	return errs
}

// currentSources are the sources that are not deprecated.
func (c *specCheck) currentSources(v *corev1.Volume) []checker {
	s := &v.VolumeSource
	return []checker{
		{"emptyDir", s.EmptyDir != nil, func(p *field.Path) field.ErrorList {
			if q := s.EmptyDir.SizeLimit; q != nil && q.Sign() < 0 {
				return field.ErrorList{field.Forbidden(p.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity")}
			}
			return nil
		}},
		{"hostPath", s.HostPath != nil, func(p *field.Path) field.ErrorList { return checkHostPath(p, s.HostPath) }},
		{"secret", s.Secret != nil, func(p *field.Path) field.ErrorList {
			errs := check.Required(p.Child("secretName"), s.Secret.SecretName)
			return append(errs, checkKeys(p, s.Secret.Items, s.Secret.DefaultMode)...)
		}},
		{"configMap", s.ConfigMap != nil, func(p *field.Path) field.ErrorList {
			errs := check.Required(p.Child("name"), s.ConfigMap.Name)
			return append(errs, checkKeys(p, s.ConfigMap.Items, s.ConfigMap.DefaultMode)...)
		}},
		{"nfs", s.NFS != nil, func(p *field.Path) field.ErrorList { return checkNFS(p, s.NFS) }},
		{"iscsi", s.ISCSI != nil, func(p *field.Path) field.ErrorList { return checkISCSI(p, s.ISCSI) }},
		{"persistentVolumeClaim", s.PersistentVolumeClaim != nil, func(p *field.Path) field.ErrorList {
			return check.Required(p.Child("claimName"), s.PersistentVolumeClaim.ClaimName)
		}},
		{"downwardAPI", s.DownwardAPI != nil, func(p *field.Path) field.ErrorList {
			errs := check.FileMode(p.Child("defaultMode"), s.DownwardAPI.DefaultMode)
			for _, file := range field.Each(&errs, s.DownwardAPI.Items) {
				errs = append(errs, checkFile(p, file)...)
			}
			return errs
		}},
		{"fc", s.FC != nil, func(p *field.Path) field.ErrorList { return checkFC(p, s.FC) }},
		{"projected", s.Projected != nil, func(p *field.Path) field.ErrorList { return checkProjected(p, s.Projected) }},
		{"csi", s.CSI != nil, func(p *field.Path) field.ErrorList { return checkCSI(p, s.CSI) }},
		{"ephemeral", s.Ephemeral != nil, func(p *field.Path) field.ErrorList {
			if s.Ephemeral.VolumeClaimTemplate == nil {
				return field.ErrorList{field.Required(p.Child("volumeClaimTemplate"), "")}
			}
			return checkClaimTemplate(p.Child("volumeClaimTemplate"), s.Ephemeral.VolumeClaimTemplate)
		}},
		{"image", s.Image != nil, func(p *field.Path) field.ErrorList {
			var errs field.ErrorList
			if c.pod {
				errs = check.Required(p.Child("reference"), s.Image.Reference)
			}
			return append(errs, check.OneOf(p.Child("pullPolicy"), s.Image.PullPolicy, pullPolicies...)...)
		}},
	}
}

func checkHostPath(p *field.Path, s *corev1.HostPathVolumeSource) field.ErrorList {
	if s.Path == "" {
		return field.ErrorList{field.Required(p.Child("path"), "")}
	}
	errs := check.NoBacksteps(p.Child("path"), s.Path)
	return append(errs, check.OptionalOneOf(p.Child("type"), s.Type, corev1.HostPathUnset, corev1.HostPathBlockDev,
		corev1.HostPathCharDev, corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate, corev1.HostPathFile,
		corev1.HostPathFileOrCreate, corev1.HostPathSocket)...)
}

// checkKeys checks how the keys of a secret or config map become files.
func checkKeys(p *field.Path, items []corev1.KeyToPath, mode *int32) field.ErrorList {
	errs := check.FileMode(p.Child("defaultMode"), mode)
	for i, item := range field.Each(&errs, items) {
		errs = append(errs, checkKey(p.Child("items").Index(i), item)...)
	}
	return errs
}

func checkKey(p *field.Path, item *corev1.KeyToPath) field.ErrorList {
	errs := check.Required(p.Child("key"), item.Key)
	errs = append(errs, check.Required(p.Child("path"), item.Path)...)
	errs = append(errs, check.NonReservedPath(p.Child("path"), item.Path)...)
	return append(errs, check.FileMode(p.Child("mode"), item.Mode)...)
}

func checkNFS(p *field.Path, s *corev1.NFSVolumeSource) field.ErrorList {
	errs := check.Required(p.Child("server"), s.Server)
	errs = append(errs, check.Required(p.Child("path"), s.Path)...)
	if !path.IsAbs(s.Path) {
		errs = append(errs, field.Invalid(p.Child("path"), s.Path, "must be an absolute path"))
	}
	return errs
}

// The three forms of iSCSI names.
var (
	iqnName = regexp.MustCompile(`^iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`)
	euiName = regexp.MustCompile(`^eui.[[:alnum:]]{16}$`)
	naaName = regexp.MustCompile(`^naa.[[:alnum:]]{32}$`)
)

func iscsiName(p *field.Path, name string) field.ErrorList {
	if iqnName.MatchString(name) || euiName.MatchString(name) || naaName.MatchString(name) {
		return nil
	}
	return field.ErrorList{field.Invalid(p, name, "must be valid format")}
}

func checkISCSI(p *field.Path, s *corev1.ISCSIVolumeSource) field.ErrorList {
	errs := check.Required(p.Child("targetPortal"), s.TargetPortal)
	errs = append(errs, check.Needed(p.Child("iqn"), s.IQN, iscsiName)...)
	errs = append(errs, check.InRange(p.Child("lun"), s.Lun, 0, 255)...)
	if (s.DiscoveryCHAPAuth || s.SessionCHAPAuth) && s.SecretRef == nil {
		errs = append(errs, field.Required(p.Child("secretRef"), ""))
	}
	if s.InitiatorName != nil {
		errs = append(errs, iscsiName(p.Child("initiatorname"), *s.InitiatorName)...)
	}
	return errs
}

func checkFC(p *field.Path, s *corev1.FCVolumeSource) field.ErrorList {
	var errs field.ErrorList
	targets := p.Child("targetWWNs")
	switch {
	case len(s.TargetWWNs) == 0 && len(s.WWIDs) == 0:
		errs = append(errs, field.Required(targets, "must specify either targetWWNs or wwids, but not both"))
	case len(s.TargetWWNs) > 0 && len(s.WWIDs) > 0:
		errs = append(errs, field.Invalid(targets, s.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously"))
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

const maxCSIDriver = 63

func checkCSI(p *field.Path, s *corev1.CSIVolumeSource) field.ErrorList {
	errs := check.Needed(p.Child("driver"), s.Driver, driverName)
	if ref := s.NodePublishSecretRef; ref != nil {
		errs = append(errs, check.Needed(p.Child("nodePublishSecretRef", "name"), ref.Name, check.DNSSubdomain)...)
	}
	return errs
}

func driverName(p *field.Path, name string) field.ErrorList {
	if len(name) > maxCSIDriver {
		return field.ErrorList{field.TooLong(p, name, maxCSIDriver)}
	}
	return check.DNSSubdomain(p, strings.ToLower(name))
}

// checkProjected checks the sources of a projected volume, whose files must not get into each other's way. Tokens are not
// compared with other files, and what is wrong with their paths is reported on the volume.
func checkProjected(p *field.Path, s *corev1.ProjectedVolumeSource) field.ErrorList {
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
			errs = append(errs, checkKey(at.Child("items").Index(i), item)...)
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
				errs = append(errs, checkFile(at.Child("downwardAPI"), file)...)
				taken(file.Path, file.Path)
			}
		}
		if source.ServiceAccountToken != nil {
			n++
			errs = append(errs, checkToken(at.Child("serviceAccountToken"), p, source.ServiceAccountToken)...)
		}
		if n > 1 {
			errs = append(errs, field.Forbidden(at, "may not specify more than 1 volume type per source"))
		}
	}
	return errs
}

// Bounds of a token's lifetime, in seconds.
const (
	minTokenSeconds = 10 * 60
	maxTokenSeconds = 1 << 32
)

// checkToken checks a token at p, in a projected volume.
func checkToken(p, volume *field.Path, s *corev1.ServiceAccountTokenProjection) field.ErrorList {
	var errs field.ErrorList
	if seconds := s.ExpirationSeconds; seconds != nil {
		at := p.Child("expirationSeconds")
		if *seconds < minTokenSeconds {
			errs = append(errs, field.Invalid(at, *seconds, "may not specify a duration less than 10 minutes"))
		}
		if *seconds > maxTokenSeconds {
			errs = append(errs, field.Invalid(at, *seconds, "may not specify a duration larger than 2^32 seconds"))
		}
	}
	return append(errs, check.Needed(volume.Child("path"), s.Path, check.NonReservedPath)...)
}

// checkFile checks a file with facts about the pod. Its index is not told.
func checkFile(p *field.Path, f *corev1.DownwardAPIVolumeFile) field.ErrorList {
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
