package admission

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// This file compares and merges tolerations for the plugins that add or restrict them.

// mergeTolerations returns the tolerations of two lists without those that another one covers. If
// two are equal, the first stays. The result is a new list, which shares only the pointers
// TolerationSeconds with the two lists.
func mergeTolerations(first, second []corev1.Toleration) []corev1.Toleration {
	all := make([]corev1.Toleration, 0, len(first)+len(second))
	all = append(append(all, first...), second...)
	var merged []corev1.Toleration
	for i := range all {
		if !coveredBy(&all[i], merged) && !coveredByOther(&all[i], all[i+1:]) {
			merged = append(merged, all[i])
		}
	}
	return merged
}

// coveredBy reports whether one toleration of a list covers t.
func coveredBy(t *corev1.Toleration, list []corev1.Toleration) bool {
	for i := range list {
		if covers(&list[i], t) {
			return true
		}
	}
	return false
}

// coveredByOther is coveredBy without the tolerations that equal t.
func coveredByOther(t *corev1.Toleration, list []corev1.Toleration) bool {
	for i := range list {
		if !sameToleration(&list[i], t) && covers(&list[i], t) {
			return true
		}
	}
	return false
}

// covers reports whether wide tolerates every taint that t tolerates, for at least as long. As in
// Kubernetes, a toleration without an operator is covered only by Exists and by equal tolerations.
// A toleration with an operator other than Equal and Exists covers only equal tolerations.
func covers(wide, t *corev1.Toleration) bool {
	switch {
	case sameToleration(wide, t):
		return true
	case t.Key != wide.Key && (wide.Key != "" || wide.Operator != corev1.TolerationOpExists):
		return false
	case t.Effect != wide.Effect && wide.Effect != "":
		return false
	}
	if limit := wide.TolerationSeconds; limit != nil && wide.Effect == corev1.TaintEffectNoExecute {
		if t.TolerationSeconds == nil || *t.TolerationSeconds > *limit {
			return false
		}
	}
	switch wide.Operator {
	case corev1.TolerationOpEqual, "":
		return t.Operator == corev1.TolerationOpEqual && t.Value == wide.Value
	case corev1.TolerationOpExists:
		return true
	}
	return false
}

func sameToleration(a, b *corev1.Toleration) bool {
	return a.Key == b.Key && a.Operator == b.Operator && a.Value == b.Value && a.Effect == b.Effect &&
		(a.TolerationSeconds == nil) == (b.TolerationSeconds == nil) &&
		scheme.OrZero(a.TolerationSeconds) == scheme.OrZero(b.TolerationSeconds)
}
