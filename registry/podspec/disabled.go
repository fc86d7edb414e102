package podspec

import "github.com/coracle-project/coracle/scheme/api/corev1"

// DropDisabled takes out fields of features that are not served, unless the old object uses them.
func DropDisabled(spec, old *corev1.PodSpec) {
	if old == nil || old.SchedulingGroup == nil {
		spec.SchedulingGroup = nil
	}
	if old == nil || !signals(old) {
		for _, ctr := range Containers(nil, spec) {
			if l := ctr.Lifecycle; l != nil && l.StopSignal != nil {
				l.StopSignal = nil
				if l.PreStop == nil && l.PostStart == nil {
					ctr.Lifecycle = nil
				}
			}
		}
	}
	for i := range spec.Volumes {
		p := spec.Volumes[i].Projected
		if p == nil {
			continue
		}
		for j := range p.Sources {
			p.Sources[j].ClusterTrustBundle, p.Sources[j].PodCertificate = nil, nil
		}
	}
}

// signals reports whether a container chooses the signal that it is stopped with.
func signals(spec *corev1.PodSpec) bool {
	for _, ctr := range Containers(nil, spec) {
		if ctr.Lifecycle != nil && ctr.Lifecycle.StopSignal != nil {
			return true
		}
	}
	return false
}
