package generic

import (
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The bounds and the default of Needs.Compatible, as minor releases of Kubernetes 1: servers from
// that release on can read what this server stores (--min-compatibility-version).
const (
	OldestCompatible  = 33
	DefaultCompatible = 35
	NewestCompatible  = 36
)

// introduced maps a version of a kind to the minor release of Kubernetes that introduced it. Older
// servers cannot read objects stored in that version. It omits the versions that OldestCompatible
// has.
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

// storedVersion returns the version in which a built-in resource is stored so that servers of a
// minor release can read it: the most preferred version that the release has, also one that is no
// longer served. It returns the declared storage version if there is one, and "", the default, if
// the release has no version of the kind: then it does not have the resource either.
func storedVersion(kinds kind.Finder, res *registry.Resource, minor int) string {
	k := kinds.Kind(meta.GroupKind{Group: res.GroupResource.Group, Kind: res.Kind})
	if k == nil || res.StorageVersion != "" {
		return res.StorageVersion
	}
	versions := slices.Clone(k.Stored())
	slices.SortFunc(versions, func(a, b *kind.Version) int {
		return scheme.CompareVersions(a.GVK.Version, b.GVK.Version)
	})
	for _, v := range slices.Concat(k.Versions(), versions) {
		if v.GVK.GroupKind() == k.GroupKind() && introduced[v.GVK] <= minor {
			return v.GVK.Version
		}
	}
	return ""
}
