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
	Node       string
	IPs        []string
	podService
}

// podService is what services say of a pod beside its addresses, and what they say it from.
type podService struct {
	Turned    time.Time // when it last became ready, or ceased to be; zero if nobody has said that it is or is not
	Hostname  string
	Subdomain string
	Ports     []corev1.ContainerPort // those with a name: of containers, then of those that run beside them from the start
}

// podsOf returns the Informer of pods, which all controllers of a run share.
func podsOf(in *Informers) *Informer[podView] {
	return InformerOf(in, corev1.GroupVersion.WithResource("pods"), newPodView)
}

func newPodView(p *corev1.Pod) *podView {
	v := &podView{
		UID: p.UID, Labels: p.Labels, Deleting: p.DeletionTimestamp != nil, Phase: p.Status.Phase, Node: p.Spec.NodeName,
		podService: podService{Hostname: p.Spec.Hostname, Subdomain: p.Spec.Subdomain, Ports: namedPorts(p)},
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
		if c.Type == corev1.PodReady {
			v.Ready, v.Turned = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		}
	}
	for _, ip := range p.Status.PodIPs {
		v.IPs = append(v.IPs, ip.IP)
	}
	return v
}

// namedPorts are the ports that services can name: those of an init container only if it goes on running.
func namedPorts(p *corev1.Pod) (ports []corev1.ContainerPort) {
	add := func(c *corev1.Container) {
		for _, port := range c.Ports {
			if port.Name != "" {
				ports = append(ports, corev1.ContainerPort{Name: port.Name, Protocol: port.Protocol, ContainerPort: port.ContainerPort})
			}
		}
	}
	for i := range p.Spec.Containers {
		add(&p.Spec.Containers[i])
	}
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(c)
		}
	}
	return ports
}
