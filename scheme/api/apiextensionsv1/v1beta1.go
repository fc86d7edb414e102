package apiextensionsv1

import (
	"slices"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// betaDefinition is a CustomResourceDefinition of v1beta1. Nobody is served in this version, but
// every kube-apiserver stores definitions in it: what is the same in all versions of the resource
// stands there once. A definition of v1beta1 differs from one of v1 in the types of this file only.
type betaDefinition struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            betaSpec                       `json:"spec" pb:"2"`
	Status          CustomResourceDefinitionStatus `json:"status,omitempty" pb:"3"`
}

// betaSpec is a CustomResourceDefinitionSpec. Validation, Subresources, AdditionalPrinterColumns
// and SelectableFields are those of all versions. Version is the name of the first version, or of
// the only one if Versions is empty.
type betaSpec struct {
	Group                    string                        `json:"group" pb:"1"`
	Version                  string                        `json:"version,omitempty" pb:"2"`
	Names                    CustomResourceDefinitionNames `json:"names" pb:"3"`
	Scope                    ResourceScope                 `json:"scope" pb:"4" default:"Namespaced"`
	Validation               *CustomResourceValidation     `json:"validation,omitempty" pb:"5"`
	Subresources             *CustomResourceSubresources   `json:"subresources,omitempty" pb:"6"`
	Versions                 []betaVersion                 `json:"versions,omitempty" pb:"7" list:"atomic"`
	AdditionalPrinterColumns []betaColumn                  `json:"additionalPrinterColumns,omitempty" pb:"8" list:"atomic"`
	Conversion               *betaConversion               `json:"conversion,omitempty" pb:"9"`
	PreserveUnknownFields    *bool                         `json:"preserveUnknownFields,omitempty" pb:"10" default:"true"`
	SelectableFields         []SelectableField             `json:"selectableFields,omitempty" pb:"11" list:"atomic"`
}

// betaVersion is a CustomResourceDefinitionVersion.
type betaVersion struct {
	Name                     string                      `json:"name" pb:"1"`
	Served                   bool                        `json:"served" pb:"2"`
	Storage                  bool                        `json:"storage" pb:"3"`
	Schema                   *CustomResourceValidation   `json:"schema,omitempty" pb:"4"`
	Subresources             *CustomResourceSubresources `json:"subresources,omitempty" pb:"5"`
	AdditionalPrinterColumns []betaColumn                `json:"additionalPrinterColumns,omitempty" pb:"6" list:"atomic"`
	Deprecated               bool                        `json:"deprecated,omitempty" pb:"7"`
	DeprecationWarning       *string                     `json:"deprecationWarning,omitempty" pb:"8"`
	SelectableFields         []SelectableField           `json:"selectableFields,omitempty" pb:"9" list:"atomic"`
}

// betaColumn is a CustomResourceColumnDefinition. The path has another name in JSON.
type betaColumn struct {
	Name        string `json:"name" pb:"1"`
	Type        string `json:"type" pb:"2"`
	Format      string `json:"format,omitempty" pb:"3"`
	Description string `json:"description,omitempty" pb:"4"`
	Priority    int32  `json:"priority,omitempty" pb:"5"`
	JSONPath    string `json:"JSONPath" pb:"6"`
}

// betaConversion is a CustomResourceConversion and its WebhookConversion in one.
type betaConversion struct {
	Strategy                 ConversionStrategyType `json:"strategy" pb:"1"`
	WebhookClientConfig      *WebhookClientConfig   `json:"webhookClientConfig,omitempty" pb:"2"`
	ConversionReviewVersions []string               `json:"conversionReviewVersions,omitempty" pb:"3" list:"atomic"`
}

// addBeta registers v1beta1.
func addBeta(s *scheme.Scheme) {
	gvk := meta.GroupVersionKind{Group: GroupVersion.Group, Version: "v1beta1", Kind: "CustomResourceDefinition"}
	s.AddStored(gvk, gvk.GroupKind(), &betaDefinition{})
	scheme.AddDefaulting(s, defaultBetaDefinition)
	scheme.AddConversion(s, func(in *betaSpec, out *CustomResourceDefinitionSpec) error {
		return spreadBetaSpec(s, in, out)
	})
	scheme.AddConversion(s, nestWebhook)
}

// defaultBetaDefinition does for v1beta1 what defaultDefinition does for v1. It also makes a list
// of a single version, and takes v1beta1 for the version of reviews that a webhook understands if
// the definition does not say so.
func defaultBetaDefinition(d *betaDefinition) {
	spec := &d.Spec
	defaultNames(&spec.Names)
	if len(spec.Versions) == 0 && spec.Version != "" {
		spec.Versions = []betaVersion{{Name: spec.Version, Served: true, Storage: true}}
	}
	if spec.Conversion == nil {
		spec.Conversion = &betaConversion{Strategy: NoneConverter}
	}
	if c := spec.Conversion; c.Strategy == WebhookConverter && len(c.ConversionReviewVersions) == 0 {
		c.ConversionReviewVersions = []string{"v1beta1"}
	}
	if len(d.Status.StoredVersions) > 0 {
		return
	}
	if i := slices.IndexFunc(spec.Versions, func(v betaVersion) bool { return v.Storage }); i >= 0 {
		d.Status.StoredVersions = []string{spec.Versions[i].Name}
	}
}

// spreadBetaSpec gives each version what all have in common. That wins over what a version has of
// its own.
func spreadBetaSpec(s *scheme.Scheme, in *betaSpec, out *CustomResourceDefinitionSpec) error {
	spread := *in
	spread.Versions = slices.Clone(in.Versions)
	for i := range spread.Versions {
		v := &spread.Versions[i]
		if in.Validation != nil {
			v.Schema = in.Validation
		}
		if in.Subresources != nil {
			v.Subresources = in.Subresources
		}
		if in.AdditionalPrinterColumns != nil {
			v.AdditionalPrinterColumns = in.AdditionalPrinterColumns
		}
		if in.SelectableFields != nil {
			v.SelectableFields = in.SelectableFields
		}
	}
	out.PreserveUnknownFields = scheme.OrZero(in.PreserveUnknownFields)
	return scheme.ConvertFields(s, &spread, out)
}

// nestWebhook puts what concerns the webhook into a struct of its own, if there is anything.
func nestWebhook(in *betaConversion, out *CustomResourceConversion) error {
	out.Strategy = in.Strategy
	if in.WebhookClientConfig == nil && in.ConversionReviewVersions == nil {
		return nil
	}
	out.Webhook = &WebhookConversion{
		ClientConfig:             scheme.DeepCopy(in.WebhookClientConfig),
		ConversionReviewVersions: slices.Clone(in.ConversionReviewVersions),
	}
	return nil
}
