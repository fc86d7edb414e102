package pods

import (
	"time"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
)

// View is what controllers need to know of a pod.
type View struct {
	UID        meta.UID
	Labels     map[string]string
	Controller *meta.OwnerReference // who manages it; nil: nobody
	Created    time.Time
	podLife
	podLocation
	podClaims
}

// podLife is how far a pod has come.
type podLife struct {
	Phase    corev1.PodPhase
	Evicted  bool // it has failed because of that
	Deleting bool
	ShutDown bool // it is being deleted, and nobody waits for it to end
	Ready    bool
	Turned   time.Time // when Ready last became what it is; zero if nobody has said whether it is
	// Disrupted is when it was said that it would be; see disruptedSince.
	Disrupted time.Time
}

// podLocation is where a pod is found.
type podLocation struct {
	Node                string
	IPs                 []string
	Hostname, Subdomain string
	Ports               []corev1.ContainerPort // those with a name: of containers, then of those that run beside them from the start
}

// podClaims are the names of the claims that are volumes of a pod.
type podClaims struct {
	Claims    []string // those that it names
	OwnClaims []string // those that are made for it
}

// Of returns the Informer of pods, which all controllers of a run share.
func Of(in *controller.Informers) *controller.Informer[View] {
	return controller.InformerOf(in, corev1.GroupVersion.WithResource("pods"), ViewOf)
}

func ViewOf(p *corev1.Pod) *View {
	v := &View{
		UID: p.UID, Labels: p.Labels, podLife: newPodLife(p), podLocation: newPodLocation(p), podClaims: newPodClaims(p),
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
	location := podLocation{Node: p.Spec.NodeName, Hostname: p.Spec.Hostname, Subdomain: p.Spec.Subdomain, Ports: namedPorts(p)}
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

// ended reports whether there is a pod that will not run any more.
func (p *View) ended() bool {
	return p != nil && p.Phase != corev1.PodPending && p.Phase != corev1.PodRunning && p.Phase != corev1.PodUnknown
}

// namedPorts are the ports that services can name: those of an init container only if it goes on
// running.
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
