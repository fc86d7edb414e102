// Package storagev1 declares the kinds of storage.k8s.io/v1: classes of storage and of volume
// attributes, attachments of volumes to nodes, and facts about CSI drivers. A CSI driver is a
// program that serves volumes; the facts are what it can do, on which nodes it runs, and how much
// capacity it has left.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI. defaults.go adds the defaults that a tag cannot express.
//
// Not here: volumes and claims (scheme/api/corev1); validation, strategies and printing
// (registry/storage).
package storagev1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/storagev1", "io.k8s.api.storage.v1", source)
}
