package extensions

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// NoCreate is the message for a client that creates an instance of a definition that is being
// deleted. kube-apiserver answers with the same text.
const NoCreate = "create not allowed while custom resource definition is terminating"

// NeedsInstanceDeletion reports whether the instances of def have to be deleted before def itself
// can go: def is being deleted, and has the finalizer that stands for its instances.
func NeedsInstanceDeletion(def *apiextensionsv1.CustomResourceDefinition) bool {
	return def.DeletionTimestamp != nil &&
		slices.Contains(def.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer)
}

// BeginInstanceDeletion sets the condition Terminating, which says that the instances of def are
// being deleted.
func BeginInstanceDeletion(def *apiextensionsv1.CustomResourceDefinition, now meta.Time) {
	setTerminating(def, apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress",
		"CustomResource deletion is in progress", now)
}

// FailInstanceDeletion sets the condition Terminating, which says that deleting the instances of
// def failed with err. The caller tries again.
func FailInstanceDeletion(def *apiextensionsv1.CustomResourceDefinition, err error, now meta.Time) {
	setTerminating(def, apiextensionsv1.ConditionTrue, "InstanceDeletionFailed", err.Error(), now)
}

// FinishInstanceDeletion sets the condition Terminating to false and removes the finalizer, so that
// def can be deleted. overlaps says that the server itself has a resource of the same name: the
// objects under the keys of that resource do not belong to def, and were not deleted.
func FinishInstanceDeletion(def *apiextensionsv1.CustomResourceDefinition, overlaps bool, now meta.Time) {
	reason, message := "NeverEstablished", "resource was never established"
	switch {
	case overlaps:
		reason, message = "OverlappingBuiltInResource", "instances overlap with built-in resources in storage"
	case IsConditionTrue(def, apiextensionsv1.Established):
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
