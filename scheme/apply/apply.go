// Package apply keeps record of who owns which fields of an object, and merges what an applier wants with what is there.
//
// The rules are those of server-side apply (KEP-555), as structured-merge-diff and kube-apiserver's field manager have them:
//
//   - a Set is a set of fields, written as FieldsV1. What the fields of an object are follows from its schema: a list of type
//     map has elements by their keys, a set by their values, and what is atomic is one field;
//   - whoever changes a field by an update owns it, alone; whoever applies a field owns it together with all who apply the
//     same value. To apply another value is a conflict, unless it is forced, and then it takes the field;
//   - what an applier no longer lists goes, unless somebody else owns it;
//   - an entry of metadata.managedFields is what one manager owns by one operation, in the version that it wrote in.
//
// All of it works on trees of package jsontext, which may be lazy, and schemas: whether there is a Go type nobody asks. Text
// that is the same in both of two objects is not looked into.
//
// Trees come from clients: no shape, size or depth of them is a reason to panic. Nothing here changes a tree that it is given;
// results share parts with them. Everything is safe for concurrent use but what is documented otherwise.
//
// Not here: decoding, defaults, admission and storage, which the registry does around it, and what metadata has to look like.
//
// Reading order: set.go and element.go, builder.go, fieldsv1.go, recent.go; shape.go (what a schema means for ownership), part.go,
// walker.go and list.go (how trees are looked into), fields.go, compare.go, merge.go and order.go, remove.go, reconcile.go, check.go
// (what is done with one tree or two); managed.go (entries), door.go (updates and applications), write.go, prune.go, conflict.go,
// lastapplied.go and scale.go.
package apply
