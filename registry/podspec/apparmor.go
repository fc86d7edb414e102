package podspec

import (
	"strings"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// appArmorDeprecated is the warning about an AppArmor annotation without a field.
const appArmorDeprecated = `deprecated since v1.30; use the "appArmorProfile" field instead`

// AppArmorFields copies the AppArmor annotations of a new pod to the fields of its containers,
// which replaced them (KEP-24). It leaves alone a container that sets the field, and one whose
// annotation is what the pod's field says already. For each other container with an annotation it
// calls warn, even if the annotation is invalid and therefore not copied.
func AppArmorFields(pod *corev1.Pod, warn func(text string)) {
	if len(pod.Annotations) == 0 || pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows {
		return
	}
	var podProfile *corev1.AppArmorProfile
	if pod.Spec.SecurityContext != nil {
		podProfile = pod.Spec.SecurityContext.AppArmorProfile
	}
	for _, ctr := range Containers(nil, &pod.Spec) {
		key := AppArmorAnnotationPrefix + ctr.Name
		annotation, ok := pod.Annotations[key]
		if !ok || ctr.SecurityContext != nil && ctr.SecurityContext.AppArmorProfile != nil {
			continue
		}
		profile := AppArmorProfile(annotation)
		if valid := profile != nil && len(checkAppArmor(nil, profile)) == 0; valid {
			if scheme.Equal(profile, podProfile) {
				continue
			}
			if ctr.SecurityContext == nil {
				ctr.SecurityContext = &corev1.SecurityContext{}
			}
			ctr.SecurityContext.AppArmorProfile = profile
		}
		warn(field.NewPath("metadata", "annotations").Key(key).String() + ": " + appArmorDeprecated)
	}
}

// AppArmorProfile returns the profile that the value of an annotation means, nil if it is invalid.
// The profile is new and belongs to the caller.
func AppArmorProfile(annotation string) *corev1.AppArmorProfile {
	switch annotation {
	case unconfinedProfile:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case runtimeProfile:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	}
	if name, ok := strings.CutPrefix(annotation, localProfile); ok && name != "" {
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &name}
	}
	return nil
}
