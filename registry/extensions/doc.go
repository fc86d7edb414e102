// Package extensions makes resources of custom resource definitions, and knows what is special
// about definitions themselves, which are the resource of apiextensions.k8s.io.
//
// Resources returns the declaration of definitions, and Declare what one of them defines, for a
// server to make stores from. Messages are those of kube-apiserver, in its order, and so are the
// fields that they name: it judges definitions in an older form, in which what all versions share
// stands outside of them (definitionspec.go).
//
// Not here: the verbs (registry), types and defaults (scheme/api/apiextensionsv1), what a schema
// means for objects (scheme/schema), serving what is defined (server).
//
// Read: definition.go, definitioncheck.go, definitionspec.go; conditions.go for the status;
// resource.go for what is declared.
package extensions
