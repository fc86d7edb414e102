// Package podspec holds the validation rules for pod specs: of pods, and of the pod templates in
// the kinds that make pods (Deployment, Job and others). It also holds the rules for the specs of
// PersistentVolumeClaims and PersistentVolumes, because a pod's volumes share most of them.
//
// Words. A rule is a function that returns a field.ErrorList, nil if it finds nothing wrong. Each
// takes the path p under which it reports. A quirk is something that an old spec may keep although
// a new spec may not have it (before.go). A host namespace is a Linux namespace of the node that a
// pod shares (hostNetwork, hostPID, hostIPC, hostUsers).
//
// Laws:
//   - Messages, paths and their order are those of kube-apiserver, including its misspelled paths.
//     Tests hold them to the letter, so a path that looks wrong in the code is intended.
//   - A rule that is younger than the API lets an update keep what the old object has: it asks
//     Rules.was, which After fills.
//   - A rule loops over a list with field.Each, and over a map with field.Entries, if it can report
//     each element: they stop at field.MaxErrors. It finds duplicates and references by hash. So
//     the work for a spec is linear in its size.
//
// Callers. Rules.Pod and Rules.Template check a whole spec. Selector, SelectorNotEmpty,
// SelectorMatchesTemplate and LongRunningTemplate check what the owners of pods ask of their
// templates. ProfileAnnotations reports annotations of a new pod that contradict its fields. Claim,
// PersistentVolume and InlineVolume check storage. Warnings returns what is legal but probably not
// wanted. DropDisabled clears fields whose feature is not served, before validation. All functions
// may be called at once; a Rules value that After has filled belongs to one request. Only
// DropDisabled, DropDisabledTemplate, AppArmorFields and MergeMatchKeys change their argument.
//
// Not here: which fields of a running pod may change (registry/core), defaults (scheme/api/corev1),
// admission such as pod security standards (registry/admission), the rules that are not about pods
// (registry/check).
//
// Read: pod.go and template.go, then spec.go and what it calls: volume.go, container.go,
// security.go, scheduling.go, resources.go; then before.go and warnings.go.
package podspec
