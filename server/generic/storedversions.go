package generic

import (
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The minor releases of Kubernetes 1 whose servers may have to read what is stored here.
const (
	OldestCompatible  = 33
	DefaultCompatible = 35
	NewestCompatible  = 36
)

// introduced has the minor release of Kubernetes that was the first to know a version of a kind. It
// lists the versions that OldestCompatible does not know; a server older than the release cannot
// read objects in them.
var introduced = map[meta.GroupVersionKind]int{
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicy"}:             36,
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicyBinding"}:      36,
	{Group: "admissionregistration.k8s.io", Version: "v1beta1", Kind: "MutatingAdmissionPolicy"}:        34,
	{Group: "admissionregistration.k8s.io", Version: "v1beta1", Kind: "MutatingAdmissionPolicyBinding"}: 34,
	{Group: "resource.k8s.io", Version: "v1", Kind: "DeviceClass"}:                                      34,
	{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaim"}:                                    34,
	{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaimTemplate"}:                            34,
	{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceSlice"}:                                    34,
	{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttributesClass"}:                             34,
}

// storedVersion returns the version in which a resource of Kubernetes is stored, so that servers of
// a minor release can read it: the most preferred version that the release knows. If it knows none,
// it does not know the resource, and any version will do.
func storedVersion(kinds kind.Finder, res *registry.Resource, minor int) string {
	k := kinds.Kind(meta.GroupKind{Group: res.GroupResource.Group, Kind: res.Kind})
	if k == nil || res.StorageVersion != "" {
		return res.StorageVersion
	}
	versions := slices.Clone(k.Stored())
	slices.SortFunc(versions, func(a, b *kind.Version) int { return scheme.CompareVersions(a.GVK.Version, b.GVK.Version) })
	for _, v := range slices.Concat(k.Versions(), versions) {
		if v.GVK.GroupKind() == k.GroupKind() && introduced[v.GVK] <= minor {
			return v.GVK.Version
		}
	}
	return ""
}
