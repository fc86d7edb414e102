package endpoints

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/pods"
	"github.com/coracle-project/coracle/server/loops/topology"
)

// This file writes the slices of managed services. Package server makes an EndpointSlices for each
// run and calls Run. slicepack.go distributes the endpoints over slices, and slices.go writes them.

// EndpointSlices is the controller that writes the endpoint slices of managed services: the
// addresses of the selected pods, with the pods' ports that the service's ports lead to. A slice
// holds one IP family and one set of ports.
//
// An endpoint may have hints, which tell kube-proxy in which zones or on which nodes the endpoint
// should be used. The service asks for hints by its annotation service.kubernetes.io/topology-mode
// or by its field trafficDistribution; the annotation wins.
type EndpointSlices struct {
	pods     *servicePods
	nodes    *controller.Informer[pods.NodeView]
	slices   *managedSlices
	hints    *zoneHints
	recorder *controller.Recorder
	log      *zap.Logger
}

// maxPerSlice is the highest number of endpoints in a slice (--max-endpoints-per-slice of
// kube-controller-manager, with its default).
const maxPerSlice = 100

// endpointWorkers is the number of services that each of the three controllers works on at once, as
// in kube-controller-manager.
const endpointWorkers = 5

// NewEndpointSlices returns the controller for the run that in belongs to.
func NewEndpointSlices(in *controller.Informers, log *zap.Logger) *EndpointSlices {
	nodes := pods.NodeInformer(in)
	return &EndpointSlices{
		pods: newServicePods(in), nodes: nodes, hints: newZoneHints(nodes),
		slices:   newManagedSlices(in, "endpointslice-controller.k8s.io"),
		recorder: controller.NewRecorder(in.Client(), "endpoint-slice-controller", log), log: log,
	}
}

// Run keeps endpoint slices up to date until ctx ends. It returns when all its work has ended.
func (c *EndpointSlices) Run(ctx context.Context) {
	controller.Loop{
		Name:      "endpoint_slice",
		Source:    controller.Join(c.pods.source(), c.slices.source(), c.hints.source()),
		Reconcile: c.reconcile, Workers: endpointWorkers, Log: c.log,
		After: []controller.Syncer{c.pods.services, c.pods.pods, c.nodes, c.slices},
	}.Run(ctx)
}

// reconcile brings the slices of one service up to date. If a pod's node is missing, it writes the
// other endpoints and then returns an error, so that the loop tries again: a node that appears does
// not queue services. The slices of a hidden service stay as they are.
func (c *EndpointSlices) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	s := c.pods.services.Get(name)
	if s == nil {
		// The service is hidden or deleted. If it is deleted, the garbage collector deletes the
		// slices, which the service owned.
		c.pods.triggers.forget(name)
		c.hints.forget(name)
		return 0, nil
	}
	if !s.managed() {
		c.hints.forget(name)
		return 0, nil
	}
	pods := c.pods.of(name, s)
	trigger := c.pods.triggers.next(name, s, pods)
	existing, err := c.slices.of(ctx, name)
	if err != nil {
		return 0, err
	}
	events := c.hints.begin(name, s)
	hint := func(typ discoveryv1.AddressType, all *topology.Slices) {
		events = append(events, c.hints.hint(name, typ, all)...)
	}
	changes, missing := c.changes(name, s, pods, existing, hint)
	for _, slice := range slices.Concat(changes.create, changes.update) {
		setTrigger(&slice.ObjectMeta, trigger)
	}
	if err = c.slices.write(ctx, name, changes); err == nil {
		err = missing
	}
	if err != nil && !meta.IsConflict(err) {
		c.recorder.Event(ctx, s.reference(name), corev1.EventTypeWarning, "FailedToUpdateEndpointSlices",
			fmt.Sprintf("Error updating Endpoint Slices for Service %s/%s: %v", name.Namespace, name.Name, err))
	}
	for _, n := range events {
		c.recorder.Event(ctx, s.reference(name), n.typ, n.reason, n.message)
	}
	return 0, err
}

// changes returns the writes that the slices of a service need. If pods were left out because their
// nodes are not in the Informer, or not yet, missing is the error about the first of them. If the
// service wants hints by CPU, changes calls hint for each address type, because such hints depend
// on all endpoints of that type.
func (c *EndpointSlices) changes(
	name controller.Name, s *serviceView, pods []selected,
	existing []*discoveryv1.EndpointSlice, hint func(discoveryv1.AddressType, *topology.Slices),
) (all sliceChanges, missing error) {
	owner := ownerReference("Service", name, s.UID)
	labels := s.sliceLabels(name.Name, c.slices.manager)
	setMeta := func(slice *discoveryv1.EndpointSlice) bool {
		if slice.Name == "" {
			slice.OwnerReferences = []meta.OwnerReference{owner}
		}
		changed := !maps.Equal(slice.Labels, labels)
		slice.Labels = labels
		return changed
	}
	plans := slicePlans{}
	for _, family := range s.Families {
		typ := discoveryv1.AddressType(family)
		rules := sliceRules{prefix: name.Name + "-", max: maxPerSlice, placeholder: true, setMeta: setMeta}
		if s.HintByZone {
			rules.hint = func(all *topology.Slices) { hint(typ, all) }
		}
		plans.add(typ, rules)
	}
	// foreign slices belong to an earlier service of this name. They are deleted, never updated,
	// because the garbage collector deletes them too.
	var own, foreign []*discoveryv1.EndpointSlice
	for _, slice := range existing {
		if ownedBy(slice, s.UID) {
			own = append(own, slice)
		} else {
			foreign = append(foreign, slice)
		}
	}
	for i := range pods {
		if err := c.addPod(name, s, &pods[i], own, plans); err != nil && missing == nil {
			missing = err
		}
	}
	c.keepHidden(name, own, plans)
	all = plans.changes(own)
	all.drop = append(all.drop, foreign...)
	if s.Deleting { // new slices would race the garbage collector, which deletes the old ones
		all.create = nil
	}
	return all, missing
}

// keepHidden adds the endpoints of hidden pods to the plans, as they are in the slices.
func (c *EndpointSlices) keepHidden(name controller.Name, own []*discoveryv1.EndpointSlice, plans slicePlans) {
	for _, slice := range own {
		plan := plans[slice.AddressType]
		for i := range slice.Endpoints {
			if e := slice.Endpoints[i]; plan != nil && c.pods.hiddenPod(name, e.TargetRef) {
				plan.group(slice.Ports).add(&e)
			}
		}
	}
}

// node returns the node of a pod, or nil if there is none. For a hidden node it takes the zone from
// an endpoint on the same node in the existing slices, so that the zones in slices do not change.
// If there is no such endpoint, the zone is empty.
func (c *EndpointSlices) node(pod *selected, own []*discoveryv1.EndpointSlice) *pods.NodeView {
	name := controller.Name{Name: pod.Node}
	if !c.nodes.Hidden(name) {
		return c.nodes.Get(name)
	}
	for _, slice := range own {
		for i := range slice.Endpoints {
			if e := &slice.Endpoints[i]; e.Zone != nil && scheme.OrZero(e.NodeName) == pod.Node {
				return &pods.NodeView{Zone: *e.Zone}
			}
		}
	}
	return &pods.NodeView{}
}

// addPod adds a pod's endpoint to each plan for whose address type the pod has an address. It skips
// a pod that can be no endpoint. It is an error if the pod's node does not exist, unless the
// service publishes addresses that are not ready. The text of the error is Kubernetes', because an
// Event shows it.
func (c *EndpointSlices) addPod(
	name controller.Name, s *serviceView, pod *selected, own []*discoveryv1.EndpointSlice, plans slicePlans,
) error {
	if !pod.canBeEndpoint() {
		return nil
	}
	node := c.node(pod, own)
	if node == nil && !s.PublishNotReady {
		return fmt.Errorf("skipping Pod %s for Service %s/%s: Node %s Not Found",
			pod.name, name.Namespace, name.Name, pod.Node)
	}
	for typ, plan := range plans {
		group := plan.group(s.slicePorts(pod.View))
		e := s.endpoint(name, pod, node)
		for _, ip := range pod.addresses() {
			if ip.Is4() == (typ == discoveryv1.AddressTypeIPv4) {
				e.Addresses = append(e.Addresses, ip.String())
			}
		}
		if len(e.Addresses) > 0 {
			group.add(e)
		}
	}
	return nil
}

// slicePorts returns the ports of a pod that the service's ports lead to, as a slice lists them.
func (s *serviceView) slicePorts(pod *pods.View) []discoveryv1.EndpointPort {
	var ports []discoveryv1.EndpointPort
	for _, t := range s.targets(pod) {
		ports = append(ports, discoveryv1.EndpointPort{
			Name: &t.Name, Port: &t.number, Protocol: &t.Protocol, AppProtocol: t.AppProtocol,
		})
	}
	return ports
}

// endpoint returns the endpoint of a pod, without addresses. node may be nil. The condition Serving
// says whether the pod is ready, even while it is being deleted. The condition Ready is false while
// the pod is being deleted, unless the service publishes addresses that are not ready.
func (s *serviceView) endpoint(name controller.Name, pod *selected, node *pods.NodeView) *discoveryv1.Endpoint {
	ready := s.PublishNotReady || pod.Ready && !pod.Deleting
	e := &discoveryv1.Endpoint{
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &pod.Ready, Terminating: &pod.Deleting},
		TargetRef:  pod.reference(name.Namespace),
		Hostname:   unlessEmpty(pod.hostname(name.Name)),
		NodeName:   unlessEmpty(pod.Node),
	}
	if node != nil {
		e.Zone = unlessEmpty(node.Zone)
	}
	if ready {
		e.Hints = s.hints(e)
	}
	return e
}

// hints returns the hints that follow from the field trafficDistribution, nil for none: the zone of
// the endpoint for PreferClose, PreferSameZone and PreferSameNode, and its node for PreferSameNode.
// Only ready endpoints get hints.
func (s *serviceView) hints(e *discoveryv1.Endpoint) *discoveryv1.EndpointHints {
	var hints discoveryv1.EndpointHints
	switch s.Distribution {
	case "PreferClose", "PreferSameZone", "PreferSameNode":
		if e.Zone != nil {
			hints.ForZones = []discoveryv1.ForZone{{Name: *e.Zone}}
		}
	}
	if s.Distribution == "PreferSameNode" && e.NodeName != nil {
		hints.ForNodes = []discoveryv1.ForNode{{Name: *e.NodeName}}
	}
	if hints.ForZones == nil && hints.ForNodes == nil {
		return nil
	}
	return &hints
}

// sliceLabels returns the labels of the service's slices. manager is the value of the label
// endpointslice.kubernetes.io/managed-by, by which a controller finds its slices.
func (s *serviceView) sliceLabels(service, manager string) map[string]string {
	return s.labelsWith(map[string]string{
		discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: manager,
	})
}

// ownerReference returns a reference to the v1 object with a kind, name and uid. The reference says
// that this object is the controller.
func ownerReference(kind string, name controller.Name, uid meta.UID) meta.OwnerReference {
	yes := true
	return meta.OwnerReference{
		APIVersion: "v1", Kind: kind, Name: name.Name, UID: uid, Controller: &yes, BlockOwnerDeletion: &yes,
	}
}

// ownedBy reports whether the service with a uid is an owner of a slice.
func ownedBy(slice *discoveryv1.EndpointSlice, uid meta.UID) bool {
	for _, ref := range slice.OwnerReferences {
		if ref.UID == uid && ref.Kind == "Service" && ref.APIVersion == "v1" {
			return true
		}
	}
	return false
}

// unlessEmpty returns a pointer to s, nil for "".
func unlessEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
