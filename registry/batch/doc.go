// Package batch declares the resources of the group batch: jobs and cron jobs.
//
// Words. An index is the number of a pod of an indexed job, from 0 to completions-1; each index has
// to succeed once (KEP-2214). A finished job has the condition Complete or Failed.
//
// Laws:
//   - Messages, paths and their order are those of kube-apiserver.
//   - The selector of a job finds no pods of other jobs: the server generates it from the UID of
//     the job, unless the client sets manualSelector.
//   - Most rules for a status look only at what an update changes. A finished job stays finished.
//   - The lists of indexes in a status must fit into the object, so indexed jobs have upper limits.
//
// Callers. Resources returns the declarations, from which a server makes a store for each resource.
// It is called once, and what it returns may be used by many goroutines.
//
// Not here: reading and writing (registry), what all pod templates must be (registry/podspec),
// types and defaults (scheme/api/batchv1), the controllers that create jobs and pods.
//
// Read: job.go, then what a spec must be (jobspec.go, jobpolicy.go), how it may change
// (jobupdate.go), and how a status may change (jobstatus.go, indexes.go); then cronjob.go and
// schedule.go.
package batch

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources returns the declarations of all resources of the group. rules are the rules for pod
// templates as the server is set up.
func Resources(rules podspec.Rules) []registry.Resource {
	return []registry.Resource{cronJobs(rules), jobs(rules)}
}

// resource returns the name of a resource together with its group.
func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: batchv1.GroupVersion.Group, Resource: name}
}
