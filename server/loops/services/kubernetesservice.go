package services

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// This file keeps the Service "kubernetes" of the namespace default, by which pods find the API
// servers of their cluster, with its Endpoints and EndpointSlice. It does what the
// kubernetesservice controller and the lease endpoint reconciler of kube-apiserver do, but it
// follows changes where Kubernetes writes every 10 seconds. server/addresses calls Reconcile when
// the server starts, Run while it serves, and Withdraw when it stops.

// KubernetesService is the loop that creates the Service "kubernetes" if it is missing, and writes
// the addresses of the live API servers into its Endpoints and EndpointSlice. Each server runs this
// loop. All of them write the same addresses, because they read the same list of servers. Calls of
// the methods must not overlap.
type KubernetesService struct {
	// Client reads and writes the three objects.
	Client *client.Client
	// ClusterIP is the cluster IP of the Service.
	ClusterIP netip.Addr
	// NodePort is the port on all nodes that also leads to the Service. If it is 0, there is no
	// such port, and the type of the Service is ClusterIP.
	NodePort int32
	// Port is the secure port of this server. The servers of a cluster must have the same.
	Port int32
	// Servers returns the IP addresses of the live servers. If it is nil, this loop keeps the
	// Service only, and leaves Endpoints and EndpointSlice to an administrator.
	Servers func(ctx context.Context) ([]string, error)
	// Changes adds some name, no matter which, when the result of Servers may have changed. If
	// Changes is nil, the result of Servers never changes.
	Changes controller.Source
	// Slices says that EndpointSlices are served, so the loop keeps one.
	Slices bool
	// Log gets a line for each write of new server addresses, and for each failure.
	Log *zap.Logger

	portTaken time.Time // when this server last set the port of the Endpoints to Port instead of another
}

// portPause is how long a server leaves the port of the Endpoints alone after it has set it.
// Without the pause, two servers with different ports at one address would overwrite each other's
// port all the time.
const portPause = 10 * time.Second

// kubernetesName is the name of the Service, the Endpoints and the EndpointSlice.
const kubernetesName = "kubernetes"

// Run reconciles whenever one of the three objects or the list of servers changes, until ctx ends.
func (c *KubernetesService) Run(ctx context.Context) {
	own := controller.Name{Namespace: "default", Name: kubernetesName}
	sources := []controller.Source{controller.WatchOne(c.services(), own)}
	if c.Servers != nil {
		sources = append(sources, controller.WatchOne(c.endpoints(), own))
		if c.Slices {
			sources = append(sources, controller.WatchOne(c.slices(), own))
		}
		if c.Changes != nil {
			sources = append(sources, c.Changes)
		}
	}
	reconcile := func(ctx context.Context, _ controller.Name) (time.Duration, error) {
		err := c.Reconcile(ctx)
		if meta.IsConflict(err) { // another server wrote first; its change calls reconcile again
			err = nil
		}
		return max(portPause-time.Since(c.portTaken), 0), err
	}
	controller.Loop{
		Name:   "kubernetes_service",
		Source: controller.Join(sources...), Reconcile: reconcile, Log: c.Log,
	}.Run(ctx)
}

// errNoServers is the error of Reconcile if the list of servers is empty. The list must be wrong
// then, because this server is alive. So Reconcile leaves the Endpoints as they are.
var errNoServers = errors.New("no API server is listed as live, so the endpoints of the Service kubernetes stay as they are")

// Reconcile brings the Service, its Endpoints and its EndpointSlice up to date once. It returns the
// first error and does not try again.
func (c *KubernetesService) Reconcile(ctx context.Context) error {
	if err := c.ensureService(ctx); err != nil || c.Servers == nil {
		return err
	}
	servers, err := c.Servers(ctx)
	if err == nil && len(servers) == 0 {
		err = errNoServers
	}
	if err != nil {
		return err
	}
	endpoints, err := c.endpoints().Get(ctx, kubernetesName, meta.GetOptions{})
	if meta.IsNotFound(err) {
		endpoints, err = c.endpoints().Create(ctx, c.endpointsOf(nil, servers), meta.CreateOptions{})
	} else if err == nil {
		endpoints, err = c.publish(ctx, endpoints, servers)
	}
	if err != nil || !c.Slices {
		return err
	}
	return c.publishSlice(ctx, endpoints)
}

// Withdraw writes the present result of Servers into the Endpoints and the EndpointSlice, even if
// it is empty. It is called when this server stops, after the server has left the list of servers.
// It creates the EndpointSlice if it is missing, but not the other two objects.
func (c *KubernetesService) Withdraw(ctx context.Context) error {
	servers, err := c.Servers(ctx)
	if err != nil {
		return err
	}
	endpoints, err := c.endpoints().Get(ctx, kubernetesName, meta.GetOptions{})
	if err == nil {
		endpoints, err = c.publish(ctx, endpoints, servers)
	}
	if err != nil || !c.Slices {
		return controller.IgnoreNotFound(err)
	}
	return c.publishSlice(ctx, endpoints)
}

// ensureService creates the Service if it is missing. It leaves a Service that exists as it is,
// because an administrator may have changed it.
func (c *KubernetesService) ensureService(ctx context.Context) error {
	_, err := c.services().Get(ctx, kubernetesName, meta.GetOptions{})
	if !meta.IsNotFound(err) {
		return err
	}
	single, kind := corev1.IPFamilyPolicySingleStack, corev1.ServiceTypeClusterIP
	if c.NodePort != 0 {
		kind = corev1.ServiceTypeNodePort
	}
	_, err = c.services().Create(ctx, &corev1.Service{
		ObjectMeta: meta.ObjectMeta{
			Name: kubernetesName, Namespace: "default",
			Labels: map[string]string{"component": "apiserver", "provider": kubernetesName},
		},
		Spec: corev1.ServiceSpec{
			Ports: []corev1.ServicePort{{
				Name: "https", Protocol: corev1.ProtocolTCP, Port: 443,
				TargetPort: meta.IntOrString{IntVal: c.Port}, NodePort: c.NodePort,
			}},
			ClusterIP: c.ClusterIP.String(), IPFamilyPolicy: &single,
			SessionAffinity: corev1.ServiceAffinityNone, Type: kind,
		},
	}, meta.CreateOptions{})
	if meta.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// publish writes the addresses of servers into the Endpoints, if they differ from old. It returns
// the Endpoints as they are stored then. If it replaces the port, it starts portPause.
func (c *KubernetesService) publish(
	ctx context.Context, old *corev1.Endpoints, servers []string,
) (*corev1.Endpoints, error) {
	next := c.endpointsOf(old, servers)
	if scheme.Equal(old, next) {
		return old, nil
	}
	c.Log.Info("writing new server addresses into the endpoints of the Service kubernetes", zap.Strings("addresses", servers))
	if len(old.Subsets) == 1 && len(next.Subsets) == 1 &&
		!scheme.Equal(&old.Subsets[0].Ports, &next.Subsets[0].Ports) {
		c.portTaken = time.Now()
	}
	return c.endpoints().Update(ctx, next, meta.UpdateOptions{})
}

// endpointsOf returns the Endpoints that should be stored. old are the stored ones, nil if there
// are none; endpointsOf does not change old. It keeps the port of old during portPause, and if
// several servers are live, because these must all serve on one port. If the addresses are the
// same, it keeps their order in old, so that two servers do not reorder them in turns. If old has
// more than one subset, another client has added it, and one subset with this server's port
// replaces all.
func (c *KubernetesService) endpointsOf(old *corev1.Endpoints, servers []string) *corev1.Endpoints {
	next := &corev1.Endpoints{ObjectMeta: meta.ObjectMeta{Name: kubernetesName, Namespace: "default"}}
	if old != nil {
		next = scheme.Copy(old).(*corev1.Endpoints)
	}
	if next.Labels == nil {
		next.Labels = map[string]string{}
	}
	next.Labels[discoveryv1.LabelSkipMirror] = "true" // publishSlice writes the slice, so none is mirrored
	subset := corev1.EndpointSubset{
		Ports: []corev1.EndpointPort{{Name: "https", Port: c.Port, Protocol: corev1.ProtocolTCP}},
	}
	if len(next.Subsets) == 1 {
		now := &next.Subsets[0]
		if len(now.Ports) > 0 && (len(servers) > 1 || time.Since(c.portTaken) < portPause) {
			subset.Ports = now.Ports
		}
		if sameServers(now.Addresses, servers) {
			subset.Addresses = now.Addresses
		}
	}
	if subset.Addresses == nil {
		for _, ip := range servers {
			subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: ip})
		}
	}
	next.Subsets = nil
	if len(servers) > 0 {
		next.Subsets = []corev1.EndpointSubset{subset}
	}
	return next
}

// sameServers reports whether list has the addresses in servers in any order, each as often as
// servers.
func sameServers(list []corev1.EndpointAddress, servers []string) bool {
	var ips []string
	for i := range list {
		ips = append(ips, list[i].IP)
	}
	servers = slices.Clone(servers)
	slices.Sort(ips)
	slices.Sort(servers)
	return slices.Equal(ips, servers)
}

// publishSlice writes the content of endpoints into the EndpointSlice, if it differs. It deletes a
// slice of the other address type and creates a new one, because the type is immutable.
func (c *KubernetesService) publishSlice(ctx context.Context, endpoints *corev1.Endpoints) error {
	next := sliceOf(endpoints)
	now, err := c.slices().Get(ctx, kubernetesName, meta.GetOptions{})
	switch {
	case meta.IsNotFound(err):
	case err != nil:
		return err
	case now.AddressType != next.AddressType:
		if err := c.slices().Delete(ctx, kubernetesName, meta.DeleteOptions{}); err != nil {
			return err
		}
	case scheme.Equal(&now.Endpoints, &next.Endpoints) && scheme.Equal(&now.Ports, &next.Ports) &&
		scheme.Equal(&now.Labels, &next.Labels):
		return nil
	default:
		now.Endpoints, now.Ports, now.Labels = next.Endpoints, next.Ports, next.Labels
		_, err = c.slices().Update(ctx, now, meta.UpdateOptions{})
		return err
	}
	if _, err = c.slices().Create(ctx, next, meta.CreateOptions{}); meta.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// sliceOf returns the EndpointSlice for endpoints that endpointsOf has made: they have one subset,
// with at least one address, or none. The address type is IPv6 if all addresses are IPv6; otherwise
// it is IPv4, and IPv6 addresses are left out, as in Kubernetes. The slice shares memory with
// endpoints.
func sliceOf(endpoints *corev1.Endpoints) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: meta.ObjectMeta{
			Name: kubernetesName, Namespace: "default",
			Labels: map[string]string{discoveryv1.LabelServiceName: kubernetesName},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	if len(endpoints.Subsets) == 0 {
		return s
	}
	subset := &endpoints.Subsets[0]
	for i := range subset.Ports {
		p := &subset.Ports[i]
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port, Protocol: &p.Protocol})
	}
	is6 := func(a corev1.EndpointAddress) bool {
		ip, err := netip.ParseAddr(a.IP)
		return err == nil && ip.Is6()
	}
	some4 := slices.ContainsFunc(subset.Addresses, func(a corev1.EndpointAddress) bool { return !is6(a) })
	if !some4 {
		s.AddressType = discoveryv1.AddressTypeIPv6
	}
	ready := true
	for _, a := range subset.Addresses {
		if is6(a) != some4 {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
				Addresses: []string{a.IP}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
				NodeName: a.NodeName, TargetRef: a.TargetRef,
			})
		}
	}
	return s
}

func (c *KubernetesService) services() client.Resource[*corev1.Service] {
	return client.For[*corev1.Service](c.Client, corev1.GroupVersion.WithResource("services")).In("default")
}

func (c *KubernetesService) endpoints() client.Resource[*corev1.Endpoints] {
	return client.For[*corev1.Endpoints](c.Client, corev1.GroupVersion.WithResource("endpoints")).In("default")
}

func (c *KubernetesService) slices() client.Resource[*discoveryv1.EndpointSlice] {
	return client.For[*discoveryv1.EndpointSlice](c.Client, discoveryv1.GroupVersion.WithResource("endpointslices")).
		In("default")
}
