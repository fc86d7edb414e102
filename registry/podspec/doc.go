// Package podspec knows the rules for what a pod runs: for the specs of pods, and of the templates
// that other kinds make pods from.
//
// Rules.Pod and Rules.Template return what is wrong with a pod or a template, new or changed;
// Selector, Selected and Lasting what the owners of pods ask of it besides; and Profiles where old
// annotations of a new pod contradict its fields; Warnings tells of what is legal but not what its
// author wants; DropDisabled takes out the fields of features that are not served. What a pod may
// change of itself is the business of its kind.
//
// Claim and PersistentVolume do so for the storage that outlives pods, which claims in pods and
// templates ask for, and whose sources are mostly those of a pod's volumes.
//
// Messages are those of kube-apiserver, in its order. Whatever loops over a list or map of a spec
// and may find something wrong with each element goes by field.Each or field.Entries; what it
// compares with, it finds by hash.
//
// Not here: the kind pods (registry/core), defaults (scheme/api/corev1).
//
// Read: pod.go and template.go, then spec.go and what it calls: volume.go, container.go,
// security.go, scheduling.go, resources.go.
package podspec
