// Package batch knows what is special about the resources of batch: jobs and cron jobs.
//
// Resources returns the declarations that a server makes stores from. What all kinds with a pod
// template ask of it is in registry/podspec.
//
// Not here: the verbs (registry), types and defaults (scheme/api/batchv1), who makes pods and jobs.
//
// Read: job.go, then what a spec must be (jobspec.go, jobpolicy.go), how it may change
// (jobupdate.go), and how a status may (jobstatus.go, indexes.go); cronjob.go and schedule.go stand
// on the specs of jobs.
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
