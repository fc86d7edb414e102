package networkingv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

func defaultParameters(r *IngressClassParametersReference) {
	scheme.SetPointer(&r.Scope, IngressClassParametersReferenceScopeCluster)
}

func defaultNetworkPolicy(p *NetworkPolicy) {
	DefaultPolicyTypes(&p.Spec.PolicyTypes, len(p.Spec.Egress) > 0)
}

// DefaultPolicyTypes sets the types of a network policy that has none: Ingress, and also Egress if
// the policy has egress rules.
func DefaultPolicyTypes(types *[]PolicyType, egress bool) {
	if len(*types) > 0 {
		return
	}
	*types = []PolicyType{PolicyTypeIngress}
	if egress {
		*types = append(*types, PolicyTypeEgress)
	}
}

func defaultPolicyPort(p *NetworkPolicyPort) { scheme.SetPointer(&p.Protocol, corev1.ProtocolTCP) }
