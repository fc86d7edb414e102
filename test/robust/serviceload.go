package robust

import (
	"context"
	"fmt"
	"net/netip"
	"time"
)

// serviceClient makes, changes and deletes services with names of its own. One goroutine uses it.
type serviceClient struct {
	*caller
	run   *serviceRun
	slots []slot
}

// slot is a name with the known state of its service. Names are used again.
type slot struct {
	name   string
	known  *Service // nil: there is none
	unsure bool     // an answer was lost
}

const servicePath = "/api/v1/namespaces/" + namespace + "/services"

// work does random operations until ctx ends. Then it reads the outcome of requests without an
// answer.
func (c *serviceClient) work(ctx context.Context) {
	for ctx.Err() == nil {
		c.step(&c.slots[c.rng.IntN(len(c.slots))])
	}
	end := time.Now().Add(patience)
	for i := range c.slots {
		for s := &c.slots[i]; s.unsure && time.Now().Before(end); {
			c.get(s)
		}
	}
}

// step does a random operation on one service.
func (c *serviceClient) step(s *slot) {
	switch n := c.rng.IntN(100); {
	case s.unsure:
		c.get(s)
	case s.known == nil:
		c.create(s)
	case n < 45:
		c.remove(s)
	case n < 70:
		c.retype(s)
	case n < 85 && s.known.addressed():
		c.refamily(s)
	case n < 95:
		c.do(s, &ServiceOp{Verb: merge}, tree{"metadata": tree{"labels": tree{"n": fmt.Sprint(n)}}})
	default:
		c.get(s)
	}
}

// do performs an operation with a body, and updates the slot from the answer.
func (c *serviceClient) do(s *slot, op *ServiceOp, body any) {
	op.Key = namespace + "/" + s.name
	if s.known != nil {
		op.Ports += len(s.known.Ports)
	}
	q := request{name: s.name, body: body, query: map[string][]string{}}
	switch op.Verb {
	case create:
		q.method, q.name, q.contentType = "POST", "", asJSON
	case merge:
		q.method, q.contentType = "PATCH", asMergePatch
	case remove:
		q.method = "DELETE"
	case get:
		q.method = "GET"
	}
	if op.DryRun {
		q.query.Set("dryRun", "All")
	}
	data := c.try(&op.Try, servicePath, q)
	if op.Result == acked && op.Verb != remove {
		got, err := decodeService(data)
		if err != nil {
			c.trouble("not a service: %v: %.300q", err, data)
		}
		op.Got = got
	}
	c.run.keep(op)
	switch {
	case op.Result == notFound:
		s.known, s.unsure = nil, false
	case op.DryRun || op.Result == unsent || op.Result == invalid:
	case op.Result == acked:
		s.known, s.unsure = op.Got, false
	default:
		s.unsure = true
	}
}

func (c *serviceClient) get(s *slot) { c.do(s, &ServiceOp{Verb: get}, nil) }

func (c *serviceClient) remove(s *slot) {
	c.do(s, &ServiceOp{Verb: remove, DryRun: c.rng.IntN(10) == 0}, nil)
}

// types are the types of services. The last two have node ports.
var types = []string{"ClusterIP", "ExternalName", "NodePort", "LoadBalancer"}

// newType chooses a type. With the probability PortShare it has node ports.
func (c *serviceClient) newType() string {
	if c.rng.Float64() < c.run.PortShare {
		return types[2+c.rng.IntN(2)]
	}
	return types[c.rng.IntN(8)/7] // mostly ClusterIP
}

// ofType returns the part of a spec that a type needs.
func ofType(name string) tree {
	spec := tree{"type": name, "externalName": nil}
	switch name {
	case "ExternalName":
		spec["externalName"] = "elsewhere.example"
	case "LoadBalancer":
		spec["externalTrafficPolicy"] = "Local"
	}
	return spec
}

// portsOf returns the highest number of node ports that a service of a type has.
func portsOf(name string) int {
	return map[string]int{"NodePort": 2, "LoadBalancer": 3}[name]
}

func (c *serviceClient) create(s *slot) {
	op := &ServiceOp{Verb: create, DryRun: c.rng.IntN(10) == 0, Type: c.newType()}
	spec := ofType(op.Type)
	ports := []tree{{"name": "a", "port": 80, "protocol": "TCP"}}
	switch c.rng.IntN(4) {
	case 0:
		ports = append(ports, tree{"name": "b", "port": 81, "protocol": "TCP"})
	case 1: // on the same node port
		ports = append(ports, tree{"name": "b", "port": 80, "protocol": "UDP"})
	}
	spec["ports"] = ports
	like := &Service{Type: op.Type}
	if like.addressed() {
		spec["ipFamilyPolicy"] = c.policy()
		if c.rng.IntN(8) == 0 {
			op.IP = c.address()
			spec["clusterIP"] = op.IP
		}
	}
	if like.ported() && c.rng.IntN(4) == 0 {
		op.Port = c.run.PortMin + c.rng.IntN(c.run.PortMax-c.run.PortMin+1)
		ports[0]["nodePort"] = op.Port
	}
	op.Ports = portsOf(op.Type)
	c.do(s, op, tree{"apiVersion": "v1", "kind": "Service", "metadata": tree{"name": s.name}, "spec": spec})
}

// address picks an address of the first range: in half of the cases one of a few, otherwise any.
func (c *serviceClient) address() string {
	r := c.run.Ranges[0]
	most := 1<<(32-r.Bits()) - 2
	if c.rng.IntN(2) == 0 {
		most = 24
	}
	addr := r.Addr().As4()
	n := int(addr[2])<<8 + int(addr[3]) + 1 + c.rng.IntN(most)
	addr[2], addr[3] = byte(n>>8), byte(n)
	return netip.AddrFrom4(addr).String()
}

func (c *serviceClient) policy() string {
	return []string{"SingleStack", "PreferDualStack", "RequireDualStack"}[c.rng.IntN(3)]
}

func (c *serviceClient) retype(s *slot) {
	op := &ServiceOp{Verb: merge, DryRun: c.rng.IntN(10) == 0, Type: c.newType()}
	op.Ports = portsOf(op.Type)
	c.do(s, op, tree{"spec": ofType(op.Type)})
}

// refamily changes the policy on families of a service, which adds or removes its second address.
func (c *serviceClient) refamily(s *slot) {
	c.do(s, &ServiceOp{Verb: merge, DryRun: c.rng.IntN(10) == 0}, tree{"spec": tree{"ipFamilyPolicy": c.policy()}})
}
