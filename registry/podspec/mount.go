package podspec

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// This file checks where a container mounts volumes (volumeMounts) and finds block devices
// (volumeDevices). checkContainer calls it after checkVolumes has filled c.volumes.

// volumePaths maps the names of volumes to their paths in one container. If a container has a
// volume twice, only the last path is compared with those of the other list, as in kube-apiserver.
type volumePaths map[string]string

// set returns the set of all paths.
func (p volumePaths) set() check.Duplicates {
	set := make(check.Duplicates, len(p))
	for _, path := range p {
		set.Add(path)
	}
	return set
}

// checkMounts checks the mounts of a container. No two have the same path, and neither the volume
// nor the path may be that of a block device. p is the path of the list.
func (c *specCheck) checkMounts(p *field.Path, ctr *corev1.Container) field.ErrorList {
	var errs field.ErrorList
	seen := check.Duplicates{}
	devices := volumePaths{}
	for _, d := range ctr.VolumeDevices {
		devices[d.Name] = d.DevicePath
	}
	devicePaths := devices.set()
	for i, m := range field.Each(&errs, ctr.VolumeMounts) {
		at := p.Index(i)
		errs = append(errs, check.Required(at.Child("name"), m.Name)...)
		if c.volumes[m.Name] == nil {
			errs = append(errs, field.NotFound(at.Child("name"), m.Name))
		}
		errs = append(errs, check.Required(at.Child("mountPath"), m.MountPath)...)
		if !seen.Add(m.MountPath) {
			errs = append(errs, field.Invalid(at.Child("mountPath"), m.MountPath, "must be unique"))
		}
		if _, ok := devices[m.Name]; ok {
			errs = append(errs, field.Invalid(at.Child("name"), m.Name, "must not already exist in volumeDevices"))
		}
		if devicePaths[m.MountPath] {
			errs = append(errs, field.Invalid(at.Child("mountPath"), m.MountPath,
				"must not already exist as a path in volumeDevices"))
		}
		errs = append(errs, checkSubPath(p, at, m)...)
		if m.MountPropagation != nil {
			errs = append(errs, checkPropagation(p.Child("mountPropagation"), *m.MountPropagation, ctr)...)
		}
		errs = append(errs, checkRecursive(p.Child("recursiveReadOnly"), m)...)
	}
	return errs
}

// checkSubPath checks subPath and subPathExpr, which name a part of the volume at at; only one may
// be set. A bad path is reported on the list, not on the mount, as in kube-apiserver.
func checkSubPath(list, at *field.Path, m *corev1.VolumeMount) field.ErrorList {
	var errs field.ErrorList
	if m.SubPath != "" {
		errs = append(errs, check.DescendingPath(list.Child("subPath"), m.SubPath)...)
	}
	if m.SubPathExpr == "" {
		return errs
	}
	if m.SubPath != "" {
		errs = append(errs, field.Invalid(at.Child("subPathExpr"), m.SubPathExpr,
			"subPathExpr and subPath are mutually exclusive"))
	}
	return append(errs, check.DescendingPath(list.Child("subPathExpr"), m.SubPathExpr)...)
}

// checkPropagation checks mount propagation. Bidirectional propagation changes the mounts of the
// node, so it needs a privileged container.
func checkPropagation(p *field.Path, mode corev1.MountPropagationMode, ctr *corev1.Container) field.ErrorList {
	errs := check.Supported(p, mode, corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer,
		corev1.MountPropagationNone)
	sc := ctr.SecurityContext
	if mode == corev1.MountPropagationBidirectional && (sc == nil || !scheme.OrZero(sc.Privileged)) {
		errs = append(errs, field.Forbidden(p, "Bidirectional mount propagation is available only to privileged containers"))
	}
	return errs
}

// checkRecursive checks recursiveReadOnly (KEP-3857): it needs a read-only mount without mount
// propagation, so that later mounts of the node do not appear in it.
func checkRecursive(p *field.Path, m *corev1.VolumeMount) field.ErrorList {
	if m.RecursiveReadOnly == nil {
		return nil
	}
	var errs field.ErrorList
	switch *m.RecursiveReadOnly {
	case corev1.RecursiveReadOnlyDisabled:
	case corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible:
		if !m.ReadOnly {
			errs = append(errs, field.Forbidden(p, "may only be specified when readOnly is true"))
		}
		if m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone {
			errs = append(errs, field.Forbidden(p, "may only be specified when mountPropagation is None or not specified"))
		}
	default:
		errs = check.Supported(p, *m.RecursiveReadOnly, corev1.RecursiveReadOnlyDisabled,
			corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible)
	}
	return errs
}

// checkDevices checks the block devices of a container. A device comes from a claim, because no
// other volume type has block mode. Names and paths are unique.
func (c *specCheck) checkDevices(p *field.Path, ctr *corev1.Container) field.ErrorList {
	var errs field.ErrorList
	seenNames, seenPaths := check.Duplicates{}, check.Duplicates{}
	if len(ctr.VolumeDevices) == 0 {
		return nil
	}
	mounts := volumePaths{}
	for i := range ctr.VolumeMounts {
		mounts[ctr.VolumeMounts[i].Name] = ctr.VolumeMounts[i].MountPath
	}
	mountPaths := mounts.set()
	for i, d := range field.Each(&errs, ctr.VolumeDevices) {
		p := p.Index(i)
		name, path := p.Child("name"), p.Child("devicePath")
		errs = append(errs, check.Required(name, d.Name)...)
		if seenNames[d.Name] {
			errs = append(errs, field.Invalid(name, d.Name, "must be unique"))
		}
		switch source := c.volumes[d.Name]; {
		case source == nil:
			errs = append(errs, field.NotFound(name, d.Name))
		case source.PersistentVolumeClaim == nil && source.Ephemeral == nil:
			errs = append(errs, field.Invalid(name, d.Name,
				"can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"))
		}
		errs = append(errs, check.Required(path, d.DevicePath)...)
		if seenPaths[d.DevicePath] {
			errs = append(errs, field.Invalid(path, d.DevicePath, "must be unique"))
		}
		if slices.Contains(strings.Split(d.DevicePath, "/"), "..") {
			errs = append(errs, field.Invalid(path, d.DevicePath, "can not contain backsteps ('..')"))
		} else {
			seenPaths.Add(d.DevicePath)
		}
		if _, ok := mounts[d.Name]; ok {
			errs = append(errs, field.Invalid(name, d.Name, "must not already exist in volumeMounts"))
		}
		if mountPaths[d.DevicePath] {
			errs = append(errs, field.Invalid(path, d.DevicePath, "must not already exist as a path in volumeMounts"))
		}
		if d.Name != "" {
			seenNames.Add(d.Name)
		}
	}
	return errs
}
