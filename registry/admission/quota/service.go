package quota

import (
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file computes the usage of services. quota.go calls it.

// serviceEvaluator is the evaluator of services, which use load balancers and node ports.
type serviceEvaluator struct{ unscoped }

// handles is true for creates and updates, which may change the type.
func (serviceEvaluator) handles(a *admission.Attributes) bool { return a.Subresource == "" }

const serviceCount corev1.ResourceName = "count/services"

func (serviceEvaluator) tracks(name corev1.ResourceName, _ []*resourcev1.DeviceClass) bool {
	switch name {
	case serviceCount, corev1.ResourceServices, corev1.ResourceServicesNodePorts,
		corev1.ResourceServicesLoadBalancers:
		return true
	}
	return false
}

// usage counts the node ports that the service will have. Admission runs before they are allocated,
// so the count follows from the spec.
func (serviceEvaluator) usage(obj meta.Typed, _ Surroundings) Amounts {
	s, ok := obj.(*corev1.Service)
	if !ok {
		return nil
	}
	list := make(Amounts, 0, 4)
	list = append(list, Amount{serviceCount, one}, Amount{corev1.ResourceServices, one})
	ports := len(s.Spec.Ports)
	switch s.Spec.Type {
	case corev1.ServiceTypeNodePort:
	case corev1.ServiceTypeLoadBalancer:
		list = append(list, Amount{corev1.ResourceServicesLoadBalancers, one})
		if allocate := s.Spec.AllocateLoadBalancerNodePorts; allocate != nil && !*allocate {
			ports = 0
			for i := range s.Spec.Ports {
				if s.Spec.Ports[i].NodePort != 0 {
					ports++
				}
			}
		}
	default:
		return list
	}
	return append(list, Amount{corev1.ResourceServicesNodePorts, meta.NewQuantity(int64(ports), meta.DecimalSI)})
}
