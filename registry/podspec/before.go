package podspec

import (
	"slices"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file decides which rules an update need not keep. Rules.After makes a before for an
// update, and the rules in the other files ask it through has.

// before is the spec of a pod or template before an update. Rules have become stricter over the
// years. If the old spec breaks such a rule, the new spec may break it too, even in other parts of
// the spec: a client that changes a label need not mend the rest. A nil before stands for the lack
// of an old spec and has no quirks.
type before struct {
	spec        *corev1.PodSpec
	annotations map[string]string
	looked, had quirkSet // the quirks that the method has searched for, and those that it found
}

// quirk is a flaw that a new spec may not have, and that an updated spec may keep.
type quirk int

// quirkSet has a bit for each quirk.
type quirkSet uint32

const (
	partialHugePages         quirk = iota // an amount of huge pages that is no multiple of the page size
	invalidTermSelectors                  // a pod affinity term whose selectors are invalid
	invalidNodeValues                     // a required node affinity term with a value that no label can have
	invalidSpreadSelectors                // a spread constraint whose selector is invalid
	brokenMatchKeys                       // a spread constraint that breaks the rules of checkMatchKeys
	tokenPathsOutside                     // a projected token whose path leaves its volume
	hostSysctls                           // a sysctl of a namespace that the pod shares with the node
	userNamespaceDevices                  // a block device in a pod with a user namespace
	userNamespaceOnHost                   // a user namespace in a pod on the node's network
	restartingInitContainers              // an init container, no sidecar, that restarts when resized
	numericTolerations                    // a toleration with the operator Lt or Gt (KEP-5471, not served)
	selinuxChangePolicy                   // any seLinuxChangePolicy (KEP-1710; new pods may only name Recursive)
)

// quirks has for each quirk the function that looks for it in an old spec.
var quirks = [...]func(spec *corev1.PodSpec) bool{
	partialHugePages: hasPartialHugePages,
	invalidTermSelectors: func(spec *corev1.PodSpec) bool {
		for t := range podTerms(nil, spec.Affinity) {
			if isInvalidSelector(t.LabelSelector) || isInvalidSelector(t.NamespaceSelector) {
				return true
			}
		}
		return false
	},
	invalidNodeValues: hasInvalidNodeValues,
	invalidSpreadSelectors: func(spec *corev1.PodSpec) bool {
		return slices.ContainsFunc(spec.TopologySpreadConstraints,
			func(c corev1.TopologySpreadConstraint) bool { return isInvalidSelector(c.LabelSelector) })
	},
	brokenMatchKeys: func(spec *corev1.PodSpec) bool {
		return slices.ContainsFunc(spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
			return len(checkMatchKeys(nil, c.MatchLabelKeys, nil, c.LabelSelector)) > 0
		})
	},
	tokenPathsOutside: hasTokenPathsOutside,
	hostSysctls: func(spec *corev1.PodSpec) bool {
		return spec.SecurityContext != nil &&
			slices.ContainsFunc(spec.SecurityContext.Sysctls, func(s corev1.Sysctl) bool {
				return hostSysctl(spec, s.Name) != ""
			})
	},
	userNamespaceDevices: func(spec *corev1.PodSpec) bool {
		for _, ctr := range Containers(nil, spec) {
			if len(ctr.VolumeDevices) > 0 {
				return hasUserNamespace(spec)
			}
		}
		return false
	},
	userNamespaceOnHost: func(spec *corev1.PodSpec) bool { return spec.HostNetwork && hasUserNamespace(spec) },
	restartingInitContainers: func(spec *corev1.PodSpec) bool {
		return slices.ContainsFunc(spec.InitContainers,
			func(ctr corev1.Container) bool { return !corev1.IsSidecar(&ctr) && restartsOnResize(&ctr) })
	},
	numericTolerations: func(spec *corev1.PodSpec) bool {
		return slices.ContainsFunc(spec.Tolerations, func(t corev1.Toleration) bool {
			return t.Operator == corev1.TolerationOpLt || t.Operator == corev1.TolerationOpGt
		})
	},
	selinuxChangePolicy: func(spec *corev1.PodSpec) bool {
		return spec.SecurityContext != nil && spec.SecurityContext.SELinuxChangePolicy != nil
	},
}

// has reports whether the old spec has quirk q. It searches the spec once for each quirk, whatever
// the number of containers that ask. Most rules ask only after they have found an error, so most
// old specs are searched for few quirks or none.
func (b *before) has(q quirk) bool {
	if b == nil {
		return false
	}
	bit := quirkSet(1) << q
	if b.looked&bit == 0 {
		b.looked |= bit
		if quirks[q](b.spec) {
			b.had |= bit
		}
	}
	return b.had&bit != 0
}

// hasPartialHugePages finds amounts of huge pages that are no multiple of the page size, in
// containers and overhead. Pod-level resources are younger than the rule, so no old spec breaks it
// there.
func hasPartialHugePages(spec *corev1.PodSpec) bool {
	odd := func(list corev1.ResourceList) bool {
		for name, q := range list {
			if corev1.IsHugePages(name) && !areWholePages(name, q) {
				return true
			}
		}
		return false
	}
	for _, ctr := range Containers(nil, spec) {
		if odd(ctr.Resources.Limits) || odd(ctr.Resources.Requests) {
			return true
		}
	}
	return odd(spec.Overhead)
}

// hasInvalidNodeValues looks at the required terms of the node affinity only: values of preferred
// terms are not checked in new specs either.
func hasInvalidNodeValues(spec *corev1.PodSpec) bool {
	n := NodeAffinity(spec)
	if n == nil || n.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	for _, t := range n.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, e := range t.MatchExpressions {
			if slices.ContainsFunc(e.Values,
				func(value string) bool { return len(names.IsValidLabelValue(value)) > 0 }) {
				return true
			}
		}
	}
	return false
}

func hasTokenPathsOutside(spec *corev1.PodSpec) bool {
	for _, v := range spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if t := s.ServiceAccountToken; t != nil && len(check.NonReservedPath(nil, t.Path)) > 0 {
				return true
			}
		}
	}
	return false
}

func isInvalidSelector(s *meta.LabelSelector) bool {
	return len(meta.ValidateLabelSelector(s, nil)) > 0
}

// hasUserNamespace reports whether a pod runs in a user namespace of its own (hostUsers: false,
// KEP-127).
func hasUserNamespace(spec *corev1.PodSpec) bool { return spec.HostUsers != nil && !*spec.HostUsers }

// withEmptyValues returns a copy of s in which each value is the empty text, which is a valid label
// value. Keys, operators and the number of values stay, so the rules about those still apply to the
// copy.
func withEmptyValues(s *meta.LabelSelector) *meta.LabelSelector {
	if s == nil {
		return nil
	}
	c := *s
	c.MatchExpressions = slices.Clone(s.MatchExpressions)
	for i := range c.MatchExpressions {
		c.MatchExpressions[i].Values = make([]string, len(c.MatchExpressions[i].Values))
	}
	return &c
}
