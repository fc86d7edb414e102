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

// This file warns about specs that are legal and probably wrong. Warnings has the order and the
// texts of kube-apiserver. Warnings is called when a pod is created, and when a template is created
// or changed. Files that overlap are in pathwarnings.go, clashing ports in portwarnings.go.

// warner collects warnings about one spec. It stops at maxWarnings.
type warner struct {
	spec *corev1.PodSpec
	list []string
}

// maxWarnings is the most warnings collected about one spec. It is more than a client is sent
// (request.Info.Warn), so nothing is lost.
const maxWarnings = 100

// full reports whether there are enough warnings.
func (w *warner) full() bool { return len(w.list) >= maxWarnings }

// add adds a warning about the field at p, unless there are enough.
func (w *warner) add(p *field.Path, format string, args ...any) {
	if w.full() {
		return
	}
	w.list = append(w.list, p.String()+": "+fmt.Sprintf(format, args...))
}

// each yields the elements of a list until there are enough warnings, as field.Each does for
// errors.
func each[T any](w *warner, list []T) iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		for i := range list {
			if w.full() || !yield(i, &list[i]) {
				return
			}
		}
	}
}

// Warnings returns warnings about a spec and the metadata that it came with, in a stable order. p
// is the path of the pod or template: nil for a pod, which is the root. The warnings are at most
// maxWarnings.
func Warnings(p *field.Path, spec *corev1.PodSpec, m *meta.ObjectMeta) []string {
	w := &warner{spec: spec}
	s, annotations := p.Child("spec"), p.Child("metadata", "annotations")
	w.nodeLabels(s)
	w.annotations(annotations, m.Annotations)
	w.volumes(s.Child("volumes"))
	w.paths()
	w.duplicates(s)
	overhead := s.Child("overhead")
	w.amount(overhead, spec.Overhead, corev1.ResourceMemory)
	w.amount(overhead, spec.Overhead, corev1.ResourceEphemeralStorage)
	w.profile(annotations, seccompAnnotation, m.Annotations,
		spec.SecurityContext != nil && spec.SecurityContext.SeccompProfile != nil)
	for ctrPath, ctr := range Containers(s, spec) {
		if w.full() {
			break
		}
		w.profiles(annotations, m.Annotations, ctr, p != nil)
		w.container(ctrPath, ctr)
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

// nodeLabels warns of deprecated labels of nodes in the node selector, in affinity and in spread
// constraints, and of spread constraints without a selector.
func (w *warner) nodeLabels(s *field.Path) {
	for _, key := range slices.Sorted(maps.Keys(w.spec.NodeSelector)) {
		if msg := NodeLabelWarning(key); msg != "" {
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
		if msg := NodeLabelWarning(c.TopologyKey); msg != "" {
			w.add(s.Child("topologySpreadConstraints").Index(i).Child("topologyKey"), "%s is %s", c.TopologyKey, msg)
		}
		if c.LabelSelector == nil {
			w.add(s.Child("topologySpreadConstraints").Index(i).Child("labelSelector"), nullSelector)
		}
	}
}

// nodeTerm warns of deprecated labels in a term about nodes. In a preferred term (soft) it warns of
// invalid values; in a required term they are refused.
func (w *warner) nodeTerm(p *field.Path, t *corev1.NodeSelectorTerm, soft bool) {
	for i, e := range each(w, t.MatchExpressions) {
		p := p.Child("matchExpressions").Index(i)
		if msg := NodeLabelWarning(e.Key); msg != "" {
			w.add(p.Child("key"), "%s is %s", e.Key, msg)
		}
		if soft {
			w.labelValues(p.Child("values"), e.Values)
		}
	}
}

// labelValues warns of values that no label can have.
func (w *warner) labelValues(p *field.Path, values []string) {
	for i, value := range each(w, values) {
		for _, msg := range names.IsValidLabelValue(*value) {
			w.add(p.Index(i), "%s is invalid, %s", meta.Excerpt(*value), msg)
		}
	}
}

// annotations warns of annotations that fields have replaced.
func (w *warner) annotations(p *field.Path, annotations map[string]string) {
	for _, old := range []struct{ key, msg string }{
		{"scheduler.alpha.kubernetes.io/critical-pod", `non-functional in v1.16+; use the "priorityClassName" field instead`},
		{"security.alpha.kubernetes.io/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
		{"security.alpha.kubernetes.io/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
	} {
		if _, ok := annotations[old.key]; ok {
			w.add(p.Key(old.key), "%s", old.msg)
		}
	}
}

// profiles warns of seccomp and AppArmor annotations of a container without the corresponding
// field. In a pod, AppArmorFields has copied AppArmor annotations to fields and warned of them, so
// here only templates get that warning.
func (w *warner) profiles(p *field.Path, annotations map[string]string, ctr *corev1.Container, template bool) {
	if len(annotations) == 0 {
		return
	}
	own, ctx := ctr.SecurityContext, w.spec.SecurityContext
	w.profile(p, seccompAnnotationPrefix+ctr.Name, annotations, own != nil && own.SeccompProfile != nil)
	key := AppArmorAnnotationPrefix + ctr.Name
	profile, ok := annotations[key]
	if !ok || !template || own != nil && own.AppArmorProfile != nil ||
		ctx != nil && ctx.AppArmorProfile != nil && scheme.Equal(ctx.AppArmorProfile, AppArmorProfile(profile)) {
		return
	}
	w.add(p.Key(key), appArmorDeprecated)
}

// profile warns of the seccomp annotation key, unless the field is set.
func (w *warner) profile(p *field.Path, key string, annotations map[string]string, hasField bool) {
	if _, ok := annotations[key]; ok && !hasField {
		w.add(p.Key(key), `non-functional in v1.27+; use the "seccompProfile" field instead`)
	}
}

// volumes warns of deprecated volume types, and of the claims of ephemeral volumes.
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

// duplicates warns of entries of hostAliases and imagePullSecrets with the same key. Server-side
// apply and strategic merge patches match entries by key, and would merge or drop one of them.
func (w *warner) duplicates(s *field.Path) {
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

// amount warns if the amount of a resource in a list at p is no whole number of bytes.
func (w *warner) amount(p *field.Path, list corev1.ResourceList, name corev1.ResourceName) {
	if q, ok := list[name]; ok && !isWhole(q) {
		w.add(p.Key(string(name)), "fractional byte value %q is invalid, must be an integer", q.String())
	}
}

// container warns of fractional bytes, and of variables that hide an earlier variable of the same
// name.
func (w *warner) container(p *field.Path, ctr *corev1.Container) {
	limits, requests := p.Child("resources", "limits"), p.Child("resources", "requests")
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		w.amount(limits, ctr.Resources.Limits, name)
		w.amount(requests, ctr.Resources.Requests, name)
	}
	env := check.Duplicates{}
	for i, v := range each(w, ctr.Env) {
		if !env.Add(v.Name) && !extends(v) {
			w.add(p.Child("env").Index(i), "hides previous definition of %q, which may be dropped when using apply", v.Name)
		}
	}
}

// extends reports whether the value of a variable refers to an earlier definition of the same name,
// such as PATH=/x:$(PATH). That is a common use of repeated names, and not warned of.
func extends(v *corev1.EnvVar) bool {
	ref := "$(" + v.Name + ")"
	return v.ValueFrom == nil && v.Value != ref && strings.Contains(v.Value, ref)
}

// nullSelector is the warning about a selector that is nil, which matches nothing (an empty
// selector would match everything).
const nullSelector = "a null labelSelector results in matching no pod"

// selectors warns of terms about other pods that match none.
func (w *warner) selectors(s *field.Path) {
	for t := range podTerms(s.Child("affinity"), w.spec.Affinity) {
		if w.full() {
			return
		}
		if t.LabelSelector == nil {
			w.add(t.path.Child("labelSelector"), nullSelector)
		}
	}
}

// addresses warns of addresses that are valid but not in canonical form (KEP-4858).
func (w *warner) addresses(s *field.Path) {
	if w.spec.DNSConfig != nil {
		w.list = append(w.list, check.AddressWarnings(s.Child("dnsConfig", "nameservers"), w.spec.DNSConfig.Nameservers,
			check.IPWarnings)...)
	}
	for i, alias := range each(w, w.spec.HostAliases) {
		w.list = append(w.list, check.IPWarnings(s.Child("hostAliases").Index(i).Child("ip"), alias.IP)...)
	}
}
