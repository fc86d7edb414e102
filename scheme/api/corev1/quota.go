package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// LimitRange says how much of a resource single objects of a namespace may use, and what they get
// if they do not say.
type LimitRange struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The limits, by the type of what they are for.
	Spec LimitRangeSpec `json:"spec,omitempty" pb:"2"`
}

// LimitRangeSpec holds limits by the type of the limited objects.
type LimitRangeSpec struct {
	// The limits, one item for each type.
	Limits []LimitRangeItem `json:"limits" pb:"1" list:"atomic"`
}

// LimitRangeItem limits everything of one type.
type LimitRangeItem struct {
	// What the limits are for: Pod, Container, PersistentVolumeClaim, or a name with a domain.
	Type LimitType `json:"type" pb:"1"`
	// The most of each resource.
	Max ResourceList `json:"max,omitempty" pb:"2"`
	// The least of each resource.
	Min ResourceList `json:"min,omitempty" pb:"3"`
	// Limits of containers that name none. Default: max.
	Default ResourceList `json:"default,omitempty" pb:"4"`
	// Requests of containers that name none. Default: the default limit, or else min.
	DefaultRequest ResourceList `json:"defaultRequest,omitempty" pb:"5"`
	// How many times its request a limit may be, for each resource.
	MaxLimitRequestRatio ResourceList `json:"maxLimitRequestRatio,omitempty" pb:"6"`
}

// LimitType names a type of objects that can be limited, such as containers.
type LimitType string

// Values of LimitType.
const (
	LimitTypePod                   LimitType = "Pod"
	LimitTypeContainer             LimitType = "Container"
	LimitTypePersistentVolumeClaim LimitType = "PersistentVolumeClaim"
)

// LimitRangeList is a list of limit ranges.
type LimitRangeList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []LimitRange `json:"items" pb:"2"`
}

// ResourceQuota bounds what all objects of a namespace use together.
type ResourceQuota struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// How much may be used, and by which objects.
	Spec ResourceQuotaSpec `json:"spec,omitempty" pb:"2"`
	// What is enforced, and used.
	Status ResourceQuotaStatus `json:"status,omitempty" pb:"3"`
}

// ResourceQuotaSpec says how much may be used, and which objects count.
type ResourceQuotaSpec struct {
	// The most of each resource, such as pods, requests.cpu, limits.memory or count/jobs.batch.
	Hard ResourceList `json:"hard,omitempty" pb:"1"`
	// Only objects that are in all of these scopes count: Terminating, NotTerminating, BestEffort,
	// NotBestEffort, PriorityClass, CrossNamespacePodAffinity or VolumeAttributesClass. None: all
	// objects. They cannot be changed.
	Scopes []ResourceQuotaScope `json:"scopes,omitempty" pb:"2" itemEnum:"BestEffort,CrossNamespacePodAffinity,NotBestEffort,NotTerminating,PriorityClass,Terminating,VolumeAttributesClass" list:"atomic"`
	// Further scopes, which may have values. An object counts if it is in those and in these.
	ScopeSelector *ScopeSelector `json:"scopeSelector,omitempty" pb:"3"`
}

// ResourceQuotaScope is a set of objects.
type ResourceQuotaScope string

// Values of ResourceQuotaScope, with the objects that they hold.
const (
	// ResourceQuotaScopeTerminating: the pods with a deadline (spec.activeDeadlineSeconds).
	ResourceQuotaScopeTerminating ResourceQuotaScope = "Terminating"
	// ResourceQuotaScopeNotTerminating: the pods without a deadline.
	ResourceQuotaScopeNotTerminating ResourceQuotaScope = "NotTerminating"
	// ResourceQuotaScopeBestEffort: the pods of the quality-of-service class BestEffort.
	ResourceQuotaScopeBestEffort ResourceQuotaScope = "BestEffort"
	// ResourceQuotaScopeNotBestEffort: the pods of the other classes.
	ResourceQuotaScopeNotBestEffort ResourceQuotaScope = "NotBestEffort"
	// ResourceQuotaScopePriorityClass: the pods of some priority classes.
	ResourceQuotaScopePriorityClass ResourceQuotaScope = "PriorityClass"
	// ResourceQuotaScopeCrossNamespacePodAffinity: the pods with affinity or anti-affinity to
	// pods of other namespaces.
	ResourceQuotaScopeCrossNamespacePodAffinity ResourceQuotaScope = "CrossNamespacePodAffinity"
	// ResourceQuotaScopeVolumeAttributesClass: the claims of some volume attributes classes.
	ResourceQuotaScopeVolumeAttributesClass ResourceQuotaScope = "VolumeAttributesClass"
)

// ScopeSelector selects objects by their scopes.
type ScopeSelector struct {
	_ struct{} `struct:"atomic"`
	// Requirements, all of which an object has to meet.
	MatchExpressions []ScopedResourceSelectorRequirement `json:"matchExpressions,omitempty" pb:"1" list:"atomic"`
}

// ScopedResourceSelectorRequirement asks something of a scope.
type ScopedResourceSelectorRequirement struct {
	// The scope: one of those that scopes can hold. Values need PriorityClass or
	// VolumeAttributesClass.
	ScopeName ResourceQuotaScope `json:"scopeName" pb:"1" enum:"BestEffort,CrossNamespacePodAffinity,NotBestEffort,NotTerminating,PriorityClass,Terminating,VolumeAttributesClass"`
	// How the object is to be in the scope: In, NotIn, Exists or DoesNotExist.
	Operator ScopeSelectorOperator `json:"operator" pb:"2" enum:"DoesNotExist,Exists,In,NotIn"`
	// Values that In and NotIn compare with; the others have none.
	Values []string `json:"values,omitempty" pb:"3" list:"atomic"`
}

// ScopeSelectorOperator says how an object is to be in a scope.
type ScopeSelectorOperator string

// Values of ScopeSelectorOperator.
const (
	ScopeSelectorOpIn           ScopeSelectorOperator = "In"
	ScopeSelectorOpNotIn        ScopeSelectorOperator = "NotIn"
	ScopeSelectorOpExists       ScopeSelectorOperator = "Exists"
	ScopeSelectorOpDoesNotExist ScopeSelectorOperator = "DoesNotExist"
)

// ResourceQuotaStatus says what is enforced, and used.
type ResourceQuotaStatus struct {
	// The most of each resource, as enforced.
	Hard ResourceList `json:"hard,omitempty" pb:"1"`
	// What the objects of the namespace use of each at present.
	Used ResourceList `json:"used,omitempty" pb:"2"`
}

// ResourceQuotaList is a list of quotas.
type ResourceQuotaList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []ResourceQuota `json:"items" pb:"2"`
}
