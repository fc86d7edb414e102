package networkingv1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// NetworkPolicy tells which traffic some pods may have. Pods that no policy selects may have any;
// the rules of several policies add up.
type NetworkPolicy struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Which pods may have which traffic.
	Spec NetworkPolicySpec `json:"spec,omitempty" pb:"2"`
}

// NetworkPolicySpec tells which pods may have which traffic.
type NetworkPolicySpec struct {
	// The pods, in the namespace of the policy; empty means all of them.
	PodSelector meta.LabelSelector `json:"podSelector" pb:"1" check:"optional"`
	// Traffic that may come in: what one of the rules allows. Without rules, a policy that is about
	// such traffic allows none.
	Ingress []NetworkPolicyIngressRule `json:"ingress,omitempty" pb:"2" list:"atomic"`
	// Traffic that may go out: what one of the rules allows. Without rules, a policy that is about
	// such traffic allows none.
	Egress []NetworkPolicyEgressRule `json:"egress,omitempty" pb:"3" list:"atomic"`
	// What the policy is about: Ingress, Egress or both. By default Ingress, and Egress if there
	// are rules for it.
	PolicyTypes []PolicyType `json:"policyTypes,omitempty" pb:"4" itemEnum:"Egress,Ingress" list:"atomic"`
}

// PolicyType is a direction of traffic, as the pods see it.
type PolicyType string

// Directions of traffic.
const (
	PolicyTypeIngress PolicyType = "Ingress"
	PolicyTypeEgress  PolicyType = "Egress"
)

// NetworkPolicyIngressRule allows traffic to some ports from some peers.
type NetworkPolicyIngressRule struct {
	// The ports of the pods; empty means all.
	Ports []NetworkPolicyPort `json:"ports,omitempty" pb:"1" list:"atomic"`
	// Who the traffic may be from; empty means anybody.
	From []NetworkPolicyPeer `json:"from,omitempty" pb:"2" list:"atomic"`
}

// NetworkPolicyEgressRule allows traffic to some ports of some peers.
type NetworkPolicyEgressRule struct {
	// The ports of the peers; empty means all.
	Ports []NetworkPolicyPort `json:"ports,omitempty" pb:"1" list:"atomic"`
	// Who the traffic may be for; empty means anybody.
	To []NetworkPolicyPeer `json:"to,omitempty" pb:"2" list:"atomic"`
}

// NetworkPolicyPort is a port or a range of ports.
type NetworkPolicyPort struct {
	// TCP, the default, UDP or SCTP.
	Protocol *corev1.Protocol `json:"protocol,omitempty" pb:"1" enum:"SCTP,TCP,UDP"`
	// The port, by number or by its name in the pod; all ports if unset.
	Port *meta.IntOrString `json:"port,omitempty" pb:"2"`
	// Last port of a range that begins with port, which must be a number and not above it.
	EndPort *int32 `json:"endPort,omitempty" pb:"3"`
}

// NetworkPolicyPeer is a party to traffic: pods, or a block of addresses.
type NetworkPolicyPeer struct {
	// The pods with these labels, in the namespaces that namespaceSelector selects, or in that of
	// the policy without one.
	PodSelector *meta.LabelSelector `json:"podSelector,omitempty" pb:"1"`
	// The namespaces with these labels; all pods in them if podSelector is unset.
	NamespaceSelector *meta.LabelSelector `json:"namespaceSelector,omitempty" pb:"2"`
	// A block of addresses; no selector may be set with it.
	IPBlock *IPBlock `json:"ipBlock,omitempty" pb:"3"`
}

// IPBlock is a range of addresses, apart from some.
type IPBlock struct {
	// The range, as an address and the length of its prefix, such as "10.1.0.0/16" or
	// "fd00:1::/32".
	CIDR string `json:"cidr" pb:"1"`
	// Smaller ranges inside of it that do not count.
	Except []string `json:"except,omitempty" pb:"2" list:"atomic"`
}

// NetworkPolicyList is a list of network policies.
type NetworkPolicyList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []NetworkPolicy `json:"items" pb:"2"`
}
