package webhooks

import (
	"path/filepath"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Configuration is the configuration of one of the plugins.
type Configuration struct {
	// KubeConfigFile has the credentials for webhooks; "": there are none. The path is absolute.
	KubeConfigFile string
	// StaticManifestsDir is a directory of further configurations of webhooks; "": there is none.
	// It has not been checked.
	StaticManifestsDir string
}

// configuration is a WebhookAdmissionConfiguration.
type configuration struct {
	meta.TypeMeta      `json:",inline"`
	KubeConfigFile     string  `json:"kubeConfigFile"`
	StaticManifestsDir *string `json:"staticManifestsDir"` // only in v1
}

// configurationKinds are the kinds of the plugins' configuration.
var configurationKinds = []meta.GroupVersionKind{
	{Group: "apiserver.config.k8s.io", Version: "v1", Kind: "WebhookAdmissionConfiguration"},
	{Group: "apiserver.config.k8s.io", Version: "v1alpha1", Kind: "WebhookAdmission"},
}

// ReadConfiguration reads a configuration of the plugins, which is YAML or JSON; nil is the empty
// one.
func ReadConfiguration(data []byte) (c Configuration, err error) {
	if data == nil {
		return c, nil
	}
	var read configuration
	if err := admission.DecodeStrict(data, &read, configurationKinds...); err != nil {
		return c, err
	}
	c.KubeConfigFile = read.KubeConfigFile
	if dir := read.StaticManifestsDir; dir != nil {
		if read.GroupVersionKind() != configurationKinds[0] {
			return c, codec.StrictError([]string{`unknown field "staticManifestsDir"`})
		}
		c.StaticManifestsDir = *dir
	}
	if c.KubeConfigFile != "" && !filepath.IsAbs(c.KubeConfigFile) {
		return c, field.Invalid(field.NewPath("kubeConfigFile"), c.KubeConfigFile, "must be an absolute file path")
	}
	return c, nil
}
