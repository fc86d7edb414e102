package hookfiles

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the configurations of the plugins that have directories.

// policyConfiguration is the configuration of a plugin for admission policies.
type policyConfiguration struct {
	meta.TypeMeta      `json:",inline"`
	StaticManifestsDir string `json:"staticManifestsDir,omitempty"`
}

// ReadPolicyConfiguration returns the directory that a configuration of the plugin
// ValidatingAdmissionPolicy or MutatingAdmissionPolicy names, "" if it names none. data is YAML or
// JSON; nil means that the plugin has no configuration. CheckDir has not been called for the
// result.
func ReadPolicyConfiguration(plugin string, data []byte) (dir string, err error) {
	if data == nil {
		return "", nil
	}
	var c policyConfiguration
	err = admission.DecodeStrict(data, &c,
		meta.GroupVersionKind{Group: "apiserver.config.k8s.io", Version: "v1", Kind: plugin + "Configuration"})
	return c.StaticManifestsDir, err
}

// CheckDir checks the directory that a configuration of a plugin names; "" is none. allowed says
// that the gate ManifestBasedAdmissionControlConfig is on.
func CheckDir(dir string, allowed bool) error {
	if dir == "" {
		return nil
	}
	p := field.NewPath("staticManifestsDir")
	if !allowed {
		return field.Forbidden(p, "staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled")
	}
	if !filepath.IsAbs(dir) {
		return field.Invalid(p, dir, "must be an absolute file path")
	}
	info, err := os.Stat(dir)
	if err != nil {
		return field.Invalid(p, dir, fmt.Sprintf("unable to read: %v", err))
	}
	if !info.IsDir() {
		return field.Invalid(p, dir, "must be a directory")
	}
	return nil
}
