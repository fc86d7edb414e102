package extensions

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// NoCreate is what a client is told who would create an instance of a definition that is being
// deleted.
const NoCreate = "create not allowed while custom resource definition is terminating"

// Emptying reports whether the instances of a definition are to be deleted, and then itself.
func Emptying(def *apiextensionsv1.CustomResourceDefinition) bool {
	return def.DeletionTimestamp != nil &&
		slices.Contains(def.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer)
}

// BeginEmptying says that the instances of a definition are being deleted.
func BeginEmptying(def *apiextensionsv1.CustomResourceDefinition, now meta.Time) {
	setTerminating(def, apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress",
		"CustomResource deletion is in progress", now)
}

// FailEmptying says why the instances of a definition are not deleted yet.
func FailEmptying(def *apiextensionsv1.CustomResourceDefinition, err error, now meta.Time) {
	setTerminating(def, apiextensionsv1.ConditionTrue, "InstanceDeletionFailed", err.Error(), now)
}

// EndEmptying says that no instances are left, and lets the definition go. overlaps: what is stored
// at its place belongs to a resource of the server's own, and stays.
func EndEmptying(def *apiextensionsv1.CustomResourceDefinition, overlaps bool, now meta.Time) {
	reason, message := "NeverEstablished", "resource was never established"
	switch {
	case overlaps:
		reason, message = "OverlappingBuiltInResource", "instances overlap with built-in resources in storage"
	case Is(def, apiextensionsv1.Established):
		reason, message = "InstanceDeletionCompleted", "removed all instances"
	}
	setTerminating(def, apiextensionsv1.ConditionFalse, reason, message, now)
	def.Finalizers = slices.DeleteFunc(def.Finalizers, func(f string) bool {
		return f == apiextensionsv1.CustomResourceCleanupFinalizer
	})
}

func setTerminating(def *apiextensionsv1.CustomResourceDefinition, status apiextensionsv1.ConditionStatus,
	reason, message string, now meta.Time) {
	SetCondition(def, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: status, Reason: reason, Message: message,
	}, now)
}
