package endpoints

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/pods"
)

// serviceView is what controllers need to know of a service.
type serviceView struct {
	UID             meta.UID
	Labels          map[string]string
	Created         time.Time
	Deleting        bool
	External        bool // type ExternalName: it is a name and has no endpoints
	Selector        map[string]string
	ClusterIP       string
	Families        []corev1.IPFamily // at least one
	Ports           []corev1.ServicePort
	PublishNotReady bool
	Distribution    string // where its traffic should go, "" if all endpoints are as good
	HintByZone      bool   // its endpoints get hints by how much of the cluster's CPU each zone has; Distribution is "" then
}

// servicesOf returns the Informer of services, which all controllers of a run share.
func servicesOf(in *controller.Informers) *controller.Informer[serviceView] {
	return controller.InformerOf(in, corev1.GroupVersion.WithResource("services"), newServiceView)
}

func newServiceView(s *corev1.Service) *serviceView {
	v := &serviceView{
		UID: s.UID, Labels: s.Labels, Deleting: s.DeletionTimestamp != nil,
		External: s.Spec.Type == corev1.ServiceTypeExternalName, Selector: s.Spec.Selector, ClusterIP: s.Spec.ClusterIP,
		Families: s.Spec.IPFamilies, Ports: s.Spec.Ports, PublishNotReady: s.Spec.PublishNotReadyAddresses,
	}
	if s.CreationTimestamp != nil {
		v.Created = s.CreationTimestamp.Time
	}
	if len(v.Families) == 0 { // it was written before services had any
		v.Families = []corev1.IPFamily{corev1.IPv4Protocol}
		if strings.Contains(v.ClusterIP, ":") {
			v.Families[0] = corev1.IPv6Protocol
		}
	}
	v.HintByZone = topologyMode(s.Annotations)
	if wish := s.Spec.TrafficDistribution; wish != nil && !v.HintByZone {
		v.Distribution = *wish
	}
	return v
}

// topologyMode reports whether annotations ask for hints by how much of the cluster each zone has,
// which goes before the field.
func topologyMode(annotations map[string]string) bool {
	mode, ok := annotations["service.kubernetes.io/topology-aware-hints"]
	if !ok {
		mode = annotations["service.kubernetes.io/topology-mode"]
	}
	return mode == "Auto" || mode == "auto"
}

// managed reports whether the endpoints of a service follow from its selector.
func (s *serviceView) managed() bool { return !s.External && s.Selector != nil }

// selects reports whether a pod with some labels is one of the service's.
func (s *serviceView) selects(labels map[string]string) bool {
	for key, want := range s.Selector {
		if have, ok := labels[key]; !ok || have != want {
			return false
		}
	}
	return s.Selector != nil
}

// noAddress is the address of a service that wants none.
const noAddress = "None"

// headless reports whether the service has no address of its own.
func (s *serviceView) headless() bool { return s.ClusterIP == "" || s.ClusterIP == noAddress }

// labelHeadless marks the endpoints of headless services.
const labelHeadless = "service.kubernetes.io/headless"

// labelsWith are the labels of what is made of the service's endpoints: its own and more, which go
// before them.
func (s *serviceView) labelsWith(more map[string]string) map[string]string {
	labels := maps.Clone(s.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	delete(labels, labelHeadless)
	if s.headless() {
		labels[labelHeadless] = ""
	}
	maps.Copy(labels, more)
	return labels
}

// reference is what events say of the service.
func (s *serviceView) reference(name controller.Name) corev1.ObjectReference {
	return corev1.ObjectReference{Kind: "Service", APIVersion: "v1", Namespace: name.Namespace, Name: name.Name, UID: s.UID}
}

// targets are the ports of a pod that the service's lead to, in their order. A port that names none
// of the pod's is left out.
func (s *serviceView) targets(pod *pods.View) []target {
	var list []target
	for i := range s.Ports {
		p := &s.Ports[i]
		if p.TargetPort.Type == meta.IntType {
			list = append(list, target{p, p.TargetPort.IntVal})
			continue
		}
		named := func(c corev1.ContainerPort) bool { return c.Name == p.TargetPort.StrVal && c.Protocol == p.Protocol }
		if at := slices.IndexFunc(pod.Ports, named); at >= 0 {
			list = append(list, target{p, pod.Ports[at].ContainerPort})
		}
	}
	return list
}

// target is where a port of a service leads to in a pod.
type target struct {
	*corev1.ServicePort
	number int32
}

// selected is a pod of a service.
type selected struct {
	name string
	*pods.View
}

// canBeEndpoint reports whether a pod can be an endpoint, ready or not. One whose work is over never is.
func (p *selected) canBeEndpoint() bool {
	return p.Phase != corev1.PodFailed && p.Phase != corev1.PodSucceeded && len(p.IPs) > 0
}

// hostname is the name by which the pod is found within a service, "" if it has none there.
func (p *selected) hostname(service string) string {
	if p.Subdomain != service {
		return ""
	}
	return p.Hostname
}

// addresses are the pod's in the form that all addresses have which mean the same.
func (p *selected) addresses() []netip.Addr {
	var list []netip.Addr
	for _, text := range p.IPs {
		if ip, _ := names.ParseIP(text, false); ip.IsValid() {
			list = append(list, ip)
		}
	}
	return list
}

// reference is what endpoints say of the pod.
func (p *selected) reference(namespace string) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: p.name, UID: p.UID}
}

// servicePods is what both kinds of endpoints are made from.
type servicePods struct {
	services *controller.Informer[serviceView]
	pods     *controller.Informer[pods.View]
	triggers triggers
}

func newServicePods(in *controller.Informers) *servicePods {
	return &servicePods{services: servicesOf(in), pods: pods.Of(in)}
}

// source has the services that change, but for those whose endpoints are left to others, and of
// each pod that changes those that it was or is one of. Endpoints of a pod that was hidden may be
// with any service of its namespace.
func (sp *servicePods) source() controller.Source {
	changed := sp.services.Source(func(name controller.Name, _, now *serviceView) []controller.Name {
		if now != nil && !now.managed() {
			return nil
		}
		return []controller.Name{name}
	})
	return controller.Join(changed, sp.pods.Source(func(pod controller.Name, before, now *pods.View) []controller.Name {
		var list []controller.Name
		sp.services.Each(pod.Namespace, func(name controller.Name, s *serviceView) {
			wasHidden := before == nil && now == nil && s.managed()
			if wasHidden || before != nil && s.selects(before.Labels) || now != nil && s.selects(now.Labels) {
				list = append(list, name)
			}
		})
		return list
	}))
}

// of returns the pods of a service, sorted by name.
func (sp *servicePods) of(service controller.Name, s *serviceView) []selected {
	var list []selected
	sp.pods.Each(service.Namespace, func(name controller.Name, p *pods.View) {
		if s.selects(p.Labels) {
			list = append(list, selected{name.Name, p})
		}
	})
	slices.SortFunc(list, func(a, b selected) int { return strings.Compare(a.name, b.name) })
	return list
}

// hiddenPod reports whether an endpoint of a service is a pod that is hidden. Nobody knows what has
// become of the pod, so the endpoint stays as it is.
func (sp *servicePods) hiddenPod(service controller.Name, ref *corev1.ObjectReference) bool {
	return ref != nil && ref.Kind == "Pod" && sp.pods.Hidden(controller.Name{Namespace: service.Namespace, Name: ref.Name})
}
