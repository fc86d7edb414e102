package networkingv1beta1

import (
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// networkPolicy, unlike that of v1, has no default for the protocol of ports.
type networkPolicy struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            policySpec `json:"spec,omitempty" pb:"2"`
}

type policySpec struct {
	PodSelector meta.LabelSelector        `json:"podSelector" pb:"1"`
	Ingress     []policyIngress           `json:"ingress,omitempty" pb:"2"`
	Egress      []policyEgress            `json:"egress,omitempty" pb:"3"`
	PolicyTypes []networkingv1.PolicyType `json:"policyTypes,omitempty" pb:"4"`
}

type policyIngress struct {
	Ports []policyPort                     `json:"ports,omitempty" pb:"1"`
	From  []networkingv1.NetworkPolicyPeer `json:"from,omitempty" pb:"2"`
}

type policyEgress struct {
	Ports []policyPort                     `json:"ports,omitempty" pb:"1"`
	To    []networkingv1.NetworkPolicyPeer `json:"to,omitempty" pb:"2"`
}

type policyPort networkingv1.NetworkPolicyPort
