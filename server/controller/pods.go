package controller

import (
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// podView is what controllers need to know of a pod.
type podView struct {
	UID        meta.UID
	Labels     map[string]string
	Controller *meta.OwnerReference // who manages it; nil: nobody
	Created    time.Time
	Deleting   bool
	Phase      corev1.PodPhase
	Ready      bool
	Disrupted  time.Time // see disruptedSince
	Node       string
	IPs        []string
}

// podsOf returns the Informer of pods, which all controllers of a run share.
func podsOf(in *Informers) *Informer[podView] {
	return InformerOf(in, corev1.GroupVersion.WithResource("pods"), newPodView)
}

func newPodView(p *corev1.Pod) *podView {
	v := &podView{
		UID: p.UID, Labels: p.Labels, Deleting: p.DeletionTimestamp != nil, Phase: p.Status.Phase, Node: p.Spec.NodeName,
		Ready: p.Status.Ready(), Disrupted: disruptedSince(p),
	}
	if p.CreationTimestamp != nil {
		v.Created = p.CreationTimestamp.Time
	}
	for i := range p.OwnerReferences {
		if ref := &p.OwnerReferences[i]; ref.Controller != nil && *ref.Controller {
			v.Controller = ref
		}
	}
	for _, ip := range p.Status.PodIPs {
		v.IPs = append(v.IPs, ip.IP)
	}
	return v
}
