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
	podLife
	Ready bool
	Node  string
	IPs   []string
	podClaims
}

// podLife is how far a pod has come.
type podLife struct {
	Phase    corev1.PodPhase
	Evicted  bool // it has failed because of that
	Deleting bool
	ShutDown bool // it is being deleted, and nobody waits for it to end
}

// podClaims are the names of the claims that are volumes of a pod.
type podClaims struct {
	Claims    []string // those that it names
	OwnClaims []string // those that are made for it
}

// podsOf returns the Informer of pods, which all controllers of a run share.
func podsOf(in *Informers) *Informer[podView] {
	return InformerOf(in, corev1.GroupVersion.WithResource("pods"), newPodView)
}

func newPodView(p *corev1.Pod) *podView {
	v := &podView{
		UID: p.UID, Labels: p.Labels, podLife: newPodLife(p), Node: p.Spec.NodeName, podClaims: newPodClaims(p),
	}
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
	return v
}

func newPodLife(p *corev1.Pod) podLife {
	l := podLife{Phase: p.Status.Phase, Deleting: p.DeletionTimestamp != nil}
	l.Evicted = l.Phase == corev1.PodFailed && p.Status.Reason == "Evicted"
	l.ShutDown = l.Deleting && p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds == 0
	return l
}

func newPodClaims(p *corev1.Pod) (c podClaims) {
	for i := range p.Spec.Volumes {
		switch vol := &p.Spec.Volumes[i]; {
		case vol.PersistentVolumeClaim != nil:
			c.Claims = append(c.Claims, vol.PersistentVolumeClaim.ClaimName)
		case vol.Ephemeral != nil:
			c.OwnClaims = append(c.OwnClaims, p.Name+"-"+vol.Name)
		}
	}
	return c
}

// ended reports whether there is a pod that will not run any more.
func (p *podView) ended() bool {
	return p != nil && p.Phase != corev1.PodPending && p.Phase != corev1.PodRunning && p.Phase != corev1.PodUnknown
}
