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

// KubernetesService keeps the service "kubernetes" in the namespace default, by which clients
// inside of a cluster find its API servers: it makes the service if it is missing, and sees to it
// that endpoints and endpoint slice name the servers that live.
type KubernetesService struct {
	Client *client.Client
	// ClusterIP is the address of the service.
	ClusterIP netip.Addr
	// NodePort is the port of all nodes that leads to the service as well; 0 for none.
	NodePort int32
	// Port is where the servers serve.
	Port int32
	// Servers returns the addresses of those that live; nil: endpoints are left to others.
	Servers func(ctx context.Context) ([]string, error)
	// Changes names anything when that may have changed; it may be nil.
	Changes controller.Source
	// Slices says that there are endpoint slices.
	Slices bool
	Log    *zap.Logger

	portTaken time.Time // when this server last put its own port in the place of another
}

// portPause is how long a server leaves the port of the endpoints to others after it has put its
// own there. Two that serve on different ports of one address would else write over each other all
// the time.
const portPause = 10 * time.Second

// kubernetesName is the name of service, endpoints and slice.
const kubernetesName = "kubernetes"

// Run works until ctx ends.
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
		if meta.IsConflict(err) { // another server was faster, and its change is told to this one
			err = nil
		}
		return max(portPause-time.Since(c.portTaken), 0), err
	}
	controller.Loop{Source: controller.Join(sources...), Reconcile: reconcile, Log: c.Log}.Run(ctx)
}

// errNoServers keeps the endpoints as they are: this server lives.
var errNoServers = errors.New("no server is known to live")

// Reconcile brings service and endpoints to where they should be.
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

// Withdraw takes this server, which is not among Servers any more, off the endpoints.
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

// ensureService makes the service. One that is there is left as it is.
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
			Name: kubernetesName, Namespace: "default", Labels: map[string]string{"component": "apiserver", "provider": kubernetesName},
		},
		Spec: corev1.ServiceSpec{
			Ports: []corev1.ServicePort{{
				Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: meta.IntOrString{IntVal: c.Port}, NodePort: c.NodePort,
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

// publish writes servers into the endpoints, if they do not say so yet.
func (c *KubernetesService) publish(ctx context.Context, old *corev1.Endpoints, servers []string) (*corev1.Endpoints, error) {
	next := c.endpointsOf(old, servers)
	if scheme.Equal(old, next) {
		return old, nil
	}
	c.Log.Info("the servers behind the service kubernetes have changed", zap.Strings("addresses", servers))
	if len(old.Subsets) == 1 && len(next.Subsets) == 1 && !scheme.Equal(&old.Subsets[0].Ports, &next.Subsets[0].Ports) {
		c.portTaken = time.Now()
	}
	return c.endpoints().Update(ctx, next, meta.UpdateOptions{})
}

// endpointsOf returns the endpoints as they should be, from those that there are, which may be nil.
// Where several servers live, which must serve on one port, the port stays as it is.
func (c *KubernetesService) endpointsOf(old *corev1.Endpoints, servers []string) *corev1.Endpoints {
	next := &corev1.Endpoints{ObjectMeta: meta.ObjectMeta{Name: kubernetesName, Namespace: "default"}}
	if old != nil {
		next = scheme.Copy(old).(*corev1.Endpoints)
	}
	if next.Labels == nil {
		next.Labels = map[string]string{}
	}
	next.Labels[discoveryv1.LabelSkipMirror] = "true" // whoever mirrors endpoints leaves the slice to us
	subset := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: "https", Port: c.Port, Protocol: corev1.ProtocolTCP}}}
	if len(next.Subsets) == 1 {
		now := &next.Subsets[0]
		if len(now.Ports) > 0 && (len(servers) > 1 || time.Since(c.portTaken) < portPause) {
			subset.Ports = now.Ports
		}
		if sameServers(now.Addresses, servers) {
			subset.Addresses = now.Addresses // in whichever order another server has put them
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

// sameServers reports whether a list of addresses names servers, each once.
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

// publishSlice makes the endpoint slice say what endpoints say.
func (c *KubernetesService) publishSlice(ctx context.Context, endpoints *corev1.Endpoints) error {
	next := sliceOf(endpoints)
	now, err := c.slices().Get(ctx, kubernetesName, meta.GetOptions{})
	switch {
	case meta.IsNotFound(err):
	case err != nil:
		return err
	case now.AddressType != next.AddressType: // it cannot be changed
		if err := c.slices().Delete(ctx, kubernetesName, meta.DeleteOptions{}); err != nil {
			return err
		}
	case scheme.Equal(&now.Endpoints, &next.Endpoints) && scheme.Equal(&now.Ports, &next.Ports) && scheme.Equal(&now.Labels, &next.Labels):
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

// sliceOf is the slice of endpoints: of IPv6 if all addresses are, else without those.
func sliceOf(endpoints *corev1.Endpoints) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: meta.ObjectMeta{
			Name: kubernetesName, Namespace: "default", Labels: map[string]string{discoveryv1.LabelServiceName: kubernetesName},
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
				Addresses: []string{a.IP}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}, NodeName: a.NodeName, TargetRef: a.TargetRef,
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
	return client.For[*discoveryv1.EndpointSlice](c.Client, discoveryv1.GroupVersion.WithResource("endpointslices")).In("default")
}
