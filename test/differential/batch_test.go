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
		Row{Kind: batch("Job"), Resource: "jobs", Big: true, REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := jobstore.NewStorage(o)
			return Doors{"": s.Job, "status": s.Status}, err
		}},
		Row{Kind: batch("CronJob"), Resource: "cronjobs", Big: true, REST: withStatus(cronjobstore.NewREST)},
	)
}
