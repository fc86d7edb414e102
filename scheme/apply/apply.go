// Package apply records who owns which fields of an object, and merges the configuration that an
// applier sends into the live object. It implements server-side apply (KEP-555) with the rules of
// structured-merge-diff and of kube-apiserver's field manager.
//
// Words:
//
//   - An Element is one step from an object or a list to a part of it, and a Path is a list of
//     such steps. A Set is a set of fields. Its text form is FieldsV1.
//   - A shape is what a schema means for ownership. A granular value has fields that are owned
//     one by one; an atomic value is owned as one field. A list of type map has elements that its
//     keys identify, and the elements of a list of type set are identified by their values.
//   - A manager is a client as managedFields tells clients apart: name, operation, apiVersion,
//     subresource. An owner is a manager with the Set of fields that it owns.
//   - A Door is a resource in one version, or one of its subresources, as the way by which
//     objects are written.
//
// Laws:
//
//   - A manager that changes a field by an update becomes the field's only owner. A manager that
//     applies a field shares it with all managers that apply the same value. Applying another
//     value is a conflict; if the application is forced, it takes the field from the other owners
//     instead.
//   - A field that an applier listed in its last application, and no longer lists, is removed
//     unless another manager owns it.
//   - An entry of metadata.managedFields says what one manager owns by one operation, in the
//     version in which the manager wrote.
//   - Trees come from clients: no shape, size or depth of a tree makes this package panic. All
//     walks count their steps with a meter.Meter, and end early once it has ended.
//   - Functions never change a tree that they are given. Results share parts with the trees they
//     were made from.
//   - Where two trees hold the same text, the walks do not look into that text.
//
// A worked example, an application with a conflict. Alice applies a Deployment that does not exist;
// this is the part of her configuration that matters here:
//
//	metadata: {name: web, labels: {tier: front}}
//	spec:     {replicas: 3, minReadySeconds: 10}
//
// The object is created with one entry of managedFields: manager alice, operation Apply, and the
// Set of the fields that the configuration lists, in FieldsV1:
//
//	{"f:metadata":{"f:labels":{"f:tier":{}}},"f:spec":{"f:minReadySeconds":{},"f:replicas":{}}}
//
// Then a controller, manager scaler, updates spec.replicas to 5. Door.Update compares the two trees
// (Compare) and finds one changed field. So scaler gets an entry with the operation Update and the
// Set {"f:spec":{"f:replicas":{}}}, and alice's entry loses f:replicas (write.takeFromOthers).
//
// Now alice applies the same configuration again. Door.Apply takes these steps:
//
//  1. decode makes owners of the two entries, and Check finds nothing wrong with the configuration
//     and the live object.
//  2. Merge puts the configuration into the live object: spec.replicas is 3 again.
//  3. FieldsOf returns the fields of the configuration, which become the fields of alice.
//  4. prune finds that alice still lists all fields of her last application, so it removes none.
//  5. losses compares the live object with the merged one: only spec.replicas has changed, and
//     scaler owns it. That is a conflict, and the client gets 409 with one cause: Apply failed with
//     1 conflict: conflict with "scaler" using apps/v1: .spec.replicas
//
// Alice can resolve the conflict in three ways:
//
//   - She applies with force=true: spec.replicas becomes 3, alice owns it, and scaler's entry,
//     which has no fields left, is dropped.
//   - She applies replicas: 5: the merge changes nothing, so nobody loses a field, and both own it.
//   - She leaves replicas out: it stays 5 and belongs to scaler alone.
//
// If she leaves out the label as well, which only she owns, step 4 removes it from the object.
//
// All functions work on trees of package jsontext, which may be lazy, and on schemas; whether the
// kind has a Go type makes no difference. All exported functions may be called concurrently, except
// where a comment says otherwise.
//
// Not here: decoding, defaulting, admission and storage, which the registry does before and after;
// and validation of metadata.
//
// Reading order: set.go and element.go, builder.go, fieldsv1.go, recent.go; shape.go (what a schema
// means for ownership), part.go, walker.go and list.go (how trees are read); fields.go, compare.go,
// merge.go and order.go, remove.go, reconcile.go, check.go, atomics.go (operations on one tree or
// two); managed.go (entries), door.go (updates and applications), write.go, prune.go, conflict.go,
// lastapplied.go and scale.go.
package apply
