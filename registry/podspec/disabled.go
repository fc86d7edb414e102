package podspec

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// DropDisabled clears the fields of spec whose feature is not served, unless the old spec uses the
// feature: scheduling groups (KEP-4671), stop signals (KEP-4960), cluster trust bundles (KEP-3257)
// and pod certificates (KEP-4317). old is nil on create. As in kube-apiserver, one use in the old
// spec allows the feature in all of the new spec. A client does not learn that a field was cleared:
// to a server that does not serve a feature, its field is like one that does not exist.
func DropDisabled(spec, old *corev1.PodSpec) {
	if old == nil || old.SchedulingGroup == nil {
		spec.SchedulingGroup = nil
	}
	if old == nil || !hasStopSignal(old) {
		for _, ctr := range Containers(nil, spec) {
			if l := ctr.Lifecycle; l != nil && l.StopSignal != nil {
				l.StopSignal = nil
				if l.PreStop == nil && l.PostStart == nil {
					ctr.Lifecycle = nil
				}
			}
		}
	}
	bundles, certificates := old != nil && hasProjected(old, hasBundle), old != nil && hasProjected(old, hasCertificate)
	for i := range spec.Volumes {
		if spec.Volumes[i].Projected == nil {
			continue
		}
		for j := range spec.Volumes[i].Projected.Sources {
			s := &spec.Volumes[i].Projected.Sources[j]
			if !bundles {
				s.ClusterTrustBundle = nil
			}
			if !certificates {
				s.PodCertificate = nil
			}
		}
	}
}

// hasProjected reports whether a projected volume of spec has a source that matches sort.
func hasProjected(spec *corev1.PodSpec, sort func(corev1.VolumeProjection) bool) bool {
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, sort)
	})
}

func hasBundle(s corev1.VolumeProjection) bool      { return s.ClusterTrustBundle != nil }
func hasCertificate(s corev1.VolumeProjection) bool { return s.PodCertificate != nil }

// hasStopSignal reports whether a container of spec chooses the signal that stops it.
func hasStopSignal(spec *corev1.PodSpec) bool {
	for _, ctr := range Containers(nil, spec) {
		if ctr.Lifecycle != nil && ctr.Lifecycle.StopSignal != nil {
			return true
		}
	}
	return false
}
