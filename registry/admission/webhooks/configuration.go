package webhooks

import (
	"fmt"
	"path/filepath"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// configuration is a WebhookAdmissionConfiguration.
type configuration struct {
	meta.TypeMeta      `json:",inline"`
	KubeConfigFile     string `json:"kubeConfigFile"`
	StaticManifestsDir string `json:"staticManifestsDir"`
}

// configurationKinds are the kinds of the plugins' configuration, which mean the same.
var configurationKinds = []meta.GroupVersionKind{
	{Group: "apiserver.config.k8s.io", Version: "v1", Kind: "WebhookAdmissionConfiguration"},
	{Group: "apiserver.config.k8s.io", Version: "v1alpha1", Kind: "WebhookAdmission"},
}

// ReadConfiguration returns the credentials that a configuration of the plugins names, for the Pool
// of their clients. The result is nil without a configuration or without credentials.
func ReadConfiguration(data []byte) (*callout.Users, error) {
	if data == nil {
		return nil, nil
	}
	var c configuration
	if err := admission.DecodeStrict(data, &c, configurationKinds...); err != nil {
		return nil, err
	}
	switch {
	case c.StaticManifestsDir != "":
		return nil, fmt.Errorf("static webhook manifests dir %q configured but "+
			"ManifestBasedAdmissionControlConfig feature gate is not enabled", c.StaticManifestsDir)
	case c.KubeConfigFile == "":
		return nil, nil
	case !filepath.IsAbs(c.KubeConfigFile):
		return nil, field.Invalid(field.NewPath("kubeConfigFile"), c.KubeConfigFile, "must be an absolute file path")
	}
	return callout.ReadUsers(c.KubeConfigFile)
}
