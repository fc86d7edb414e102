package podspec

import (
	"strings"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

const appArmorDeprecated = `deprecated since v1.30; use the "appArmorProfile" field instead`

// AppArmorFields makes fields of the annotations of a new pod that came before them, and warns of
// those that had no field. One that is invalid stays what it is.
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

// AppArmorProfile returns the profile that an annotation names, nil if it names none.
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
