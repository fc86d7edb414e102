package plugins

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file reads an AdmissionConfiguration, the file of --admission-control-config-file, which has
// the configurations of plugins. New calls it.

// admissionConfiguration is the kind AdmissionConfiguration. Its two versions have the same fields.
type admissionConfiguration struct {
	meta.TypeMeta `json:",inline"`
	Plugins       []pluginConfiguration `json:"plugins,omitempty"`
}

var admissionConfigurationKinds = []meta.GroupVersionKind{
	{Group: "apiserver.config.k8s.io", Version: "v1", Kind: "AdmissionConfiguration"},
	{Group: "apiserver.k8s.io", Version: "v1alpha1", Kind: "AdmissionConfiguration"},
}

// pluginConfiguration is the configuration of one plugin. Configuration counts if it is there, and
// the file at Path otherwise.
type pluginConfiguration struct {
	Name          string             `json:"name"`
	Path          string             `json:"path,omitempty"`
	Configuration *meta.RawExtension `json:"configuration,omitempty"`
}

// configurations are the configurations of all plugins that a file mentions.
type configurations struct {
	file string
	list []pluginConfiguration
}

// bare has two plugins by the key of their configuration. Each of these configurations may be the
// whole file, without an AdmissionConfiguration around it.
var bare = map[string]string{
	"imagePolicy":                 "ImagePolicyWebhook",
	"podNodeSelectorPluginConfig": "PodNodeSelector",
}

// readConfigurations reads a file. An empty name means that no plugin is configured. Errors name
// the file and the field.
func readConfigurations(file string) (c configurations, err error) {
	c.file = file
	if file == "" {
		return c, nil
	}
	data, err := configfile.Read(file)
	if err != nil {
		return c, err
	}
	if isBare(data) {
		for _, plugin := range bare {
			c.list = append(c.list, pluginConfiguration{Name: plugin, Path: file})
		}
		return c, nil
	}
	var decoded admissionConfiguration
	if err := admission.DecodeStrict(data, &decoded, admissionConfigurationKinds...); err != nil {
		return c, fmt.Errorf("%s: %w", file, err)
	}
	c.list = decoded.Plugins
	for i := range c.list {
		p := &c.list[i]
		if p.Path != "" && !filepath.IsAbs(p.Path) {
			p.Path = filepath.Join(filepath.Dir(file), p.Path)
		}
	}
	return c, nil
}

// isBare reports whether data is a bare configuration: an object without a kind that has one of the
// keys of bare.
func isBare(data []byte) bool {
	text, _, err := codec.YAMLToJSON(data, false, nil)
	if err != nil {
		return false
	}
	tree, _, err := codec.DecodeTree(text, false, nil)
	object, ok := tree.(map[string]any)
	if err != nil || !ok || object["kind"] != nil {
		return false
	}
	for key := range bare {
		if _, has := object[key]; has {
			return true
		}
	}
	return false
}

// of returns the configuration of a plugin as YAML or JSON, nil if there is none, and the name of
// its file. If the file mentions a plugin several times, the first counts, as in kube-apiserver.
func (c configurations) of(plugin string) (data []byte, file string, err error) {
	i := slices.IndexFunc(c.list, func(p pluginConfiguration) bool { return p.Name == plugin })
	switch {
	case i < 0:
		return nil, "", nil
	case c.list[i].Configuration != nil:
		return c.list[i].Configuration.Raw, c.file, nil
	case c.list[i].Path != "":
		data, err := configfile.Read(c.list[i].Path)
		return data, c.list[i].Path, err
	}
	return nil, "", nil
}
