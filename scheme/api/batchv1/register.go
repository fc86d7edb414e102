package batchv1

import (
	"fmt"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "batch", Version: "v1"}

// Scheme registers the kinds, their defaults, and the field labels.
var Scheme = scheme.NewBuilder(addKinds, addDefaults, addFieldLabels)

func addKinds(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion,
		&CronJob{}, &CronJobList{},
		&Job{}, &JobList{},
	)
	// Cron jobs may still be stored in this version. It has the same fields and defaults.
	s.AddStored(meta.GroupVersionKind{Group: GroupVersion.Group, Version: "v1beta1", Kind: "CronJob"},
		GroupVersion.WithKind("CronJob").GroupKind(), &CronJob{})
}

func addDefaults(s *scheme.Scheme) {
	scheme.AddDefaulting(s, defaultCronJob, "spec.concurrencyPolicy", "spec.suspend",
		"spec.successfulJobsHistoryLimit", "spec.failedJobsHistoryLimit")
	scheme.AddDefaulting(s, defaultJob, "spec.parallelism", "spec.backoffLimit",
		"metadata.labels | !spec.template.metadata.labels",
		"spec.completionMode", "spec.suspend", "spec.podReplacementPolicy", "spec.manualSelector")
	scheme.AddDefaulting(s, defaultConditionPattern, "status")
}

func addFieldLabels(s *scheme.Scheme) {
	s.AddFieldLabels(GroupVersion.WithKind("Job"), func(label, value string) (string, string, error) {
		switch label {
		case "metadata.name", "metadata.namespace", "status.successful":
			return label, value, nil
		}
		return "", "", fmt.Errorf("field label %q not supported for Job", label)
	})
}
