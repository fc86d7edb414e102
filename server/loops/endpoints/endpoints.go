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
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// This file writes Endpoints. Package server makes an Endpoints for each run and calls Run.
// subsets.go has the canonical form of the content.

// Endpoints is the controller that writes the Endpoints of managed services: the addresses of the
// selected pods in the service's first IP family, at most maxAddresses of them. It deletes the
// Endpoints of a deleted service, and, soon after Run begins, Endpoints whose service was deleted
// while no controller ran.
type Endpoints struct {
	client    *client.Client
	pods      *servicePods
	endpoints *controller.Informer[endpointsView]
	recorder  *controller.Recorder
	log       *zap.Logger
}

// endpointsView is the part of Endpoints that the Informer keeps. It shows that they exist and when
// they change. Their addresses, which may be many, are read from the server when they are needed.
type endpointsView struct{ Version string } // resourceVersion

// annotationLeader marks Endpoints that are the lock of a leader election and hold no addresses.
// Such Endpoints are neither deleted as leftovers nor mirrored.
const annotationLeader = "control-plane.alpha.kubernetes.io/leader"

// endpointsOf returns the Informer of Endpoints, which all controllers of a run share.
func endpointsOf(in *controller.Informers) *controller.Informer[endpointsView] {
	return controller.InformerOf(in, endpointsResource, func(e *corev1.Endpoints) *endpointsView {
		return &endpointsView{e.ResourceVersion}
	})
}

var endpointsResource = corev1.GroupVersion.WithResource("endpoints")

// maxAddresses is the highest number of addresses in Endpoints, ready and not ready together. It is
// Kubernetes' limit, which keeps the object small enough to be sent to each node at each change.
const maxAddresses = 1000

// The label and the annotation that the controller sets on Endpoints. The annotation has the value
// "truncated" if addresses were left out because of maxAddresses, and is absent otherwise.
const (
	labelEndpointsManager  = "endpoints.kubernetes.io/managed-by"
	endpointsManager       = "endpoint-controller"
	annotationOverCapacity = "endpoints.kubernetes.io/over-capacity"
)

// NewEndpoints returns the controller for the run that in belongs to.
func NewEndpoints(in *controller.Informers, log *zap.Logger) *Endpoints {
	return &Endpoints{
		client: in.Client(), pods: newServicePods(in), endpoints: endpointsOf(in),
		recorder: controller.NewRecorder(in.Client(), endpointsManager, log), log: log,
	}
}

// Run keeps Endpoints up to date until ctx ends. It returns when all its work has ended.
func (c *Endpoints) Run(ctx context.Context) {
	gone := c.endpoints.Source(func(name controller.Name, _, now *endpointsView) []controller.Name {
		if now != nil {
			return nil
		}
		return []controller.Name{name}
	})
	controller.Loop{
		Name:      "endpoint",
		Source:    controller.Join(c.pods.source(), gone, c.leftovers),
		Reconcile: c.reconcile, Workers: endpointWorkers, Log: c.log,
		After: []controller.Syncer{c.pods.services, c.pods.pods, c.endpoints},
	}.Run(ctx)
}

// leftoverGrace is how long Endpoints may be without a service before leftovers adds them. A
// client that has just written Endpoints may create their service with its next request.
// Kubernetes has no such grace: its controller deletes leftovers as soon as it starts.
const leftoverGrace = 10 * time.Second

// leftovers is the Source of Endpoints whose service was deleted while no controller ran. It lists
// Endpoints twice, leftoverGrace apart, and adds those that have no service both times and the same
// UID. Then it ends, because later deletions of services arrive as changes. If a list fails, it
// tries again.
func (c *Endpoints) leftovers(ctx context.Context, add func(controller.Name), failed func(error)) {
	if c.pods.services.Synced(ctx) != nil {
		return
	}
	var first map[controller.Name]meta.UID
	for {
		found, err := c.withoutService(ctx)
		next := leftoverGrace
		switch {
		case err != nil:
			failed(err)
			next = controller.MaxPause // leftovers are harmless, so there is no hurry
		case len(found) == 0:
			return
		case first == nil:
			first = found
		default:
			for name, uid := range found {
				if first[name] == uid {
					add(name)
				}
			}
			return
		}
		if !controller.Pause(ctx, next) {
			return
		}
	}
}

// withoutService returns the UIDs of the Endpoints without a service. It leaves out the locks of
// elections, and Endpoints that cannot be read, since they may be such locks.
func (c *Endpoints) withoutService(ctx context.Context) (map[controller.Name]meta.UID, error) {
	found := map[controller.Name]meta.UID{}
	for e, err := range client.For[*meta.PartialObjectMetadata](c.client, endpointsResource).
		All(meta.WithUnread(ctx), meta.ListOptions{}) {
		if meta.IsUnreadable(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		name := controller.Name{Namespace: e.Namespace, Name: e.Name}
		if _, election := e.Annotations[annotationLeader]; !election && c.pods.services.Get(name) == nil {
			found[name] = e.UID
		}
	}
	return found, nil
}

// reconcile brings the Endpoints of one service up to date. It does nothing if the service is
// hidden, because its selector is not known.
func (c *Endpoints) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	if c.pods.services.Hidden(name) {
		return 0, nil
	}
	s := c.pods.services.Get(name)
	if s == nil {
		err := c.deleteEndpoints(ctx, name)
		if err == nil {
			c.pods.triggers.forget(name)
		}
		return 0, err
	}
	if !s.managed() {
		return 0, nil
	}
	have, err := c.read(ctx, name)
	if err != nil {
		return 0, err
	}
	pods := c.pods.of(name, s)
	trigger := c.pods.triggers.next(name, s, pods)
	want := repack(append(s.subsets(name, pods), c.hiddenAddresses(name, have)...))
	over := truncate(want)
	want = repack(want) // drops the subsets that truncate has emptied
	if have.ResourceVersion != "" && c.upToDate(have, s, want, over) {
		return 0, nil
	}
	have.Subsets, have.Labels = want, s.endpointsLabels()
	setTrigger(&have.ObjectMeta, trigger)
	mark := ""
	if over {
		mark = "truncated"
	}
	setAnnotation(&have.ObjectMeta, annotationOverCapacity, mark)
	return 0, c.write(ctx, name, have)
}

// hiddenAddresses returns the subsets of have with the addresses of hidden pods only.
func (c *Endpoints) hiddenAddresses(name controller.Name, have *corev1.Endpoints) []corev1.EndpointSubset {
	gone := func(a corev1.EndpointAddress) bool { return !c.pods.hiddenPod(name, a.TargetRef) }
	var list []corev1.EndpointSubset
	for _, s := range have.Subsets {
		s.Addresses = slices.DeleteFunc(slices.Clone(s.Addresses), gone)
		s.NotReadyAddresses = slices.DeleteFunc(slices.Clone(s.NotReadyAddresses), gone)
		list = append(list, s)
	}
	return list
}

// read returns the Endpoints of a service from the server. If there are none it returns new ones,
// which have no ResourceVersion.
func (c *Endpoints) read(ctx context.Context, name controller.Name) (*corev1.Endpoints, error) {
	none := &corev1.Endpoints{ObjectMeta: meta.ObjectMeta{Name: name.Name}}
	if c.absent(name) {
		return none, nil
	}
	have, err := c.in(name).Get(ctx, name.Name, meta.GetOptions{})
	if meta.IsNotFound(err) {
		return none, nil
	}
	return have, err
}

// absent reports whether it is certain that a service has no Endpoints, which saves a request. The
// Informer alone is not enough, because it may not have seen Endpoints that this controller wrote a
// moment ago. A service may have such Endpoints if triggers.next was called for it.
func (c *Endpoints) absent(name controller.Name) bool {
	return c.endpoints.Get(name) == nil && !c.pods.triggers.seen(name)
}

// upToDate reports whether have need not be written. The order of subsets and addresses does not
// count. A wrong labelHeadless does not count either: the next write corrects it, as in Kubernetes.
// over says whether addresses were left out of want.
func (c *Endpoints) upToDate(
	have *corev1.Endpoints, s *serviceView, want []corev1.EndpointSubset, over bool,
) bool {
	packed, labels := repack(have.Subsets), maps.Clone(have.Labels)
	wanted := s.endpointsLabels()
	delete(labels, labelHeadless)
	delete(wanted, labelHeadless)
	_, marked := have.Annotations[annotationOverCapacity]
	return scheme.Equal(&packed, &want) && maps.Equal(labels, wanted) && marked == over
}

// write updates Endpoints if they have a ResourceVersion, and creates them otherwise. It reports a
// failure as an Event with Kubernetes' reason and text, unless the failure is a conflict: then the
// loop tries again. If Endpoints cannot be created because their namespace is being deleted, that
// is no error.
func (c *Endpoints) write(ctx context.Context, name controller.Name, e *corev1.Endpoints) error {
	about := corev1.ObjectReference{
		Kind: "Endpoints", APIVersion: "v1", Namespace: name.Namespace, Name: name.Name, UID: e.UID,
	}
	if e.ResourceVersion != "" {
		_, err := c.in(name).Update(ctx, e, meta.UpdateOptions{})
		if err != nil && !meta.IsConflict(err) {
			c.recorder.Event(ctx, about, corev1.EventTypeWarning, "FailedToUpdateEndpoint",
				fmt.Sprintf("Failed to update endpoint %s/%s: %v", name.Namespace, name.Name, err))
		}
		return err
	}
	_, err := c.in(name).Create(ctx, e, meta.CreateOptions{})
	if controller.IsNamespaceEnding(err) {
		return nil
	}
	if err != nil && !meta.IsAlreadyExists(err) {
		c.recorder.Event(ctx, about, corev1.EventTypeWarning, "FailedToCreateEndpoint",
			fmt.Sprintf("Failed to create endpoint for service %s/%s: %v", name.Namespace, name.Name, err))
	}
	return err
}

// deleteEndpoints deletes the Endpoints of a deleted service. First it asks the server whether
// there is a new service of the same name, which needs the Endpoints and which the Informer may not
// have seen yet.
func (c *Endpoints) deleteEndpoints(ctx context.Context, name controller.Name) error {
	if c.absent(name) {
		return nil
	}
	services := client.For[*meta.PartialObjectMetadata](c.client, corev1.GroupVersion.WithResource("services")).
		In(name.Namespace)
	if _, err := services.Get(ctx, name.Name, meta.GetOptions{}); !meta.IsNotFound(err) {
		return err
	}
	return controller.IgnoreNotFound(c.in(name).Delete(ctx, name.Name, meta.DeleteOptions{}))
}

func (c *Endpoints) in(name controller.Name) client.Resource[*corev1.Endpoints] {
	return client.For[*corev1.Endpoints](c.client, endpointsResource).In(name.Namespace)
}

// subsets returns the addresses of the service's pods with the ports that the service leads to, in
// their canonical form (repack). It leaves out a pod to which none of the service's ports leads,
// unless the service is headless and has no ports. It also leaves out a pod that is being deleted,
// unless the service publishes addresses that are not ready.
func (s *serviceView) subsets(name controller.Name, pods []selected) []corev1.EndpointSubset {
	var list []corev1.EndpointSubset
	for i := range pods {
		pod := &pods[i]
		a := s.address(name, pod)
		if a == nil || pod.Deleting && !s.PublishNotReady {
			continue
		}
		var ports []corev1.EndpointPort
		for _, t := range s.targets(pod.View) {
			ports = append(ports, corev1.EndpointPort{
				Name: t.Name, Port: t.number, Protocol: t.Protocol, AppProtocol: t.AppProtocol,
			})
		}
		portless := len(s.Ports) == 0 && s.ClusterIP == noAddress
		if len(ports) == 0 && !portless {
			continue
		}
		subset := corev1.EndpointSubset{NotReadyAddresses: []corev1.EndpointAddress{*a}, Ports: ports}
		if pod.Ready || s.PublishNotReady {
			subset.Addresses, subset.NotReadyAddresses = subset.NotReadyAddresses, nil
		}
		list = append(list, subset)
	}
	return repack(list)
}

// address returns a pod's first address in the service's first IP family. It returns nil if the pod
// has no such address or can be no endpoint.
func (s *serviceView) address(name controller.Name, pod *selected) *corev1.EndpointAddress {
	if !pod.canBeEndpoint() {
		return nil
	}
	for _, ip := range pod.addresses() {
		if ip.Is4() == (s.Families[0] == corev1.IPv4Protocol) {
			return &corev1.EndpointAddress{
				IP: ip.String(), Hostname: pod.hostname(name.Name),
				NodeName: unlessEmpty(pod.Node), TargetRef: pod.reference(name.Namespace),
			}
		}
	}
	return nil
}

// endpointsLabels returns the labels that the service's Endpoints should have.
func (s *serviceView) endpointsLabels() map[string]string {
	return s.labelsWith(map[string]string{labelEndpointsManager: endpointsManager})
}

// truncate leaves at most maxAddresses in subsets and reports whether it removed any. If there are
// too many ready addresses, it removes all others and some of the ready ones. If not, it keeps all
// ready addresses and some of the others. Each subset keeps addresses in proportion to its size,
// rounded up, as in Kubernetes. Example: 1500 ready addresses in subsets of 900 and 600 become 600
// and 400.
func truncate(subsets []corev1.EndpointSubset) bool {
	ready, unready := 0, 0
	for i := range subsets {
		ready += len(subsets[i].Addresses)
		unready += len(subsets[i].NotReadyAddresses)
	}
	if ready+unready <= maxAddresses {
		return false
	}
	room, total := maxAddresses-ready, unready
	if ready > maxAddresses {
		room, total = maxAddresses, ready
	}
	share := func(list []corev1.EndpointAddress, left int) []corev1.EndpointAddress {
		return list[:min(len(list), left, (len(list)*room+total-1)/total)]
	}
	left := room
	for i := range subsets {
		s := &subsets[i]
		if ready > maxAddresses {
			s.Addresses, s.NotReadyAddresses = share(s.Addresses, left), nil
			left -= len(s.Addresses)
		} else {
			s.NotReadyAddresses = share(s.NotReadyAddresses, left)
			left -= len(s.NotReadyAddresses)
		}
	}
	return true
}
