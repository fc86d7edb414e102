package podspec

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// warner collects what is legal in a spec but not what its author wants.
type warner struct {
	spec *corev1.PodSpec
	list []string
}

// maxWarnings are more than a client is sent: see request.Info.
const maxWarnings = 100

// full says that nobody wants to hear more.
func (w *warner) full() bool { return len(w.list) >= maxWarnings }

func (w *warner) add(p *field.Path, format string, args ...any) {
	if w.full() {
		return
	}
	w.list = append(w.list, p.String()+": "+fmt.Sprintf(format, args...))
}

// each yields the elements of a list until there are enough warnings.
func each[T any](w *warner, list []T) iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		for i := range list {
			if w.full() || !yield(i, &list[i]) {
				return
			}
		}
	}
}

// Warnings returns warnings about a pod or template at p, nil for the root, in a stable order.
func Warnings(p *field.Path, spec *corev1.PodSpec, m *meta.ObjectMeta) []string {
	w := &warner{spec: spec}
	s := p.Child("spec")
	w.labels(s)
	w.annotations(p.Child("metadata", "annotations"), m.Annotations, p != nil)
	w.volumes(s.Child("volumes"))
	w.paths()
	w.lists(s)
	w.amounts(s.Child("overhead"), spec.Overhead)
	if spec.Resources != nil {
		w.amounts(s.Child("resources", "limits"), spec.Resources.Limits)
		w.amounts(s.Child("resources", "requests"), spec.Resources.Requests)
	}
	for p, ctr := range Containers(s, spec) {
		if w.full() {
			break
		}
		w.container(p, ctr)
	}
	w.ports(s)
	w.portNames(s)
	if grace := spec.TerminationGracePeriodSeconds; grace != nil && *grace < 0 {
		w.add(s.Child("terminationGracePeriodSeconds"), "must be >= 0; negative values are invalid and will be treated as 1")
	}
	w.selectors(s)
	w.addresses(s)
	return w.list
}

func (w *warner) labels(s *field.Path) {
	for _, key := range slices.Sorted(maps.Keys(w.spec.NodeSelector)) {
		if msg := OldNodeLabel(key); msg != "" {
			w.add(s.Child("nodeSelector").Key(key), "%s", msg)
		}
	}
	if n := NodeAffinity(w.spec); n != nil {
		p := s.Child("affinity", "nodeAffinity")
		if r := n.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
			for i, t := range each(w, r.NodeSelectorTerms) {
				w.nodeTerm(p.Child(hardTerms, "nodeSelectorTerms").Index(i), t, false)
			}
		}
		for i, t := range each(w, n.PreferredDuringSchedulingIgnoredDuringExecution) {
			w.nodeTerm(p.Child(softTerms).Index(i).Child("preference"), &t.Preference, true)
		}
	}
	for i, c := range each(w, w.spec.TopologySpreadConstraints) {
		if msg := OldNodeLabel(c.TopologyKey); msg != "" {
			w.add(s.Child("topologySpreadConstraints").Index(i).Child("topologyKey"), "%s is %s", c.TopologyKey, msg)
		}
	}
}

// nodeTerm warns of labels in a term about nodes, and of values in a soft one: those of a hard one are refused.
func (w *warner) nodeTerm(p *field.Path, t *corev1.NodeSelectorTerm, soft bool) {
	for i, e := range each(w, t.MatchExpressions) {
		p := p.Child("matchExpressions").Index(i)
		if msg := OldNodeLabel(e.Key); msg != "" {
			w.add(p.Child("key"), "%s is %s", e.Key, msg)
		}
		if soft {
			w.labelValues(p.Child("values"), e.Values)
		}
	}
}

func (w *warner) labelValues(p *field.Path, values []string) {
	for i, value := range each(w, values) {
		for _, msg := range names.IsValidLabelValue(*value) {
			w.add(p.Index(i), "%s is invalid, %s", meta.Excerpt(*value), msg)
		}
	}
}

// annotations warns of annotations that fields have taken the place of. template says that nobody has made fields of them.
func (w *warner) annotations(p *field.Path, annotations map[string]string, template bool) {
	if len(annotations) == 0 {
		return
	}
	old := func(key, format string, args ...any) {
		if _, ok := annotations[key]; ok {
			w.add(p.Key(key), format, args...)
		}
	}
	const seccomp = `non-functional in v1.27+; use the "seccompProfile" field instead`
	old("scheduler.alpha.kubernetes.io/critical-pod", `non-functional in v1.16+; use the "priorityClassName" field instead`)
	old("security.alpha.kubernetes.io/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`)
	old("security.alpha.kubernetes.io/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`)
	ctx := w.spec.SecurityContext
	if ctx == nil || ctx.SeccompProfile == nil {
		old(seccompAnnotation, seccomp)
	}
	for _, ctr := range Containers(nil, w.spec) {
		if w.full() {
			return
		}
		own := ctr.SecurityContext
		if own == nil || own.SeccompProfile == nil {
			old(seccompAnnotationPrefix+ctr.Name, seccomp)
		}
		key := AppArmorAnnotationPrefix + ctr.Name
		if template && (own != nil && own.AppArmorProfile != nil || ctx != nil && ctx.AppArmorProfile != nil &&
			scheme.Equal(ctx.AppArmorProfile, AppArmorProfile(annotations[key]))) {
			continue
		}
		old(key, `deprecated since v1.30; use the "appArmorProfile" field instead`)
	}
}

func (w *warner) volumes(p *field.Path) {
	for i, v := range each(w, w.spec.Volumes) {
		p := p.Index(i)
		for _, old := range []struct {
			name string
			set  bool
			msg  string
		}{
			{"photonPersistentDisk", v.PhotonPersistentDisk != nil, "deprecated in v1.11, non-functional in v1.16+"},
			{"gitRepo", v.GitRepo != nil, "deprecated in v1.11, and disabled by default in v1.33+"},
			{"scaleIO", v.ScaleIO != nil, "deprecated in v1.16, non-functional in v1.22+"},
			{"flocker", v.Flocker != nil, "deprecated in v1.22, non-functional in v1.25+"},
			{"storageOS", v.StorageOS != nil, "deprecated in v1.22, non-functional in v1.25+"},
			{"quobyte", v.Quobyte != nil, "deprecated in v1.22, non-functional in v1.25+"},
			{"glusterfs", v.Glusterfs != nil, "deprecated in v1.25, non-functional in v1.26+"},
			{"cephfs", v.CephFS != nil, "deprecated in v1.28, non-functional in v1.31+"},
			{"rbd", v.RBD != nil, "deprecated in v1.28, non-functional in v1.31+"},
		} {
			if old.set {
				w.add(p.Child(old.name), "%s", old.msg)
			}
		}
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			at := p.Child("ephemeral", "volumeClaimTemplate", "spec")
			w.list = append(w.list, ClaimWarnings(at, &v.Ephemeral.VolumeClaimTemplate.Spec)...)
		}
	}
}

// lists warns of entries that hide each other when they are merged by key.
func (w *warner) lists(s *field.Path) {
	seen := check.Duplicates{}
	for i, alias := range each(w, w.spec.HostAliases) {
		if !seen.Add(alias.IP) {
			w.add(s.Child("hostAliases").Index(i).Child("ip"), "duplicate ip %q", alias.IP)
		}
	}
	refs := check.Duplicates{}
	secrets := func(i int) *field.Path { return s.Child("imagePullSecrets").Index(i).Child("name") }
	for i, ref := range each(w, w.spec.ImagePullSecrets) {
		if !refs.Add(ref.Name) {
			w.add(secrets(i), "duplicate name %q", ref.Name)
		}
	}
	for i, ref := range each(w, w.spec.ImagePullSecrets) {
		if ref.Name == "" {
			w.add(secrets(i), "invalid empty name %q", ref.Name)
		}
	}
}

// amounts warns of fractions of a byte.
func (w *warner) amounts(p *field.Path, list corev1.ResourceList) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		switch name {
		case corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourceStorage:
			if q := list[name]; !isWhole(q) {
				w.add(p.Key(string(name)), "fractional byte value %q is invalid, must be an integer", q.String())
			}
		}
	}
}

func (w *warner) container(p *field.Path, ctr *corev1.Container) {
	env := check.Duplicates{}
	for i, v := range each(w, ctr.Env) {
		if !env.Add(v.Name) && !extends(v) {
			w.add(p.Child("env").Index(i), "hides previous definition of %q, which may be dropped when using apply", v.Name)
		}
	}
	w.amounts(p.Child("resources", "limits"), ctr.Resources.Limits)
	w.amounts(p.Child("resources", "requests"), ctr.Resources.Requests)
}

// extends reports whether a variable is made of more than its previous definition.
func extends(v *corev1.EnvVar) bool {
	ref := "$(" + v.Name + ")"
	return v.ValueFrom == nil && v.Value != ref && strings.Contains(v.Value, ref)
}

// selectors warns of terms that can match nothing.
func (w *warner) selectors(s *field.Path) {
	const msg = "a null labelSelector results in matching no pod"
	for t := range podTerms(s.Child("affinity"), w.spec.Affinity) {
		if w.full() {
			return
		}
		if t.LabelSelector == nil {
			w.add(t.path.Child("labelSelector"), msg)
		}
	}
	for i, c := range each(w, w.spec.TopologySpreadConstraints) {
		if c.LabelSelector == nil {
			w.add(s.Child("topologySpreadConstraints").Index(i).Child("labelSelector"), msg)
		}
	}
}

// addresses warns of those that are written in an old way.
func (w *warner) addresses(s *field.Path) {
	if w.spec.DNSConfig != nil {
		w.list = append(w.list, check.Warnings(s.Child("dnsConfig", "nameservers"), w.spec.DNSConfig.Nameservers, check.AddressWarning)...)
	}
	for i, alias := range each(w, w.spec.HostAliases) {
		if text := check.AddressWarning(s.Child("hostAliases").Index(i).Child("ip"), alias.IP); text != "" {
			w.list = append(w.list, text)
		}
	}
}
