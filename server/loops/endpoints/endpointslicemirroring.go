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

// This file mirrors Endpoints into slices. Package server makes a Mirroring for each run and calls
// Run. slicepack.go distributes the addresses over slices, and slices.go writes them.

// Mirroring is the controller that copies the Endpoints of services without a selector into
// endpoint slices. Such Endpoints are written by people or other programs, and kube-proxy reads
// slices only. Endpoints are not mirrored if they have the label
// endpointslice.kubernetes.io/skip-mirror=true or are the lock of a leader election; slices that
// were made before that are deleted.
type Mirroring struct {
	client    *client.Client
	services  *controller.Informer[serviceView]
	endpoints *controller.Informer[endpointsView]
	slices    *managedSlices
	recorder  *controller.Recorder
	log       *zap.Logger
}

// maxMirrored is how many addresses of one subset are mirrored, and how many endpoints a mirrored
// slice may hold (--mirroring-max-endpoints-per-subset of kube-controller-manager, with its
// default).
const maxMirrored = 1000

// annotationApplied is the annotation with the last configuration that kubectl apply sent for the
// Endpoints. It is not copied, because the slice would then look as if it were applied, too.
const annotationApplied = "kubectl.kubernetes.io/last-applied-configuration"

// NewMirroring returns the controller for the run that in belongs to.
func NewMirroring(in *controller.Informers, log *zap.Logger) *Mirroring {
	return &Mirroring{
		client: in.Client(), services: servicesOf(in), endpoints: endpointsOf(in),
		slices:   newManagedSlices(in, "endpointslicemirroring-controller.k8s.io"),
		recorder: controller.NewRecorder(in.Client(), "endpoint-slice-mirroring-controller", log), log: log,
	}
}

// shouldMirror reports whether the labels and annotations of Endpoints allow mirroring. reconcile
// checks the selector of their service.
func shouldMirror(e *corev1.Endpoints) bool {
	_, election := e.Annotations[annotationLeader]
	return !election && e.Labels[discoveryv1.LabelSkipMirror] != "true"
}

// Run keeps the mirrored slices up to date until ctx ends. It returns when all its work has ended.
func (c *Mirroring) Run(ctx context.Context) {
	controller.Loop{
		Name:      "endpoint_slice_mirroring",
		Source:    controller.Join(c.services.Own(), c.endpoints.Own(), c.slices.source()),
		Reconcile: c.reconcile, Workers: endpointWorkers, Log: c.log,
		After: []controller.Syncer{c.services, c.endpoints, c.slices},
	}.Run(ctx)
}

// reconcile brings the mirrored slices of one service up to date, and deletes them if nothing is to
// be mirrored. It does nothing while the service or its Endpoints are hidden.
func (c *Mirroring) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	if c.services.Hidden(name) || c.endpoints.Hidden(name) {
		return 0, nil
	}
	if s := c.services.Get(name); s == nil || s.Selector != nil || c.endpoints.Get(name) == nil {
		return 0, c.slices.deleteAll(ctx, name)
	}
	e, err := client.For[*corev1.Endpoints](c.client, endpointsResource).In(name.Namespace).
		Get(ctx, name.Name, meta.GetOptions{})
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
		about := corev1.ObjectReference{
			Kind: "Endpoints", APIVersion: "v1", Namespace: name.Namespace, Name: name.Name, UID: e.UID,
		}
		c.recorder.Event(ctx, about, corev1.EventTypeWarning, "TooManyAddressesToMirror", fmt.Sprintf(
			"A max of %d addresses can be mirrored to EndpointSlices per Endpoints subset. %d addresses were skipped",
			maxMirrored, skipped))
	}
	return 0, c.slices.write(ctx, name, changes)
}

// changes returns the writes that the mirrored slices need, and the number of addresses that were
// left out because of maxMirrored. Subsets with the same addresses are merged first (repack), so
// the limit holds for merged subsets.
func (c *Mirroring) changes(
	name controller.Name, e *corev1.Endpoints, existing []*discoveryv1.EndpointSlice,
) (all sliceChanges, skipped int) {
	setMeta := c.metaSetter(name, e)
	plans := slicePlans{}
	for _, typ := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
		plans.add(typ, sliceRules{prefix: name.Name + "-", max: maxMirrored, setMeta: setMeta})
	}
	for _, s := range repack(e.Subsets) {
		skipped += addSubset(&s, plans)
	}
	all = plans.changes(existing)
	if e.DeletionTimestamp != nil { // new slices would race the garbage collector
		all.create = nil
	}
	return all, skipped
}

// addSubset adds the addresses of a subset to the plan of their IP family. plans has a plan for
// each family; the plans then share memory with s. addSubset takes at most maxMirrored addresses,
// ready ones first, and returns the number of the others. Addresses that are no IP addresses are
// left out and not counted.
func addSubset(s *corev1.EndpointSubset, plans slicePlans) (skipped int) {
	var ports []discoveryv1.EndpointPort
	for i := range s.Ports {
		p := &s.Ports[i]
		ports = append(ports, discoveryv1.EndpointPort{
			Name: &p.Name, Port: &p.Port, Protocol: &p.Protocol, AppProtocol: p.AppProtocol,
		})
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

// metaSetter returns the function that gives a slice the labels and annotations of Endpoints, and
// makes the Endpoints its owner. It leaves out the annotations annotationTrigger and
// annotationApplied, which concern the Endpoints alone. The function reports whether it has changed
// the slice.
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
		changed := !maps.Equal(s.Labels, labels) || !maps.Equal(s.Annotations, annotations) ||
			!scheme.Equal(&s.OwnerReferences, &owners)
		s.Labels, s.Annotations, s.OwnerReferences = labels, annotations, owners
		return changed
	}
}
