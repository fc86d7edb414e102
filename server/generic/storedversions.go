package generic

import (
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The values of Needs.Compatible: minor releases of Kubernetes 1. A kube-apiserver of that release
// or a later one can read what this server stores (--min-compatibility-version).
const (
	OldestCompatible  = 33 // the lowest value of Needs.Compatible
	DefaultCompatible = 35 // the default of the flag
	NewestCompatible  = 36 // the highest value of Needs.Compatible
)

// introduced maps a version of a kind to the minor release of Kubernetes that introduced it. Older
// servers cannot read objects that are stored in that version. Versions that are not in the map
// exist in OldestCompatible already.
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
// minor release can read its objects. If the resource declares a storage version, it returns that.
// Otherwise it returns the most preferred version that the release has, which may be one that is no
// longer served. It returns "", for the default, if the release has no version of the kind, because
// such a release does not have the resource either.
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
