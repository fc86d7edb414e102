package addresses_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/storage"
)

// portServer is a server with the node ports 30000 to 30031, of which 16 are reserved. Its record
// exists.
type portServer struct {
	*server.Server
	t        *testing.T
	services client.Resource[*corev1.Service]
	ports    *ports.Allocator // an allocator of the same record, which is not the server's
	repairs  *addresses.PortRepair
	logs     *observer.ObservedLogs
}

func newPortServer(t *testing.T) *portServer {
	t.Helper()
	s := newInProcess(t, func(c *server.Config) {
		c.API.Services.NodePortRange, c.Controllers = "30000-30031", []string{}
	}).Server
	core, logs := observer.New(zap.WarnLevel)
	p := &portServer{Server: s, t: t, ports: ports.New(ports.Span{Base: 30000, Size: 32}), logs: logs}
	if err := addresses.OpenNodePorts(s.Resources, p.ports); err != nil {
		t.Fatal(err)
	}
	p.services = client.For[*corev1.Service](s.Client(), corev1.GroupVersion.WithResource("services")).In("ns")
	p.repairs = &addresses.PortRepair{
		Client: s.Client(), Ports: p.ports, Events: controller.NewRecorder(s.Client(), "test", zap.NewNop()), Log: zap.New(core),
	}
	p.repair()
	return p
}

func (p *portServer) repair() {
	p.t.Helper()
	if err := p.repairs.Pass(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// taken returns the ports that are taken in the record.
func (p *portServer) taken() []int {
	p.t.Helper()
	s, _, err := p.ports.Load(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return slices.Collect(s.All())
}

// wantTaken compares the ports in the record with the wanted ones.
func (p *portServer) wantTaken(want ...int) {
	p.t.Helper()
	slices.Sort(want)
	if got := p.taken(); !slices.Equal(got, want) {
		p.t.Errorf("taken: got %v, want %v", got, want)
	}
}

// change changes the record, as another server does.
func (p *portServer) change(f func(s *ports.Set) error) {
	p.t.Helper()
	if err := p.ports.Change(p.t.Context(), f); err != nil {
		p.t.Fatal(err)
	}
}

func (p *portServer) create(svc *corev1.Service) *corev1.Service {
	p.t.Helper()
	svc, err := p.services.Create(p.t.Context(), svc, meta.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return svc
}

func (p *portServer) update(svc *corev1.Service) *corev1.Service {
	p.t.Helper()
	svc, err := p.services.Update(p.t.Context(), svc, meta.UpdateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return svc
}

// service returns a service with ports 80, 81, and so on. Each has a node port of nodePorts, 0 for
// any. These tests do not look at its cluster IP.
func service(name string, typ corev1.ServiceType, nodePorts ...int32) *corev1.Service {
	svc := &corev1.Service{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Type: typ}}
	for i, port := range nodePorts {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", i), Port: int32(80 + i), NodePort: port})
	}
	return svc
}

// balancer returns a load balancer with external traffic policy Local, which has a node port for
// health checks.
func balancer(name string, healthPort int32, nodePorts ...int32) *corev1.Service {
	svc := service(name, corev1.ServiceTypeLoadBalancer, nodePorts...)
	svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	svc.Spec.HealthCheckNodePort = healthPort
	return svc
}

// nodePortsOf returns all node ports of a service.
func nodePortsOf(svc *corev1.Service) (list []int) {
	for _, p := range svc.Spec.Ports {
		list = append(list, int(p.NodePort))
	}
	if port := svc.Spec.HealthCheckNodePort; port != 0 {
		list = append(list, int(port))
	}
	return list
}

func TestNodePorts(t *testing.T) {
	p := newPortServer(t)
	svc := p.create(service("a", corev1.ServiceTypeNodePort, 0, 30005))
	if got := nodePortsOf(svc); got[0] < 30016 || got[0] > 30031 || got[1] != 30005 {
		t.Errorf("node ports: got %v, want one from 30016 to 30031, and 30005", got)
	}
	p.wantTaken(nodePortsOf(svc)...)

	t.Run("kept by an update that leaves them out", func(t *testing.T) {
		next := scheme.Copy(svc).(*corev1.Service)
		next.ResourceVersion, next.Labels = "", map[string]string{"a": "b"}
		next.Spec.Ports[0].NodePort, next.Spec.Ports[1].NodePort = 0, 0
		if got := p.update(next); !slices.Equal(nodePortsOf(got), nodePortsOf(svc)) {
			t.Errorf("got %v, want %v", nodePortsOf(got), nodePortsOf(svc))
		}
		p.wantTaken(nodePortsOf(svc)...)
	})
	t.Run("exchanged", func(t *testing.T) {
		next := scheme.Copy(svc).(*corev1.Service)
		next.ResourceVersion = ""
		next.Spec.Ports[1].NodePort = 30006
		svc = p.update(next)
		p.wantTaken(nodePortsOf(svc)...)
	})
	t.Run("released with the type", func(t *testing.T) {
		next := scheme.Copy(svc).(*corev1.Service)
		next.ResourceVersion, next.Spec.Type = "", corev1.ServiceTypeClusterIP
		if got := nodePortsOf(p.update(next)); !slices.Equal(got, []int{0, 0}) {
			t.Errorf("got %v, want none", got)
		}
		p.wantTaken()
	})
	t.Run("taken with the type", func(t *testing.T) {
		next := scheme.Copy(svc).(*corev1.Service)
		next.ResourceVersion = ""
		svc = p.update(next)
		p.wantTaken(nodePortsOf(svc)...)
	})
	t.Run("released with the service", func(t *testing.T) {
		if err := p.services.Delete(t.Context(), "a", meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		p.wantTaken()
	})
}

// TestNodePortOfTwoProtocols: two ports with the same number and different protocols share a node
// port.
func TestNodePortOfTwoProtocols(t *testing.T) {
	p := newPortServer(t)
	svc := service("dns", corev1.ServiceTypeNodePort, 0, 0)
	svc.Spec.Ports[1].Port, svc.Spec.Ports[1].Protocol = 80, corev1.ProtocolUDP
	svc = p.create(svc)
	got := nodePortsOf(svc)
	if got[0] != got[1] {
		t.Errorf("node ports: got %v, want one", got)
	}
	p.wantTaken(got[0])
	p.repair()
	if p.logs.Len() != 0 {
		t.Errorf("the repair found something wrong: %v", p.logs.All())
	}
	svc.Spec.Ports = svc.Spec.Ports[:1]
	p.update(svc)
	p.wantTaken(got[0])
}

func TestRefusedNodePorts(t *testing.T) {
	p := newPortServer(t)
	p.create(service("a", corev1.ServiceTypeNodePort, 30001))
	for _, tt := range []struct {
		name string
		svc  *corev1.Service
		want string
	}{
		{"taken", service("b", corev1.ServiceTypeNodePort, 0, 30001),
			`Service "b" is invalid: spec.ports[1].nodePort: Invalid value: 30001: provided port is already allocated`},
		{"out of range", service("b", corev1.ServiceTypeNodePort, 30002, 29999), `Service "b" is invalid: spec.ports[1].nodePort: Invalid value: 29999: ` +
			"provided port is not in the valid range. The range of valid ports is 30000-30031"},
		{"twice", service("b", corev1.ServiceTypeNodePort, 30002, 30002),
			`Service "b" is invalid: spec.ports[1].nodePort: Invalid value: 30002: provided port is already allocated`},
		{"for health checks", balancer("b", 30001, 0),
			"Internal error occurred: failed to allocate requested HealthCheck NodePort 30001: provided port is already allocated"},
		{"too many", service("b", corev1.ServiceTypeNodePort, make([]int32, 32)...),
			"Internal error occurred: failed to allocate a nodePort: range is full"},
		{"invalid otherwise", service("b", corev1.ServiceTypeNodePort, 0, -1), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := p.services.Create(t.Context(), tt.svc, meta.CreateOptions{})
			if err == nil || tt.want != "" && err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			p.wantTaken(30001)
		})
	}
	b := p.create(service("b", corev1.ServiceTypeNodePort, 30002))
	b.Spec.Ports[0].NodePort = 30001
	_, err := p.services.Update(t.Context(), b, meta.UpdateOptions{})
	want := `Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated`
	if err == nil || err.Error() != want {
		t.Errorf("update: got %v, want %s", err, want)
	}
	b.Spec.Ports[0].NodePort = 0
	b.Spec.Ports = append(b.Spec.Ports, b.Spec.Ports[0]) // both get the old node port of their name
	_, err = p.services.Update(t.Context(), b, meta.UpdateOptions{})
	if want := "duplicate nodePort: {TCP 30002}"; err == nil || err.Error() != want {
		t.Errorf("a port repeated: got %v, want %s", err, want)
	}
	p.wantTaken(30001, 30002)
}

func TestHealthCheckNodePort(t *testing.T) {
	p := newPortServer(t)
	svc := p.create(balancer("a", 0, 0))
	if len(nodePortsOf(svc)) != 2 {
		t.Fatalf("got %v, want a node port and one for health checks", nodePortsOf(svc))
	}
	p.wantTaken(nodePortsOf(svc)...)

	next := scheme.Copy(svc).(*corev1.Service)
	next.Spec.HealthCheckNodePort = 0
	svc = p.update(next)
	p.wantTaken(nodePortsOf(svc)...)

	svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	svc = p.update(svc)
	if svc.Spec.HealthCheckNodePort != 0 {
		t.Errorf("got %d, want none", svc.Spec.HealthCheckNodePort)
	}
	p.wantTaken(nodePortsOf(svc)...)

	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 30009
	svc = p.update(svc)
	p.wantTaken(nodePortsOf(svc)...)
	if err := p.services.Delete(t.Context(), "a", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.wantTaken()
}

// TestLoadBalancerWithoutNodePorts: a load balancer that does not allocate node ports has only the
// node ports that it asks for, and keeps them.
func TestLoadBalancerWithoutNodePorts(t *testing.T) {
	p := newPortServer(t)
	svc := service("a", corev1.ServiceTypeLoadBalancer, 0, 30003)
	svc.Spec.AllocateLoadBalancerNodePorts = new(bool)
	svc = p.create(svc)
	if got := nodePortsOf(svc); !slices.Equal(got, []int{0, 30003}) {
		t.Errorf("got %v, want 30003 alone", got)
	}
	p.wantTaken(30003)
	*svc.Spec.AllocateLoadBalancerNodePorts = true
	svc = p.update(svc)
	p.wantTaken(nodePortsOf(svc)...)
	if len(p.taken()) != 2 {
		t.Errorf("got %v, want two node ports", p.taken())
	}
	held := nodePortsOf(svc)
	*svc.Spec.AllocateLoadBalancerNodePorts = false
	if svc = p.update(svc); !slices.Equal(nodePortsOf(svc), held) {
		t.Errorf("needed no more: got %v, want %v", nodePortsOf(svc), held)
	}
	if err := p.services.Delete(t.Context(), "a", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.wantTaken()
}

func TestNodePortsOfDryRun(t *testing.T) {
	p := newPortServer(t)
	p.create(service("a", corev1.ServiceTypeNodePort, 30001))
	dry := meta.CreateOptions{DryRun: []string{"All"}}
	svc, err := p.services.Create(t.Context(), service("b", corev1.ServiceTypeNodePort, 0, 0), dry)
	if err != nil || !slices.Equal(nodePortsOf(svc), []int{32769, 32770}) {
		t.Errorf("got %v, %v, want numbers that nobody can have", nodePortsOf(svc), err)
	}
	_, err = p.services.Create(t.Context(), service("b", corev1.ServiceTypeNodePort, 30001), dry)
	if err == nil || !strings.Contains(err.Error(), "provided port is already allocated") {
		t.Errorf("a port that is taken: got %v", err)
	}
	if err := p.services.Delete(t.Context(), "a", meta.DeleteOptions{DryRun: []string{"All"}}); err != nil {
		t.Error(err)
	}
	p.wantTaken(30001)
}

// TestNodePortRepair: a server may die between its write of the record and that of the Service, in
// either order. The repair completes what is missing.
func TestNodePortRepair(t *testing.T) {
	p := newPortServer(t)
	p.create(service("lost", corev1.ServiceTypeNodePort, 30001))
	p.create(service("kept", corev1.ServiceTypeNodePort, 30002))
	p.change(func(s *ports.Set) error {
		s.Release(30001)
		return s.Take(30007) // no service has it
	})
	p.repair()
	p.wantTaken(30001, 30002, 30007)
	p.repair()
	p.wantTaken(30001, 30002, 30007)
	p.repair()
	p.wantTaken(30001, 30002)
	if n := p.logs.FilterMessage("released node ports that nobody had").Len(); n != 1 {
		t.Errorf("the log has %d lines about released ports, want one", n)
	}
	p.wantEvents("PortNotAllocated: Port 30001 is not allocated; repairing")

	// If a service has had the port in between, the count of passes begins again.
	p.change(func(s *ports.Set) error { return s.Take(30008) })
	p.repair()
	p.repair()
	p.change(func(s *ports.Set) error { s.Release(30008); return nil })
	p.create(service("late", corev1.ServiceTypeNodePort, 30008))
	p.repair()
	p.wantTaken(30001, 30002, 30008)

	// Two services have the same port, because the record lacked it when the second one was
	// created.
	p.change(func(s *ports.Set) error { s.Release(30002); return nil })
	p.create(service("double", corev1.ServiceTypeNodePort, 30002))
	p.repair()
	p.wantTaken(30001, 30002, 30008)
	p.wantEvents("PortAlreadyAllocated: Port 30002 was assigned to multiple services; please recreate service",
		"PortNotAllocated: Port 30001 is not allocated; repairing")
}

// TestNodePortsOfUnreadableServices: while a service cannot be read, no port is released, because
// that service may have it.
func TestNodePortsOfUnreadableServices(t *testing.T) {
	p := newPortServer(t)
	p.create(service("hidden", corev1.ServiceTypeNodePort, 30001))
	p.create(service("kept", corev1.ServiceTypeNodePort, 30002))
	const key = "/registry/services/specs/ns/hidden"
	if _, err := p.Backends().Main().Put(t.Context(), key, []byte(`{"kind":"Strange","apiVersion":"v7"}`), storage.Pre{}, 0); err != nil {
		t.Fatal(err)
	}
	p.change(func(s *ports.Set) error { s.Release(30002); return nil })
	for range 2 * addresses.LeakRounds {
		p.repair()
	}
	p.wantTaken(30001, 30002)
	if _, err := p.Backends().Main().Delete(t.Context(), key, storage.Pre{}); err != nil {
		t.Fatal(err)
	}
	for range addresses.LeakRounds {
		p.wantTaken(30001, 30002)
		p.repair()
	}
	p.wantTaken(30002)
}

// wantEvents compares all events, in sorted order.
func (p *portServer) wantEvents(want ...string) {
	p.t.Helper()
	events := client.For[*corev1.Event](p.Client(), corev1.GroupVersion.WithResource("events")).In("ns")
	list, err := events.List(p.t.Context(), meta.ListOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	var got []string
	for _, ev := range list.Items {
		got = append(got, ev.Reason+": "+ev.Message)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		p.t.Errorf("events:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestNodePortsOfAnotherRange: a server with another range than the record's takes the record over.
func TestNodePortsOfAnotherRange(t *testing.T) {
	p := newPortServer(t)
	p.create(service("in", corev1.ServiceTypeNodePort, 30004))
	p.create(service("out", corev1.ServiceTypeNodePort, 30020))
	p.change(func(s *ports.Set) error { return s.Take(30006) }) // no service has it, and both ranges contain it
	next := ports.New(ports.Span{Base: 30000, Size: 10})
	if err := addresses.OpenNodePorts(p.Resources, next); err != nil {
		t.Fatal(err)
	}
	p.repairs.Ports = next
	p.repair()
	p.wantTaken(30004, 30006)
	p.wantEvents("PortOutOfRange: Port 30020 is not within the port range 30000-30009; please recreate service")
}
