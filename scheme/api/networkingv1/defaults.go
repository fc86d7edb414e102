package networkingv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

func defaultParameters(r *IngressClassParametersReference) {
	scheme.SetPointer(&r.Scope, IngressClassParametersReferenceScopeCluster)
}

// defaultNetworkPolicy lets a policy that does not say so be about traffic to its pods, and about traffic from them if it has
// rules for that.
func defaultNetworkPolicy(p *NetworkPolicy) {
	if len(p.Spec.PolicyTypes) > 0 {
		return
	}
	p.Spec.PolicyTypes = []PolicyType{PolicyTypeIngress}
	if len(p.Spec.Egress) > 0 {
		p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, PolicyTypeEgress)
	}
}

func defaultPolicyPort(p *NetworkPolicyPort) { scheme.SetPointer(&p.Protocol, corev1.ProtocolTCP) }
