package pods

import (
	"time"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
)

// View is the part of a pod that PodInformer keeps. A loop is told of a change of a
// pod only if the change changes the View, so each field here causes work whenever it changes.
// Views are shared: nobody modifies one.
type View struct {
	UID        meta.UID
	Labels     map[string]string
	Controller *meta.OwnerReference // the owner whose field controller is true; nil if there is none
	Created    time.Time
	podLife
	podLocation
	podClaims
}

// podLife is how far a pod has come.
type podLife struct {
	Phase    corev1.PodPhase
	Evicted  bool // the phase is Failed with the reason Evicted
	Deleting bool // it has a deletionTimestamp
	ShutDown bool // Deleting with a grace period of zero: nobody waits for its containers any longer
	Ready    bool
	Turned   time.Time // when the condition Ready last changed; zero if there is no such condition
	// Disrupted is the time since which the condition DisruptionTarget announces a disruption that
	// has not come yet. It is zero if no disruption is announced, or if a kubelet announced it.
	Disrupted time.Time
}

// podLocation is how a pod is reached.
type podLocation struct {
	Node                string
	IPs                 []string
	Hostname, Subdomain string
	Ports               []corev1.ContainerPort // the named ports of its containers and sidecars
}

// podClaims are the names of the persistent volume claims that a pod has as volumes.
type podClaims struct {
	Claims    []string // named in its volumes
	OwnClaims []string // made for its ephemeral volumes
}

// PodInformer returns the Informer of pods, which all loops of a run share.
func PodInformer(in *controller.Informers) *controller.Informer[View] {
	return controller.InformerOf(in, corev1.GroupVersion.WithResource("pods"), ViewOf)
}

// ViewOf returns the View of a pod. It shares strings and maps with p; an Informer detaches it.
func ViewOf(p *corev1.Pod) *View {
	v := &View{
		UID: p.UID, Labels: p.Labels,
		podLife: newPodLife(p), podLocation: newPodLocation(p), podClaims: newPodClaims(p),
	}
	if p.CreationTimestamp != nil {
		v.Created = p.CreationTimestamp.Time
	}
	for i := range p.OwnerReferences {
		if ref := &p.OwnerReferences[i]; scheme.OrZero(ref.Controller) {
			v.Controller = ref
		}
	}
	return v
}

func newPodLife(p *corev1.Pod) podLife {
	l := podLife{Phase: p.Status.Phase, Deleting: p.DeletionTimestamp != nil}
	l.Evicted = l.Phase == corev1.PodFailed && p.Status.Reason == "Evicted"
	l.ShutDown = l.Deleting && p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds == 0
	l.Disrupted = disruptedSince(p)
	if c := p.Status.Condition(corev1.PodReady); c != nil {
		l.Ready, l.Turned = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
	}
	return l
}

func newPodLocation(p *corev1.Pod) podLocation {
	location := podLocation{
		Node: p.Spec.NodeName, Hostname: p.Spec.Hostname, Subdomain: p.Spec.Subdomain, Ports: namedPorts(p),
	}
	for _, ip := range p.Status.PodIPs {
		location.IPs = append(location.IPs, ip.IP)
	}
	return location
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

// ended reports whether a pod's containers have stopped for good. Any phase but the three below
// counts as ended, as in Kubernetes' pod garbage collector. A nil View, which stands for a pod that
// does not exist before or after a change, has not ended.
func (p *View) ended() bool {
	return p != nil &&
		p.Phase != corev1.PodPending && p.Phase != corev1.PodRunning && p.Phase != corev1.PodUnknown
}

// namedPorts returns the ports that the targetPort of a service can name: those of containers, then
// those of sidecars, which are init containers with the restart policy Always (KEP-753). The first
// port with a name wins.
func namedPorts(p *corev1.Pod) (ports []corev1.ContainerPort) {
	add := func(c *corev1.Container) {
		for _, port := range c.Ports {
			if port.Name != "" {
				ports = append(ports, corev1.ContainerPort{
					Name: port.Name, Protocol: port.Protocol, ContainerPort: port.ContainerPort,
				})
			}
		}
	}
	for i := range p.Spec.Containers {
		add(&p.Spec.Containers[i])
	}
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; c.RestartPolicy != nil &&
			*c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(c)
		}
	}
	return ports
}
