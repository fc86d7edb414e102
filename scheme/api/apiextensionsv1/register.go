package apiextensionsv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}

// Scheme registers the kinds and their defaults.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion,
		&CustomResourceDefinition{}, &CustomResourceDefinitionList{},
		&ConversionReview{},
	)
	scheme.AddDefaulting(s, defaultDefinition, "spec.names.singular", "spec.names.listKind", "spec.conversion",
		"!spec.conversion.webhook", "status.storedVersions")
	scheme.AddDefaulting(s, defaultServiceReference, "port")
	addBeta(s)
})
