package quota

import (
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file computes the usage of ResourceClaims, which use devices by DeviceClass. quota.go calls
// it.
//
// Devices have up to three names: <class>.deviceclass.resource.k8s.io/devices, the extended
// resource that the class has implicitly, and the extended resource that its spec names. The
// scheduler makes a claim for the extended resources that a pod requests (KEP-5004). The pod has
// been charged for these resources, so such a claim is charged only for what exceeds the pod's
// usage.

// deviceEvaluator is the evaluator of ResourceClaims.
type deviceEvaluator struct{ unscoped }

func (deviceEvaluator) handles(a *admission.Attributes) bool { return a.Subresource == "" }

const (
	claimCount corev1.ResourceName = "count/resourceclaims.resource.k8s.io"
	// ofDeviceClass is the end of the resource name for the devices of a class.
	ofDeviceClass = ".deviceclass.resource.k8s.io/devices"
	// allDevices is the number of devices that a request for all devices is charged with: the most
	// that a claim can get.
	allDevices = 32
	// extendedClaimAnnotation is "true" for a claim that was made for extended resources.
	extendedClaimAnnotation = "resource.kubernetes.io/extended-resource-claim"
)

func (deviceEvaluator) tracks(name corev1.ResourceName, classes []*resourcev1.DeviceClass) bool {
	if name == claimCount || strings.HasSuffix(string(name), ofDeviceClass) {
		return true
	}
	extended, ok := strings.CutPrefix(string(name), requestsPrefix)
	if !ok {
		return false
	}
	class, implicit := strings.CutPrefix(extended, implicitPrefix)
	if implicit {
		for _, c := range classes {
			if c.Name == class {
				return true
			}
		}
	}
	if implicit || !isExtendedRequest(name) {
		return false
	}
	for _, c := range classes {
		if extendedResource(c) == extended {
			return true
		}
	}
	return false
}

// mayBeDevices reports whether there can be classes with which tracks is true for a name.
func mayBeDevices(name corev1.ResourceName) bool {
	return (deviceEvaluator{}).tracks(name, nil) ||
		strings.HasPrefix(string(name), requestsPrefix) && isExtendedRequest(name)
}

// extendedResource returns the extended resource that a class names, "" if none.
func extendedResource(c *resourcev1.DeviceClass) string {
	if c.Spec.ExtendedResourceName == nil {
		return ""
	}
	return *c.Spec.ExtendedResourceName
}

func (d deviceEvaluator) usage(obj meta.Typed, s Surroundings) Amounts {
	claim, ok := obj.(*resourcev1.ResourceClaim)
	if !ok {
		return nil
	}
	var devices Amounts // by class
	for i := range claim.Spec.Devices.Requests {
		addRequest(&devices, &claim.Spec.Devices.Requests[i])
	}
	paid := podUsage(claim, s)
	list := make(Amounts, 0, 1+3*len(devices))
	list = append(list, Amount{claimCount, one})
	for _, x := range devices {
		list = append(list, Amount{x.Name + ofDeviceClass, x.Quantity})
	}
	classes := s.classes()
	for _, x := range devices {
		if x.Name == "" {
			continue
		}
		list.charge(requestsPrefix+implicitPrefix+x.Name, x.Quantity, paid)
		for _, c := range classes {
			if name := extendedResource(c); c.Name == string(x.Name) && name != "" {
				list.charge(corev1.ResourceName(requestsPrefix+name), x.Quantity, paid)
			}
		}
	}
	return list
}

// charge adds the part of q beyond the amount that a pod has been charged for, which is in paid. If
// several classes name the same extended resource, the largest amount counts; Kubernetes takes any
// of them.
func (a *Amounts) charge(name corev1.ResourceName, q meta.Quantity, paid Amounts) {
	if have, ok := paid.Get(name); ok {
		q = q.Sub(have)
	}
	if q.Sign() > 0 {
		a.raise(name, q)
	}
}

// addRequest adds the devices that a request asks for. If one of several alternatives can meet it,
// the largest number of each class counts.
func addRequest(devices *Amounts, r *resourcev1.DeviceRequest) {
	if len(r.FirstAvailable) == 0 {
		if e := r.Exactly; e != nil {
			devices.add(corev1.ResourceName(e.DeviceClassName), number(e.AllocationMode, e.Count))
		}
		return
	}
	var worst Amounts
	for i := range r.FirstAvailable {
		alternative := &r.FirstAvailable[i]
		if q := number(alternative.AllocationMode, alternative.Count); q.Sign() > 0 {
			worst.raise(corev1.ResourceName(alternative.DeviceClassName), q)
		}
	}
	for _, x := range worst {
		devices.add(x.Name, x.Quantity)
	}
}

// number returns the number of devices that a request is charged with, 0 for a mode that this
// version does not know.
func number(mode resourcev1.DeviceAllocationMode, count int64) meta.Quantity {
	switch mode {
	case resourcev1.DeviceAllocationModeExactCount:
		return meta.NewQuantity(count, meta.DecimalSI)
	case resourcev1.DeviceAllocationModeAll:
		return meta.NewQuantity(allDevices, meta.DecimalSI)
	}
	return meta.Quantity{}
}

// podUsage returns the usage of the pod for whose extended resources a claim was made. It is empty
// if the claim was not made for a pod, or if it is not the claim that the pod uses.
func podUsage(claim *resourcev1.ResourceClaim, s Surroundings) Amounts {
	owner := controllingPod(claim)
	if owner == nil || s.Pod == nil {
		return nil
	}
	pod := s.Pod(claim.Namespace, owner.Name)
	if pod == nil || pod.UID != owner.UID {
		return nil
	}
	if status := pod.Status.ExtendedResourceClaimStatus; status != nil {
		if status.ResourceClaimName != claim.Name {
			return nil
		}
	} else if !isFirst(claim, pod.UID, s) {
		return nil
	}
	return podEvaluator{}.usage(pod, s)
}

// controllingPod returns the reference to the pod that controls a claim for extended resources; nil
// if the claim is another one.
func controllingPod(claim *resourcev1.ResourceClaim) *meta.OwnerReference {
	if claim.Annotations[extendedClaimAnnotation] != "true" {
		return nil
	}
	for i := range claim.OwnerReferences {
		if r := &claim.OwnerReferences[i]; r.Controller != nil && *r.Controller {
			if r.Kind != "Pod" || r.APIVersion != "v1" {
				return nil
			}
			return r
		}
	}
	return nil
}

// created returns the creation time of a claim, or the zero time if it has none.
func created(claim *resourcev1.ResourceClaim) time.Time {
	if claim.CreationTimestamp == nil {
		return time.Time{}
	}
	return claim.CreationTimestamp.Time
}

// isFirst reports whether a claim is the oldest one for the extended resources of a pod. The charge
// of the pod covers only one claim.
func isFirst(claim *resourcev1.ResourceClaim, pod meta.UID, s Surroundings) bool {
	if s.Claims == nil {
		return true
	}
	claims, ok := s.Claims(claim.Namespace, pod)
	if !ok {
		return false
	}
	for _, other := range claims {
		if owner := controllingPod(other); owner == nil || owner.UID != pod {
			continue
		}
		order := created(other).Compare(created(claim))
		if order < 0 || order == 0 && other.Name < claim.Name {
			return false
		}
	}
	return true
}
