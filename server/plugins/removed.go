package plugins

import "fmt"

// This file has the plugins that Kubernetes has removed. Their names are unknown, but command lines
// of older clusters still have them. docs/admission.md lists them, too.

// removed are the plugins by name. since is the first release of Kubernetes without the plugin.
// instead is its replacement, as the object of a sentence.
var removed = map[string]struct{ since, instead string }{
	"SecurityContextDeny":   {"1.30", "PodSecurity with the level restricted"},
	"PodSecurityPolicy":     {"1.25", "PodSecurity"},
	"PersistentVolumeLabel": {"1.31", "the topology that CSI drivers report, or the webhook cloud-pv-admission-labeler"},
	"DenyEscalatingExec":    {"1.21", "PodSecurity, which refuses such pods"},
	"DenyExecOnPrivileged":  {"1.21", "PodSecurity, which refuses such pods"},
	"PodPreset":             {"1.20", "MutatingAdmissionPolicy or MutatingAdmissionWebhook"},
	"Initializers":          {"1.14", "MutatingAdmissionWebhook"},
}

// Removed returns a sentence about a plugin that Kubernetes has removed: since when, and what to
// use instead. It returns "" for any other name.
func Removed(name string) string {
	r, is := removed[name]
	if !is {
		return ""
	}
	return fmt.Sprintf("Kubernetes %s removed it; use %s instead", r.since, r.instead)
}
