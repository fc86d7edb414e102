package main

import (
	"context"
	"errors"
	"slices"

	"github.com/coracle-project/coracle/cmd/wardle/v1alpha1"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/plugins"
)

// banFlunder is an admission plugin. It refuses to create a Flunder whose name a Fischer or the
// plugin's configuration disallows.
type banFlunder struct {
	resources registry.Stores
	config    banConfiguration
}

// banConfiguration is the plugin's part of the file of --admission-control-config-file.
type banConfiguration struct {
	meta.TypeMeta      `json:",inline"`
	DisallowedFlunders []string `json:"disallowedFlunders,omitempty"`
}

var banConfigurationKind = v1alpha1.GroupVersion.WithKind("BanFlunderConfiguration")

// banFlunders is the plugin's row in the table of admission plugins. It runs after Kubernetes' own
// plugins, and before those that call policies and webhooks.
var banFlunders = plugins.Plugin{Name: "BanFlunder", Make: newBanFlunder}

// newBanFlunder makes the plugin. configuration is YAML or JSON, nil if the file has none.
func newBanFlunder(resources registry.Stores, configuration []byte) (admission.Plugin, error) {
	b := &banFlunder{resources: resources}
	if configuration != nil {
		if err := admission.DecodeStrict(configuration, &b.config, banConfigurationKind); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Name returns the plugin's name, by which flags turn it on and off.
func (*banFlunder) Name() string { return "BanFlunder" }

// Handles selects creations. An update cannot change a name, so a name that was disallowed later
// stays in use.
func (*banFlunder) Handles(op admission.Operation) bool { return op == admission.Create }

// Validate makes the plugin an admission.Validator. It runs after mutation, so the name is final
// even if it was generated from generateName.
func (b *banFlunder) Validate(ctx context.Context, a *admission.Attributes) error {
	if a.Resource.GroupResource() != flunderResource {
		return nil
	}
	fischers, err := registry.ViewOf[*v1alpha1.Fischer](b.resources.Store(fischerResource))
	if err != nil {
		return err
	}
	list, err := fischers.List(ctx, "")
	if err != nil {
		return err
	}
	banned := slices.Contains(b.config.DisallowedFlunders, a.Name)
	for _, f := range list {
		banned = banned || slices.Contains(f.DisallowedFlunders, a.Name)
	}
	if !banned {
		return nil
	}
	return meta.NewForbidden(flunderResource, a.Name,
		errors.New("this name may not be used, please change the resource name"))
}
