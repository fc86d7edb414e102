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
// For example, let this be the spec of a new pod, defaults apart:
//
//	volumes:     [{name: data, secret: {}}]
//	containers:  [{name: app, image: app:1, volumeMounts: [{name: data, mountPath: /data}]}]
//	tolerations: [{key: spot, operator: Lt, value: "5"}]
//
// Rules.Pod returns three errors, in the order of the calls in specCheck.check:
//
//	spec.volumes[0].secret.secretName: Required value
//	spec.containers[0].volumeMounts[0].name: Not found: "data"
//	spec.tolerations[0].operator: Unsupported value: "Lt": ...
//
// The second error follows from the first: only valid volumes are in specCheck.volumes, in which
// the mount is looked up. The third is the rule for a quirk. If the stored pod had the operator Lt,
// as a server of another version may have stored it, Rules.After would have kept that pod for
// Rules.was, and an update of its labels would pass.
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
