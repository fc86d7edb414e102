package endpoints

import (
	"context"
	"fmt"
	"maps"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// Mirroring keeps endpoint slices that say what the Endpoints of services without a selector do,
// which people and others write. Endpoints with the label endpointslice.kubernetes.io/skip-mirror,
// and those that hold an election, are none of its business.
type Mirroring struct {
	client    *client.Client
	services  *controller.Informer[serviceView]
	endpoints *controller.Informer[endpointsView]
	slices    *managedSlices
	recorder  *controller.Recorder
	log       *zap.Logger
}

// maxMirrored is how many addresses of a subset are mirrored, as many as with
// kube-controller-manager.
const maxMirrored = 1000

// annotationApplied holds what kubectl apply has sent, which concerns that object alone.
const annotationApplied = "kubectl.kubernetes.io/last-applied-configuration"

// NewMirroring makes the controller for a run.
func NewMirroring(in *controller.Informers, log *zap.Logger) *Mirroring {
	return &Mirroring{
		client: in.Client(), services: servicesOf(in), endpoints: endpointsOf(in),
		slices:   newManagedSlices(in, "endpointslicemirroring-controller.k8s.io"),
		recorder: controller.NewRecorder(in.Client(), "endpoint-slice-mirroring-controller", log), log: log,
	}
}

// shouldMirror reports whether Endpoints are to be mirrored, if their service has no selector.
func shouldMirror(e *corev1.Endpoints) bool {
	_, election := e.Annotations[annotationLeader]
	return !election && e.Labels[discoveryv1.LabelSkipMirror] != "true"
}

// Run works until ctx ends.
func (c *Mirroring) Run(ctx context.Context) {
	controller.Loop{
		Source: controller.Join(c.services.Own(), c.endpoints.Own(), c.slices.source()), Reconcile: c.reconcile, Workers: endpointWorkers, Log: c.log,
		After: []controller.Syncer{c.services, c.endpoints, c.slices},
	}.Run(ctx)
}

func (c *Mirroring) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	if c.services.Hidden(name) || c.endpoints.Hidden(name) {
		return 0, nil
	}
	if s := c.services.Get(name); s == nil || s.Selector != nil || c.endpoints.Get(name) == nil {
		return 0, c.slices.deleteAll(ctx, name)
	}
	e, err := client.For[*corev1.Endpoints](c.client, endpointsResource).In(name.Namespace).Get(ctx, name.Name, meta.GetOptions{})
	if meta.IsNotFound(err) || err == nil && !shouldMirror(e) {
		return 0, c.slices.deleteAll(ctx, name)
	}
	if err != nil {
		return 0, err
	}
	existing, err := c.slices.of(ctx, name)
	if err != nil {
		return 0, err
	}
	changes, skipped := c.changes(name, e, existing)
	if skipped > 0 {
		about := corev1.ObjectReference{Kind: "Endpoints", APIVersion: "v1", Namespace: name.Namespace, Name: name.Name, UID: e.UID}
		c.recorder.Event(ctx, about, corev1.EventTypeWarning, "TooManyAddressesToMirror", fmt.Sprintf(
			"A max of %d addresses can be mirrored to EndpointSlices per Endpoints subset. %d addresses were skipped", maxMirrored, skipped))
	}
	return 0, c.slices.write(ctx, name, changes)
}

// changes returns what has to be written, and how many addresses are too many.
func (c *Mirroring) changes(name controller.Name, e *corev1.Endpoints, existing []*discoveryv1.EndpointSlice) (all sliceChanges, skipped int) {
	setMeta := c.metaSetter(name, e)
	plans := slicePlans{}
	for _, typ := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
		plans.add(typ, sliceRules{prefix: name.Name + "-", max: maxMirrored, setMeta: setMeta})
	}
	for _, s := range repack(e.Subsets) {
		skipped += addSubset(&s, plans)
	}
	all = plans.changes(existing)
	if e.DeletionTimestamp != nil { // the garbage collector may be at it
		all.create = nil
	}
	return all, skipped
}

// addSubset adds the addresses of a subset to the plans, and returns how many are too many.
func addSubset(s *corev1.EndpointSubset, plans slicePlans) (skipped int) {
	var ports []discoveryv1.EndpointPort
	for i := range s.Ports {
		p := &s.Ports[i]
		ports = append(ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port, Protocol: &p.Protocol, AppProtocol: p.AppProtocol})
	}
	room := maxMirrored
	add := func(list []corev1.EndpointAddress, ready bool) {
		for i := range list {
			a := &list[i]
			ip, _ := names.ParseIP(a.IP, false)
			switch {
			case !ip.IsValid():
				continue
			case room == 0:
				skipped++
				continue
			}
			room--
			typ := discoveryv1.AddressTypeIPv6
			if ip.Is4() {
				typ = discoveryv1.AddressTypeIPv4
			}
			plans[typ].group(ports).add(&discoveryv1.Endpoint{
				Addresses: []string{ip.String()}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
				TargetRef: a.TargetRef, NodeName: a.NodeName, Hostname: unlessEmpty(a.Hostname),
			})
		}
	}
	add(s.Addresses, true)
	add(s.NotReadyAddresses, false)
	return skipped
}

// metaSetter gives slices the labels and annotations of Endpoints, and makes them the Endpoints' own.
func (c *Mirroring) metaSetter(name controller.Name, e *corev1.Endpoints) func(*discoveryv1.EndpointSlice) bool {
	labels, annotations := maps.Clone(e.Labels), maps.Clone(e.Annotations)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[discoveryv1.LabelServiceName], labels[discoveryv1.LabelManagedBy] = name.Name, c.slices.manager
	delete(annotations, annotationTrigger)
	delete(annotations, annotationApplied)
	owners := []meta.OwnerReference{ownerReference("Endpoints", name, e.UID)}
	return func(s *discoveryv1.EndpointSlice) bool {
		changed := !maps.Equal(s.Labels, labels) || !maps.Equal(s.Annotations, annotations) || !scheme.Equal(&s.OwnerReferences, &owners)
		s.Labels, s.Annotations, s.OwnerReferences = labels, annotations, owners
		return changed
	}
}
