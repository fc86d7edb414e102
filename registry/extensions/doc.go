// Package extensions declares custom resource definitions (CustomResourceDefinition, the resource
// of the group apiextensions.k8s.io), and the resources that the definitions define.
//
// Words. A definition is a CustomResourceDefinition; its instances are the objects of the resource
// that it defines. A definition is established when its instances can be served, and terminating
// while they are being deleted. A schema is structural if each value has one type that is written
// outside of allOf, anyOf, oneOf and not; only a structural schema can prune, set defaults or have
// rules. A rule is an entry of x-kubernetes-validations (KEP-2876). An outline is a definition
// whose schemas are not decoded. A spec in its shared form is a spec as kube-apiserver validates it
// (definitionspec.go).
//
// Laws:
//
//   - The texts and the order of errors are those of kube-apiserver, and so are the fields that the
//     errors name. kube-apiserver validates the internal version of a definition, where the parts
//     that all versions share stand outside of the versions, so an error may name a field that no
//     client can send.
//
//   - A new definition is held to every rule. An update may keep some violations that the stored
//     definition has already (ratcheting): SchemaRules and definitionRules list them.
//
//   - An instance is validated by the schema of the version that the client writes in.
//
// Resources returns the declaration of the resource customresourcedefinitions. The server makes a
// store from it at its start. Declare and DeclareWithSchemas return the declaration of the resource
// that a definition defines; server/definitions calls DeclareWithSchemas when a definition changes.
// The conditions and names in a definition's status are decided by UpdateStatus,
// BeginInstanceDeletion, FailInstanceDeletion and FinishInstanceDeletion. These functions change
// the definition that they are given and store nothing. A loop in server/definitions calls them and
// writes the status. Definition makes a definition from Go types, for programs that bring their own
// kinds.
//
// Not here: the verbs (registry), the Go types and their defaults (scheme/api/apiextensionsv1),
// validation, pruning and defaulting by a schema (scheme/schema), CEL (scheme/cel/rules), the loop
// that serves the defined resources and the calls to conversion webhooks (server/definitions).
//
// Reading order: definition.go, definitioncheck.go, definitionspec.go and definitionversion.go are
// the validation of a definition; schema.go begins the validation of its schemas; conditions.go and
// names.go make its status; resource.go declares the instances, with kind.go, rules.go, columns.go,
// scale.go and webhook.go; terminating.go is the end of a definition; outline.go and fromtype.go
// are other ways to hold and to make one.
package extensions
