// Package extensions knows what is special about the resources of apiextensions.k8s.io: the definitions of custom resources.
//
// Resources returns the declaration that a server makes a store from. Messages are those of kube-apiserver, in its order, and
// so are the fields that they name: it judges definitions in an older form, in which what all versions share stands outside of
// them (definitionspec.go).
//
// Not here: the verbs (registry), types and defaults (scheme/api/apiextensionsv1), what a schema means for objects
// (scheme/schema), serving what is defined (server).
//
// Read: definition.go, definitioncheck.go, definitionspec.go; schema.go for what schemas may say.
package extensions
