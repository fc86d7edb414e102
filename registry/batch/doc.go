// Package batch knows what is special about the resources of batch: jobs, and cron jobs, which make jobs by a schedule.
//
// Resources returns the declarations that a server makes stores from. What both have in common is in jobcheck.go and
// jobpolicy.go, the states of a job in jobstatus.go.
//
// Not here: the verbs (registry), types and defaults (scheme/api/batchv1), what all kinds with a pod template ask of it
// (registry/podspec), who makes the jobs and the pods.
package batch

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources returns the resources of the group.
func Resources(rules podspec.Rules) []registry.Resource {
	return []registry.Resource{cronJobs(rules), jobs(rules)}
}

func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: batchv1.GroupVersion.Group, Resource: name}
}
