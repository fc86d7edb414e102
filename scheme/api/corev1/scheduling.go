package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// Affinity holds rules on where a pod may run.
type Affinity struct {
	// Rules about nodes.
	NodeAffinity *NodeAffinity `json:"nodeAffinity,omitempty" pb:"1"`
	// Rules about pods to be near to.
	PodAffinity *PodAffinity `json:"podAffinity,omitempty" pb:"2"`
	// Rules about pods to be away from.
	PodAntiAffinity *PodAntiAffinity `json:"podAntiAffinity,omitempty" pb:"3"`
}

// NodeAffinity holds rules about nodes.
type NodeAffinity struct {
	// What a node must fulfil when the pod is scheduled; later changes don't move the pod.
	RequiredDuringSchedulingIgnoredDuringExecution *NodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty" pb:"1"`
	// What a node should fulfil; the scheduler sums up the weights of those that hold.
	PreferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty" pb:"2" list:"atomic"`
}

// NodeSelector selects nodes by its terms, of which one must hold.
type NodeSelector struct {
	_ struct{} `struct:"atomic"`

	// Terms, at least one.
	NodeSelectorTerms []NodeSelectorTerm `json:"nodeSelectorTerms" pb:"1" list:"atomic"`
}

// NodeSelectorTerm selects nodes by its requirements, which must all hold. An empty term selects
// nothing.
type NodeSelectorTerm struct {
	_ struct{} `struct:"atomic"`

	// Requirements on the node's labels.
	MatchExpressions []NodeSelectorRequirement `json:"matchExpressions,omitempty" pb:"1" list:"atomic"`
	// Requirements on the node's fields.
	MatchFields []NodeSelectorRequirement `json:"matchFields,omitempty" pb:"2" list:"atomic"`
}

// NodeSelectorRequirement relates a label or field to values.
type NodeSelectorRequirement struct {
	// Key of the label, or name of the field, which can only be metadata.name.
	Key string `json:"key" pb:"1"`
	// How the key relates to values: In, NotIn, Exists, DoesNotExist, Gt (greater than) or Lt (less
	// than).
	Operator NodeSelectorOperator `json:"operator" pb:"2" enum:"DoesNotExist,Exists,Gt,In,Lt,NotIn"`
	// Values: some for In and NotIn, none for Exists and DoesNotExist, one integer for Gt and Lt.
	Values []string `json:"values,omitempty" pb:"3" list:"atomic"`
}

// NodeSelectorOperator relates a label to values.
type NodeSelectorOperator string

// PreferredSchedulingTerm is a node term with a weight. An empty term fits all nodes.
type PreferredSchedulingTerm struct {
	// Weight of the term: 1 to 100.
	Weight int32 `json:"weight" pb:"1"`
	// What a node should fulfil to get the weight.
	Preference NodeSelectorTerm `json:"preference" pb:"2"`
}

// PodAffinity holds rules about pods to be near to.
type PodAffinity struct {
	// Terms that must hold when the pod is scheduled.
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty" pb:"1" list:"atomic"`
	// Terms that should hold; the scheduler sums up the weights of those that do.
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty" pb:"2" list:"atomic"`
}

// PodAffinityTerm selects pods, and the kind of place that is to be shared with them.
type PodAffinityTerm struct {
	// Labels of the pods; no pods if unset.
	LabelSelector *meta.LabelSelector `json:"labelSelector,omitempty" pb:"1"`
	// Namespaces of the pods, beside those of namespaceSelector; the pod's own if both are unset.
	Namespaces []string `json:"namespaces,omitempty" pb:"2" list:"atomic"`
	// Node label that makes a place: nodes with the same value are one place. Required.
	TopologyKey string `json:"topologyKey" pb:"3"`
	// Labels of the namespaces of the pods; an empty selector means all.
	NamespaceSelector *meta.LabelSelector `json:"namespaceSelector,omitempty" pb:"4"`
	// Labels of the pod itself whose values other pods must have as well.
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty" pb:"5" list:"atomic"`
	// Labels of the pod itself whose values other pods must not have.
	MismatchLabelKeys []string `json:"mismatchLabelKeys,omitempty" pb:"6" list:"atomic"`
}

// WeightedPodAffinityTerm is a pod term with a weight.
type WeightedPodAffinityTerm struct {
	// Weight of the term: 1 to 100.
	Weight int32 `json:"weight" pb:"1"`
	// Which pods, and the place that is to be shared with them or not.
	PodAffinityTerm PodAffinityTerm `json:"podAffinityTerm" pb:"2"`
}

// PodAntiAffinity holds rules about pods to be away from.
type PodAntiAffinity struct {
	// Terms that must hold when the pod is scheduled.
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty" pb:"1" list:"atomic"`
	// Terms that should hold; the scheduler sums up the weights of those that do.
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty" pb:"2" list:"atomic"`
}

// Toleration lets a pod bear taints.
type Toleration struct {
	// Key of the taints; all keys if empty, and then operator must be Exists.
	Key string `json:"key,omitempty" pb:"1"`
	// How value relates to the taint's: Equal (the default), Exists, Lt or Gt.
	Operator TolerationOperator `json:"operator,omitempty" pb:"2" enum:"Equal,Exists,Gt,Lt"`
	// Value of the taints; empty with Exists.
	Value string `json:"value,omitempty" pb:"3"`
	// Effect of the taints; all effects if empty.
	Effect TaintEffect `json:"effect,omitempty" pb:"4" enum:"NoExecute,NoSchedule,PreferNoSchedule"`
	// How long a NoExecute taint is borne, in seconds; for ever if unset.
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty" pb:"5"`
}

// TolerationOperator relates a toleration to the value of a taint.
type TolerationOperator string

// TopologySpreadConstraint tells how pods are spread over places.
type TopologySpreadConstraint struct {
	// Most by which the numbers of matching pods in two places may differ; at least 1.
	MaxSkew int32 `json:"maxSkew" pb:"1"`
	// Node label that makes a place: nodes with the same value are one place.
	TopologyKey string `json:"topologyKey" pb:"2"`
	// DoNotSchedule, or ScheduleAnyway with a preference for less skew.
	WhenUnsatisfiable UnsatisfiableConstraintAction `json:"whenUnsatisfiable" pb:"3" enum:"DoNotSchedule,ScheduleAnyway"`
	// Labels of the pods that are counted.
	LabelSelector *meta.LabelSelector `json:"labelSelector,omitempty" pb:"4"`
	// Least number of places; with fewer, the smallest count is taken as 0. Only with
	// DoNotSchedule.
	MinDomains *int32 `json:"minDomains,omitempty" pb:"5"`
	// Whether nodes that the pod's affinity rules out are left aside (Honor, the default) or
	// counted (Ignore).
	NodeAffinityPolicy *NodeInclusionPolicy `json:"nodeAffinityPolicy,omitempty" pb:"6" enum:"Honor,Ignore"`
	// Whether nodes with taints that the pod does not bear are left aside (Honor) or counted
	// (Ignore, the default).
	NodeTaintsPolicy *NodeInclusionPolicy `json:"nodeTaintsPolicy,omitempty" pb:"7" enum:"Honor,Ignore"`
	// Labels of the pod itself whose values counted pods must have as well.
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty" pb:"8" list:"atomic"`
}

// UnsatisfiableConstraintAction tells what to do when a constraint cannot be met.
type UnsatisfiableConstraintAction string

// NodeInclusionPolicy tells whether a rule limits which nodes are counted.
type NodeInclusionPolicy string
