package batchv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "batch", Version: "v1"}

// Scheme registers the kinds, and their defaults.
var Scheme = scheme.NewBuilder(addKinds, addDefaults)

func addKinds(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion,
		&CronJob{}, &CronJobList{},
		&Job{}, &JobList{},
	)
}

func addDefaults(s *scheme.Scheme) {
	scheme.AddDefaulting(s, defaultCronJob)
	scheme.AddDefaulting(s, defaultJob)
	scheme.AddDefaulting(s, defaultConditionPattern)
}
