package podsecurity

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the table of the checks by level and version, and Evaluate, which the plugin
// PodSecurity (registry/admission/podguard) calls for each pod. It also has what all checks use:
// the list of a pod's containers, and the wording of messages.

// Violation is the result of one check of a pod. The zero Violation means that the pod passes the
// check.
type Violation struct {
	Reason string // the forbidden thing, such as "hostPort"; the same for all pods
	Detail string // where in the pod, and how to mend it
}

// Violations are the violations of a pod, in the order of the checks. A pod without violations is
// allowed.
type Violations []Violation

// Reasons returns the reasons, separated by commas.
func (v Violations) Reasons() string {
	list := make([]string, len(v))
	for i := range v {
		list[i] = v[i].Reason
	}
	return strings.Join(list, ", ")
}

// String returns reasons and details, as in "hostPort (container "a" uses hostPort 80), privileged
// (...)".
func (v Violations) String() string {
	var b strings.Builder
	for i := range v {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(v[i].Reason)
		if v[i].Detail != "" {
			b.WriteString(" (" + v[i].Detail + ")")
		}
	}
	return b.String()
}

// checkFunc judges a pod.
type checkFunc func(p *subject) Violation

// subject is a pod, or the template of one, that is judged.
type subject struct {
	meta       *meta.ObjectMeta
	spec       *corev1.PodSpec
	containers []*corev1.Container // all: init, regular, ephemeral
	secured    []*corev1.Container // those with a security context

	space [16]*corev1.Container // backs both lists of most pods, so that a subject is one allocation
}

func newSubject(m *meta.ObjectMeta, spec *corev1.PodSpec) *subject {
	p := &subject{meta: m, spec: spec}
	p.containers, p.secured = p.space[:0:8], p.space[8:8]
	for i := range spec.InitContainers {
		p.add(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		p.add(&spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		p.add((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	return p
}

func (p *subject) add(c *corev1.Container) {
	p.containers = append(p.containers, c)
	if c.SecurityContext != nil {
		p.secured = append(p.secured, c)
	}
}

// check is a checkFunc with the level and the versions to which it belongs.
type check struct {
	level Level
	// The check counts in versions v with from <= v < until.
	from, until Version
	// replaced is the first version in which Restricted leaves the check out, because another check
	// of Restricted demands more. Checks of Restricted do not use it.
	replaced Version
	run      checkFunc
}

// ever is later than all versions.
const ever Version = 1 << 30

// checks are all checks, in the order in which Kubernetes names their violations: first those of
// Baseline, then those of Restricted, both sorted by Kubernetes' identifiers. Latest and versions
// that are newer than Newest count as Newest.
var checks = [...]check{
	{Baseline, 0, ever, ever, appArmorProfiles},
	{Baseline, 0, ever, 22, addedCapabilities},
	{Baseline, 0, ever, ever, hostNamespaces},
	{Baseline, 0, ever, 0, hostPaths},
	{Baseline, 0, ever, ever, hostPorts},
	{Baseline, 34, ever, ever, probedHosts},
	{Baseline, 0, ever, ever, privilegedContainers},
	{Baseline, 0, 35, ever, procMounts},
	{Baseline, 35, ever, 35, onHostUsers(procMounts)},
	{Baseline, 0, 31, ever, seLinuxOptions("", "container_t", "container_init_t", "container_kvm_t")},
	{Baseline, 31, ever, ever, seLinuxOptions(
		"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")},
	{Baseline, 0, 19, ever, seccompAnnotations},
	{Baseline, 19, ever, 19, seccompProfiles},
	{Baseline, 0, 27, ever, unsafeSysctls(0)},
	{Baseline, 27, 29, ever, unsafeSysctls(27)},
	{Baseline, 29, 32, ever, unsafeSysctls(29)},
	{Baseline, 32, ever, ever, unsafeSysctls(32)},
	{Baseline, 0, ever, ever, hostProcesses},

	{Restricted, 8, 25, ever, privilegeEscalation},
	{Restricted, 25, ever, ever, exceptWindows(privilegeEscalation)},
	{Restricted, 22, 25, ever, droppedCapabilities},
	{Restricted, 25, ever, ever, exceptWindows(droppedCapabilities)},
	{Restricted, 35, ever, ever, procMounts},
	{Restricted, 0, ever, ever, restrictedVolumes},
	{Restricted, 0, 35, ever, runAsNonRoot},
	{Restricted, 35, ever, ever, onHostUsers(runAsNonRoot)},
	{Restricted, 23, 35, ever, runAsUser},
	{Restricted, 35, ever, ever, onHostUsers(runAsUser)},
	{Restricted, 19, 25, ever, requiredSeccompProfiles},
	{Restricted, 25, ever, ever, exceptWindows(requiredSeccompProfiles)},
}

// Evaluate judges a pod, or the template of one, by a level.
func Evaluate(lv LevelVersion, m *meta.ObjectMeta, spec *corev1.PodSpec) (found Violations) {
	if lv.Level == Privileged {
		return nil
	}
	pod, version := newSubject(m, spec), lv.Version
	if version == Latest || version > Newest {
		version = Newest
	}
	for i := range checks {
		c := &checks[i]
		if !c.counts(lv.Level, version) {
			continue
		}
		if v := c.run(pod); v.Reason != "" {
			found = append(found, v)
		}
	}
	return found
}

// counts reports whether a level other than Privileged has the check in a version.
func (c *check) counts(level Level, v Version) bool {
	if v < c.from || v >= c.until {
		return false
	}
	if level == Baseline {
		return c.level == Baseline
	}
	return c.level == Restricted || v < c.replaced
}

// onHostUsers returns a check that applies f only to pods that share the user namespace of their
// node. In a pod with a user namespace of its own, root has no rights on the node.
func onHostUsers(f checkFunc) checkFunc {
	return func(p *subject) Violation {
		if p.spec.HostUsers != nil && !*p.spec.HostUsers {
			return Violation{}
		}
		return f(p)
	}
}

// exceptWindows returns a check that applies f only to pods whose spec.os is not windows. Windows
// lacks the features that f demands, and validation refuses their fields in pods for Windows.
func exceptWindows(f checkFunc) checkFunc {
	return func(p *subject) Violation {
		if p.spec.OS != nil && p.spec.OS.Name == corev1.Windows {
			return Violation{}
		}
		return f(p)
	}
}

// setters are the places of a pod that set a field to a forbidden value.
type setters struct {
	pod        bool     // the pod's own security context
	containers []string // names
}

func (s *setters) any() bool { return s.pod || len(s.containers) > 0 }

// list returns the places in words.
func (s *setters) list() (words []string) {
	if s.pod {
		words = append(words, "pod")
	}
	if len(s.containers) > 0 {
		words = append(words, named("container", s.containers))
	}
	return words
}

func (s *setters) String() string { return strings.Join(s.list(), " and ") }

// named returns a word and names, as in `container "a"` or `containers "a", "b"`.
func named(what string, names []string) string {
	return plural(what, len(names)) + " " + quoted(names)
}

// plural returns the singular for one, and the plural otherwise.
func plural(word string, n int) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// uses returns "uses" for one, and "use" otherwise.
func uses(n int) string {
	if n == 1 {
		return "uses"
	}
	return "use"
}

// quoted returns a list in quotation marks. It escapes nothing, as Kubernetes does not.
func quoted(list []string) string { return `"` + strings.Join(list, `", "`) + `"` }

// sorted sorts a list and removes repetitions. It changes the list.
func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
