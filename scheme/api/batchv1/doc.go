// Package batchv1 declares the kinds of batch/v1. A Job runs pods until enough of them have
// succeeded. A CronJob makes jobs on a schedule.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/batch).
package batchv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/batchv1", "io.k8s.api.batch.v1", source)
}
