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

// This file has the views of services and pods from which Endpoints and slices are made, and
// servicePods, the source of services whose endpoints may have changed. Endpoints (endpoints.go)
// and EndpointSlices (endpointslice.go) have a servicePods each; Mirroring uses serviceView only.

// serviceView is the part of a service that the Informer keeps.
type serviceView struct {
	UID             meta.UID
	Labels          map[string]string
	Created         time.Time
	Deleting        bool
	External        bool // the type is ExternalName: DNS answers with a name, and there are no endpoints
	Selector        map[string]string
	ClusterIP       string
	Families        []corev1.IPFamily // at least one
	Ports           []corev1.ServicePort
	PublishNotReady bool
	Distribution    string // spec.trafficDistribution; "" if that is not set, or if HintByZone is true
	HintByZone      bool   // endpoints get hints by the share of the cluster's CPU that each zone has
}

// servicesOf returns the Informer of services, which the three controllers of a run share.
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
	if len(v.Families) == 0 { // services stored before Kubernetes 1.20 have no ipFamilies
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

// topologyMode reports whether annotations ask for hints by the CPU of zones. The older annotation,
// topology-aware-hints, wins if both are set, as in Kubernetes.
func topologyMode(annotations map[string]string) bool {
	mode, ok := annotations["service.kubernetes.io/topology-aware-hints"]
	if !ok {
		mode = annotations["service.kubernetes.io/topology-mode"]
	}
	return mode == "Auto" || mode == "auto"
}

// managed reports whether the endpoints of the service follow from its selector.
func (s *serviceView) managed() bool { return !s.External && s.Selector != nil }

// selects reports whether the service's selector matches the labels of a pod. A service without a
// selector selects nothing; an empty selector selects all pods.
func (s *serviceView) selects(labels map[string]string) bool {
	for key, want := range s.Selector {
		if have, ok := labels[key]; !ok || have != want {
			return false
		}
	}
	return s.Selector != nil
}

// noAddress is the value of spec.clusterIP by which a client asks for a headless service.
const noAddress = "None"

// headless reports whether the service has no cluster IP.
func (s *serviceView) headless() bool { return s.ClusterIP == "" || s.ClusterIP == noAddress }

// labelHeadless marks the Endpoints and slices of headless services, which kube-proxy skips.
const labelHeadless = "service.kubernetes.io/headless"

// labelsWith returns the labels for an object that is derived from the service: the labels of the
// service, labelHeadless if the service is headless, and the labels in more, which replace others
// of the same name. The map belongs to the caller.
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

// reference returns the reference to the service that Events about it have.
func (s *serviceView) reference(name controller.Name) corev1.ObjectReference {
	return corev1.ObjectReference{
		Kind: "Service", APIVersion: "v1", Namespace: name.Namespace, Name: name.Name, UID: s.UID,
	}
}

// targets returns the targets of the service's ports in a pod, in the order of the service. A port
// whose targetPort is a number always has a target. A port whose targetPort is a name has a target
// only in pods that have a container port with that name and the same protocol.
func (s *serviceView) targets(pod *pods.View) []target {
	var list []target
	for i := range s.Ports {
		p := &s.Ports[i]
		if p.TargetPort.Type == meta.IntType {
			list = append(list, target{p, p.TargetPort.IntVal})
			continue
		}
		named := func(c corev1.ContainerPort) bool {
			return c.Name == p.TargetPort.StrVal && c.Protocol == p.Protocol
		}
		if at := slices.IndexFunc(pod.Ports, named); at >= 0 {
			list = append(list, target{p, pod.Ports[at].ContainerPort})
		}
	}
	return list
}

// target is a port of a service together with the port of a pod that it leads to.
type target struct {
	*corev1.ServicePort
	number int32 // of the pod's port
}

// selected is a pod that a service selects.
type selected struct {
	name string
	*pods.View
}

// canBeEndpoint reports whether a pod has an address and may still run. Whether it is ready does
// not matter here.
func (p *selected) canBeEndpoint() bool {
	return p.Phase != corev1.PodFailed && p.Phase != corev1.PodSucceeded && len(p.IPs) > 0
}

// hostname returns the DNS name of the pod within the domain of a service. It is "" unless the
// pod's subdomain is the name of the service.
func (p *selected) hostname(service string) string {
	if p.Subdomain != service {
		return ""
	}
	return p.Hostname
}

// addresses returns the pod's IP addresses, parsed, so that two spellings of an address are equal.
// It leaves out texts that are no address.
func (p *selected) addresses() []netip.Addr {
	var list []netip.Addr
	for _, text := range p.IPs {
		if ip, _ := names.ParseIP(text, false); ip.IsValid() {
			list = append(list, ip)
		}
	}
	return list
}

// reference returns the reference to the pod that its endpoint has (targetRef).
func (p *selected) reference(namespace string) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: p.name, UID: p.UID}
}

// servicePods finds services and their pods for one controller. Each controller has its own,
// because each has used other trigger times.
type servicePods struct {
	services *controller.Informer[serviceView]
	pods     *controller.Informer[pods.View]
	triggers triggers
}

func newServicePods(in *controller.Informers) *servicePods {
	return &servicePods{services: servicesOf(in), pods: pods.PodInformer(in)}
}

// source is the Source of services whose endpoints may have changed: managed services that change,
// services that are deleted, and for each pod that changes, the services that selected the pod
// before the change or select it after. When a hidden pod can be read again or is deleted, its
// former labels are not known, so source adds all managed services of its namespace.
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

// of returns the pods that a service selects, sorted by name.
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

// hiddenPod reports whether ref, the targetRef of one of a service's endpoints, refers to a hidden
// pod. The state of such a pod is not known, so its endpoint stays as it is.
func (sp *servicePods) hiddenPod(service controller.Name, ref *corev1.ObjectReference) bool {
	return ref != nil && ref.Kind == "Pod" &&
		sp.pods.Hidden(controller.Name{Namespace: service.Namespace, Name: ref.Name})
}
