package podspec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// This file checks the annotations of pods and templates that have a meaning for the server: mirror
// pods, the deletion cost, and the profiles of seccomp and AppArmor, which were annotations before
// they were fields (KEP-135, KEP-24). Rules.Annotations is called at each write of a pod or
// template. ProfileAnnotations is called when a pod is created, and at each write of a template.

// Annotations of pods that have a meaning for the server. Those that end in a slash are prefixes:
// the name of a container follows.
const (
	// AppArmorAnnotationPrefix begins the annotation with the AppArmor profile of a container.
	AppArmorAnnotationPrefix = "container.apparmor.security.beta.kubernetes.io/"

	// deletionCostAnnotation tells a ReplicaSet which pods to delete first: those of low cost
	// (KEP-2255).
	deletionCostAnnotation  = "controller.kubernetes.io/pod-deletion-cost"
	seccompAnnotation       = "seccomp.security.alpha.kubernetes.io/pod"
	seccompAnnotationPrefix = "container.seccomp.security.alpha.kubernetes.io/"
)

// Profiles of seccomp and AppArmor as annotations name them.
const (
	runtimeProfile    = "runtime/default"
	dockerProfile     = "docker/default" // the old name of runtime/default, for seccomp only
	unconfinedProfile = "unconfined"
	localProfile      = "localhost/" // a prefix of the name of a profile or file
)

// Annotations returns what is wrong with the annotations at p of a pod or template. It looks only
// at annotations that have a meaning for the server. Errors about seccomp have the key as a child
// of p, others as a map key, as in kube-apiserver.
func (r Rules) Annotations(p *field.Path, annotations map[string]string, spec *corev1.PodSpec) field.ErrorList {
	var errs field.ErrorList
	if value, ok := annotations[corev1.MirrorPodAnnotation]; ok && spec.NodeName == "" {
		errs = append(errs, field.Invalid(p.Key(corev1.MirrorPodAnnotation), value,
			"must set spec.nodeName if mirror pod annotation is set"))
	}
	if cost, ok := annotations[deletionCostAnnotation]; ok && !validDeletionCost(cost) && !r.was.hadInvalidCost() {
		errs = append(errs, field.Invalid(p.Key(deletionCostAnnotation), cost, "must be a 32bit integer"))
	}
	if profile, ok := annotations[seccompAnnotation]; ok {
		errs = append(errs, seccompName(p.Child(seccompAnnotation), profile)...)
	}
	for _, key := range field.Each(&errs, keysWith(annotations, seccompAnnotationPrefix)) {
		errs = append(errs, seccompName(p.Child(*key), annotations[*key])...)
	}
	return append(errs, appArmorNames(p, annotations, spec)...)
}

// hadInvalidCost reports whether the old object had an invalid deletion cost, which it may keep.
func (b *before) hadInvalidCost() bool {
	if b == nil {
		return false
	}
	cost, ok := b.annotations[deletionCostAnnotation]
	return ok && !validDeletionCost(cost)
}

// validDeletionCost reports whether a cost is a 32-bit integer without plus sign and leading zeros.
func validDeletionCost(cost string) bool {
	if strings.HasPrefix(cost, "+") || strings.HasPrefix(cost, "0") && cost != "0" {
		return false
	}
	_, err := strconv.ParseInt(cost, 10, 32)
	return err == nil
}

// seccompName checks the name of a seccomp profile in an annotation.
func seccompName(p *field.Path, profile string) field.ErrorList {
	switch profile {
	case runtimeProfile, dockerProfile, unconfinedProfile:
		return nil
	}
	if file, ok := strings.CutPrefix(profile, localProfile); ok {
		return check.DescendingPath(p, file)
	}
	return field.ErrorList{field.Invalid(p, profile, "must be a valid seccomp profile")}
}

// appArmorNames checks the AppArmor annotations: each is for a container that exists, and names a
// profile, or is empty for none.
func appArmorNames(p *field.Path, annotations map[string]string, spec *corev1.PodSpec) field.ErrorList {
	keys := keysWith(annotations, AppArmorAnnotationPrefix)
	if len(keys) == 0 {
		return nil
	}
	containers := check.Duplicates{}
	for _, ctr := range Containers(nil, spec) {
		containers.Add(ctr.Name)
	}
	var errs field.ErrorList
	for _, key := range field.Each(&errs, keys) {
		name, profile := strings.TrimPrefix(*key, AppArmorAnnotationPrefix), annotations[*key]
		if !containers[name] {
			errs = append(errs, field.Invalid(p.Key(*key), name, "container not found"))
		}
		if profile != "" && profile != runtimeProfile && profile != unconfinedProfile &&
			!strings.HasPrefix(profile, localProfile) {
			errs = append(errs, field.Invalid(p.Key(*key), profile,
				fmt.Sprintf("invalid AppArmor profile name: %q", profile)))
		}
	}
	return errs
}

// keysWith returns the keys of m that begin with prefix, sorted.
func keysWith(m map[string]string, prefix string) []string {
	var keys []string
	for key := range m {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// ProfileAnnotations returns where the annotations of a pod or template contradict the seccomp and
// AppArmor profiles in its spec at p. Older kubelets read the annotation, newer ones the field, so
// both must agree. The profile of a container is compared with its own annotation; an AppArmor
// profile of the pod applies to containers without their own. Windows has no AppArmor.
func ProfileAnnotations(p *field.Path, annotations map[string]string, spec *corev1.PodSpec) field.ErrorList {
	if len(annotations) == 0 {
		return nil
	}
	var errs field.ErrorList
	ctx := spec.SecurityContext
	if annotation, ok := annotations[seccompAnnotation]; ok && ctx != nil && ctx.SeccompProfile != nil {
		errs = append(errs, seccompMatches(p.Child("securityContext", "seccompProfile"), annotation,
			ctx.SeccompProfile)...)
	}
	for p, ctr := range Containers(p, spec) {
		if errs.Full() {
			return errs
		}
		annotation, ok := annotations[seccompAnnotationPrefix+ctr.Name]
		if sc := ctr.SecurityContext; ok && sc != nil && sc.SeccompProfile != nil {
			errs = append(errs, seccompMatches(p.Child("securityContext", "seccompProfile"), annotation,
				sc.SeccompProfile)...)
		}
	}
	if spec.OS != nil && spec.OS.Name == corev1.Windows {
		return errs
	}
	for p, ctr := range Containers(p, spec) {
		if errs.Full() {
			return errs
		}
		var profile *corev1.AppArmorProfile
		if ctx != nil {
			profile = ctx.AppArmorProfile
		}
		if sc := ctr.SecurityContext; sc != nil && sc.AppArmorProfile != nil {
			profile = sc.AppArmorProfile
		}
		if annotation, ok := annotations[AppArmorAnnotationPrefix+ctr.Name]; ok && profile != nil {
			errs = append(errs, appArmorMatches(p.Child("securityContext", "appArmorProfile"), annotation, profile)...)
		}
	}
	return errs
}

// seccompMatches compares the seccomp annotation of a container with the profile in the field. The
// annotation docker/default is the older name of runtime/default.
func seccompMatches(p *field.Path, annotation string, profile *corev1.SeccompProfile) field.ErrorList {
	if annotation == dockerProfile {
		annotation = runtimeProfile
	}
	return profileMatches(p, "seccomp", annotation, string(profile.Type), profile.LocalhostProfile)
}

func appArmorMatches(p *field.Path, annotation string, profile *corev1.AppArmorProfile) field.ErrorList {
	return profileMatches(p, "apparmor", annotation, string(profile.Type), profile.LocalhostProfile)
}

// profileMatches compares an annotation with a profile field of a type. file is the profile on the
// node, nil if unset. what is seccomp or apparmor: the types of both have the same names.
func profileMatches(p *field.Path, what, annotation, profile string, file *string) field.ErrorList {
	matches := true
	switch profile {
	case string(corev1.SeccompProfileTypeUnconfined):
		matches = annotation == unconfinedProfile
	case string(corev1.SeccompProfileTypeRuntimeDefault):
		matches = annotation == runtimeProfile
	case string(corev1.SeccompProfileTypeLocalhost):
		var name string
		if name, matches = strings.CutPrefix(annotation, localProfile); matches && (file == nil || name != *file) {
			return field.ErrorList{field.Forbidden(p.Child("localhostProfile"),
				what+" profile in annotation and field must match")}
		}
	}
	if !matches {
		return field.ErrorList{field.Forbidden(p.Child("type"), what+" type in annotation and field must match")}
	}
	return nil
}
