package podsecurity

import (
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// This file has the checks of profiles that confine processes: AppArmor, SELinux and seccomp.
// Evaluate (checks.go) calls them.

// The deprecated annotations that set profiles, which old versions have instead of fields, and
// their values.
const (
	appArmorAnnotation = "container.apparmor.security.beta.kubernetes.io/" // and the container's name
	podSeccomp         = "seccomp.security.alpha.kubernetes.io/pod"
	containerSeccomp   = "container.seccomp.security.alpha.kubernetes.io/" // and the container's name

	runtimeProfile = "runtime/default"
	dockerProfile  = "docker/default"
	localProfile   = "localhost/" // and the profile's name
)

// appArmorProfiles forbids pods that ask, in fields or annotations, to run without a profile of
// AppArmor.
func appArmorProfiles(p *subject) Violation {
	var bad setters
	var values, annotations []string
	allowed := func(p *corev1.AppArmorProfile) bool {
		if p == nil ||
			p.Type == corev1.AppArmorProfileTypeRuntimeDefault || p.Type == corev1.AppArmorProfileTypeLocalhost {
			return true
		}
		values = append(values, string(p.Type))
		return false
	}
	if ctx := p.spec.SecurityContext; ctx != nil {
		bad.pod = !allowed(ctx.AppArmorProfile)
	}
	for _, c := range p.secured {
		ctx := c.SecurityContext
		if !allowed(ctx.AppArmorProfile) {
			bad.containers = append(bad.containers, c.Name)
		}
	}
	for key, value := range p.meta.Annotations {
		if strings.HasPrefix(key, appArmorAnnotation) &&
			value != "" && value != runtimeProfile && !strings.HasPrefix(value, localProfile) {
			annotations = append(annotations, key+"="+strconv.Quote(value))
		}
	}
	places := bad.list()
	if annotations != nil {
		places = append(places, plural("annotation", len(annotations)))
	}
	if places == nil {
		return Violation{}
	}
	slices.Sort(annotations)
	values = append(sorted(values), annotations...)
	return Violation{plural("forbidden AppArmor profile", len(values)),
		strings.Join(places, " and ") + " must not set AppArmor profile type to " + quoted(values)}
}

// seLinuxOptions returns the check that allows only these types of SELinux, and neither user nor
// role.
func seLinuxOptions(types ...string) checkFunc {
	return func(p *subject) Violation {
		var bad setters
		var found seLinuxFaults
		if ctx := p.spec.SecurityContext; ctx != nil {
			bad.pod = found.in(ctx.SELinuxOptions, types)
		}
		for _, c := range p.secured {
			ctx := c.SecurityContext
			if found.in(ctx.SELinuxOptions, types) {
				bad.containers = append(bad.containers, c.Name)
			}
		}
		if !bad.any() {
			return Violation{}
		}
		return Violation{"seLinuxOptions",
			bad.String() + " set forbidden securityContext.seLinuxOptions: " + found.String()}
	}
}

// seLinuxFaults are the forbidden options of SELinux in a pod.
type seLinuxFaults struct {
	types      []string
	user, role bool
}

// in adds the faults of o to f. It reports whether o has any.
func (f *seLinuxFaults) in(o *corev1.SELinuxOptions, allowed []string) bool {
	if o == nil {
		return false
	}
	badType := !slices.Contains(allowed, o.Type)
	if badType {
		f.types = append(f.types, o.Type)
	}
	f.user, f.role = f.user || o.User != "", f.role || o.Role != ""
	return badType || o.User != "" || o.Role != ""
}

// String returns the faults in words.
func (f *seLinuxFaults) String() string {
	var words []string
	if f.types != nil {
		words = append(words, named("type", sorted(f.types)))
	}
	if f.user {
		words = append(words, "user may not be set")
	}
	if f.role {
		words = append(words, "role may not be set")
	}
	return strings.Join(words, "; ")
}

// seccompAnnotations forbids pods that ask to run without a profile of seccomp, in the annotations
// that set the profile before 1.19.
func seccompAnnotations(p *subject) Violation {
	if len(p.meta.Annotations) == 0 {
		return Violation{}
	}
	var bad []string
	look := func(key string) {
		value, ok := p.meta.Annotations[key]
		if ok && value != runtimeProfile && value != dockerProfile && !strings.HasPrefix(value, localProfile) {
			bad = append(bad, key+"="+strconv.Quote(value))
		}
	}
	look(podSeccomp)
	for _, c := range p.containers {
		look(containerSeccomp + c.Name)
	}
	if bad == nil {
		return Violation{}
	}
	bad = sorted(bad)
	return Violation{"seccompProfile",
		"forbidden " + plural("annotation", len(bad)) + " " + strings.Join(bad, ", ")}
}

// seccomp has the profiles of seccomp that a pod and its containers name.
type seccomp struct {
	bad    setters  // places with forbidden profiles
	values []string // the types of these profiles
	silent bool     // the pod names no allowed profile, so each container has to name one
}

func seccompOf(p *subject) (s seccomp) {
	forbids := func(p *corev1.SeccompProfile) bool {
		if p.Type == corev1.SeccompProfileTypeLocalhost || p.Type == corev1.SeccompProfileTypeRuntimeDefault {
			return false
		}
		s.values = append(s.values, string(p.Type))
		return true
	}
	s.silent = true
	if ctx := p.spec.SecurityContext; ctx != nil && ctx.SeccompProfile != nil {
		s.bad.pod = forbids(ctx.SeccompProfile)
		s.silent = s.bad.pod
	}
	for _, c := range p.secured {
		ctx := c.SecurityContext
		if ctx.SeccompProfile != nil && forbids(ctx.SeccompProfile) {
			s.bad.containers = append(s.bad.containers, c.Name)
		}
	}
	return s
}

// seccompProfiles forbids pods that ask, in fields, to run without a profile of seccomp.
func seccompProfiles(p *subject) Violation {
	s := seccompOf(p)
	return s.forbidden()
}

func (s *seccomp) forbidden() Violation {
	if !s.bad.any() {
		return Violation{}
	}
	return Violation{"seccompProfile",
		s.bad.String() + " must not set securityContext.seccompProfile.type to " + quoted(sorted(s.values))}
}

// requiredSeccompProfiles demands that each container, or the pod for it, names a profile of
// seccomp.
func requiredSeccompProfiles(p *subject) Violation {
	s := seccompOf(p)
	if v := s.forbidden(); v.Reason != "" || !s.silent {
		return v
	}
	var without []string
	for _, c := range p.containers {
		if c.SecurityContext == nil || c.SecurityContext.SeccompProfile == nil {
			without = append(without, c.Name)
		}
	}
	if without == nil {
		return Violation{}
	}
	return Violation{"seccompProfile", "pod or " + named("container", without) +
		` must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`}
}
