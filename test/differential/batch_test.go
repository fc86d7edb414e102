package differential

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	cronjobstore "k8s.io/kubernetes/pkg/registry/batch/cronjob/storage"
	jobstore "k8s.io/kubernetes/pkg/registry/batch/job/storage"
)

func init() {
	batch := func(kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: kind}
	}
	add(
		Row{Kind: batch("Job"), Resource: "jobs", Big: true, Settle: settleJobs, REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := jobstore.NewStorage(o)
			return Doors{"": s.Job, "status": s.Status}, err
		}},
		Row{Kind: batch("CronJob"), Resource: "cronjobs", Big: true, REST: withStatus(cronjobstore.NewREST)},
	)
}

// settleJobs takes the UID that Kubernetes has given a new job out of its labels and its selector.
func settleJobs(theirs, ours map[string]any) {
	for _, path := range [][]string{
		{"metadata", "labels"}, {"spec", "selector", "matchLabels"}, {"spec", "template", "metadata", "labels"},
	} {
		their, our := theirs, ours
		for _, name := range path {
			their, _ = their[name].(map[string]any)
			our, _ = our[name].(map[string]any)
		}
		for _, label := range []string{"controller-uid", "batch.kubernetes.io/controller-uid"} {
			a, _ := their[label].(string)
			b, _ := our[label].(string)
			if len(a) == len(b) && len(a) == len("01234567-89ab-cdef-0123-456789abcdef") {
				our[label] = a
			}
		}
	}
}
