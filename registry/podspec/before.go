package podspec

import (
	"slices"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// before is a pod or template before a change. Rules have become stricter over the years. If the
// old spec breaks such a rule, the new spec may break it, too, in other places as well: a client
// that changes a label need not mend the rest. A nil before breaks no rule.
type before struct {
	spec        *corev1.PodSpec
	annotations map[string]string
	looked, had quirkSet // which quirks were looked for, and found
}

// quirk is something that an old spec may have, and a new one may not.
type quirk int

// quirkSet has a bit for each quirk.
type quirkSet uint32

const (
	oddPages         quirk = iota // huge pages that are no whole pages
	oddSelectors                  // label values that no pod has, in affinity terms
	oddNodeValues                 // label values that no node has, in required terms
	oddSpread                     // spread constraints whose selectors are invalid
	mergedKeys                    // spread constraints whose keys are in their selectors, which earlier servers did not put there
	oddTokenPaths                 // tokens whose files lie outside of their volume
	hostSysctls                   // sysctls of the node
	devicesOfUsers                // block devices of a pod with users of its own
	usersOnHost                   // users of its own on the node's network
	restartingSetup               // init containers that are to restart when their resources change
	comparedTaints                // tolerations that compare numbers
	chosenRelabeling              // any policy about SELinux labels
)

// quirks find each.
var quirks = [...]func(spec *corev1.PodSpec) bool{
	oddPages: hasOddPages,
	oddSelectors: func(spec *corev1.PodSpec) bool {
		for t := range podTerms(nil, spec.Affinity) {
			if isOdd(t.LabelSelector) || isOdd(t.NamespaceSelector) {
				return true
			}
		}
		return false
	},
	oddNodeValues: hasOddNodeValues,
	oddSpread: func(spec *corev1.PodSpec) bool {
		return slices.ContainsFunc(spec.TopologySpreadConstraints,
			func(c corev1.TopologySpreadConstraint) bool { return isOdd(c.LabelSelector) })
	},
	mergedKeys: func(spec *corev1.PodSpec) bool {
		return slices.ContainsFunc(spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
			return len(checkMatchKeys(nil, c.MatchLabelKeys, nil, c.LabelSelector)) > 0
		})
	},
	oddTokenPaths: hasOddTokenPaths,
	hostSysctls: func(spec *corev1.PodSpec) bool {
		return spec.SecurityContext != nil &&
			slices.ContainsFunc(spec.SecurityContext.Sysctls, func(s corev1.Sysctl) bool {
				return hostSysctl(spec, s.Name) != ""
			})
	},
	devicesOfUsers: func(spec *corev1.PodSpec) bool {
		for _, ctr := range Containers(nil, spec) {
			if len(ctr.VolumeDevices) > 0 {
				return ownUsers(spec)
			}
		}
		return false
	},
	usersOnHost: func(spec *corev1.PodSpec) bool { return spec.HostNetwork && ownUsers(spec) },
	restartingSetup: func(spec *corev1.PodSpec) bool {
		return slices.ContainsFunc(spec.InitContainers,
			func(ctr corev1.Container) bool { return !corev1.IsSidecar(&ctr) && restartsOnResize(&ctr) })
	},
	comparedTaints: func(spec *corev1.PodSpec) bool {
		return slices.ContainsFunc(spec.Tolerations, func(t corev1.Toleration) bool {
			return t.Operator == corev1.TolerationOpLt || t.Operator == corev1.TolerationOpGt
		})
	},
	chosenRelabeling: func(spec *corev1.PodSpec) bool {
		return spec.SecurityContext != nil && spec.SecurityContext.SELinuxChangePolicy != nil
	},
}

// has reports whether there is a quirk. It looks once for each.
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

func hasOddPages(spec *corev1.PodSpec) bool {
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

func hasOddNodeValues(spec *corev1.PodSpec) bool {
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

func hasOddTokenPaths(spec *corev1.PodSpec) bool {
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

func isOdd(s *meta.LabelSelector) bool { return len(meta.ValidateLabelSelector(s, nil)) > 0 }

// ownUsers reports whether a pod has a user namespace of its own.
func ownUsers(spec *corev1.PodSpec) bool { return spec.HostUsers != nil && !*spec.HostUsers }

// withAnyValues is a selector whose requirements have values that nothing is wrong with.
func withAnyValues(s *meta.LabelSelector) *meta.LabelSelector {
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
