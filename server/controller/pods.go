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
	ShutDown   bool // it is being deleted, and nobody waits for it to end
	Phase      corev1.PodPhase
	Evicted    bool // it has failed because of that
	Ready      bool
	Node       string
	IPs        []string
	Claims     []string // of volumes that its volumes are
	OwnClaims  []string // of volumes that are made for it
}

// podsOf returns the Informer of pods, which all controllers of a run share.
func podsOf(in *Informers) *Informer[podView] {
	return InformerOf(in, corev1.GroupVersion.WithResource("pods"), newPodView)
}

func newPodView(p *corev1.Pod) *podView {
	v := &podView{
		UID: p.UID, Labels: p.Labels, Deleting: p.DeletionTimestamp != nil, Phase: p.Status.Phase, Node: p.Spec.NodeName,
	}
	v.ShutDown = v.Deleting && p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds == 0
	v.Evicted = v.Phase == corev1.PodFailed && p.Status.Reason == "Evicted"
	if p.CreationTimestamp != nil {
		v.Created = p.CreationTimestamp.Time
	}
	for i := range p.OwnerReferences {
		if ref := &p.OwnerReferences[i]; ref.Controller != nil && *ref.Controller {
			v.Controller = ref
		}
	}
	for _, c := range p.Status.Conditions {
		v.Ready = v.Ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	for _, ip := range p.Status.PodIPs {
		v.IPs = append(v.IPs, ip.IP)
	}
	for i := range p.Spec.Volumes {
		switch vol := &p.Spec.Volumes[i]; {
		case vol.PersistentVolumeClaim != nil:
			v.Claims = append(v.Claims, vol.PersistentVolumeClaim.ClaimName)
		case vol.Ephemeral != nil:
			v.OwnClaims = append(v.OwnClaims, p.Name+"-"+vol.Name)
		}
	}
	return v
}

// ended reports whether there is a pod that will not run any more.
func (p *podView) ended() bool {
	return p != nil && p.Phase != corev1.PodPending && p.Phase != corev1.PodRunning && p.Phase != corev1.PodUnknown
}
