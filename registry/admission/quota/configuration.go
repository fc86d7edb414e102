package quota

import (
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the configuration of the plugin, the kind ResourceQuotaConfiguration.

// LimitedResource is a resource that objects may use only if a quota limits it.
type LimitedResource struct {
	// APIGroup and Resource name the resource whose objects use it, such as pods.
	APIGroup string `json:"apiGroup,omitempty"`
	Resource string `json:"resource"`
	// MatchContains are parts of names. A name in the usage of an object that contains one of them
	// must be limited by a quota that tracks the object.
	MatchContains []string `json:"matchContains,omitempty"`
	// MatchScopes are scopes. If an object is in one of them, a quota must have the scope and the
	// object must be in the quota's. As in Kubernetes, they apply to objects of all resources.
	MatchScopes []corev1.ScopedResourceSelectorRequirement `json:"matchScopes,omitempty"`
}

// configuration is the kind ResourceQuotaConfiguration, which older versions call Configuration.
// All versions have the same fields.
type configuration struct {
	meta.TypeMeta    `json:",inline"`
	LimitedResources []LimitedResource `json:"limitedResources"`
}

var configurationKinds = []meta.GroupVersionKind{
	{Group: "apiserver.config.k8s.io", Version: "v1", Kind: "ResourceQuotaConfiguration"},
	{Group: "resourcequota.admission.k8s.io", Version: "v1beta1", Kind: "Configuration"},
	{Group: "resourcequota.admission.k8s.io", Version: "v1alpha1", Kind: "Configuration"},
}

// Limited returns the limited resources of a configuration in YAML or JSON. nil means that there is
// no configuration: no resource is limited.
func Limited(data []byte) ([]LimitedResource, error) {
	if data == nil {
		return nil, nil
	}
	var c configuration
	if err := admission.DecodeStrict(data, &c, configurationKinds...); err != nil {
		return nil, err
	}
	var errs field.ErrorList
	for i := range c.LimitedResources {
		if c.LimitedResources[i].Resource == "" {
			errs = append(errs, field.Required(field.NewPath("limitedResources").Index(i).Child("resource"), ""))
		}
	}
	return c.LimitedResources, errs.ToAggregate()
}
