package robust

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Service is a service as an answer or event showed it.
type Service struct {
	Key    string // namespace/name
	UID    string
	RV     int64
	Type   string
	Policy string   `json:",omitempty"` // on the families of its addresses
	IPs    []string `json:",omitempty"`
	Ports  []int    `json:",omitempty"` // node ports, in order, with the health check node port
}

func (s *Service) String() string {
	if s == nil {
		return "absent"
	}
	return fmt.Sprintf("{%s rv=%d %s %s %v %v uid=%.8s}", s.Key, s.RV, s.Type, s.Policy, s.IPs, s.Ports, s.UID)
}

// addressed and ported report whether the type of a service has addresses and node ports.
func (s *Service) addressed() bool { return s.Type != "ExternalName" }
func (s *Service) ported() bool    { return s.Type == "NodePort" || s.Type == "LoadBalancer" }

// sameHold reports whether two states have the same addresses and ports.
func sameHold(a, b *Service) bool {
	return slices.Equal(a.IPs, b.IPs) && slices.Equal(a.Ports, b.Ports)
}

func decodeService(data []byte) (*Service, error) {
	var o struct {
		Metadata meta `json:"metadata"`
		Spec     struct {
			Type       string   `json:"type"`
			Policy     string   `json:"ipFamilyPolicy"`
			ClusterIPs []string `json:"clusterIPs"`
			Ports      []struct {
				NodePort int `json:"nodePort"`
			} `json:"ports"`
			HealthPort int `json:"healthCheckNodePort"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	m := &o.Metadata
	s := &Service{Key: m.Namespace + "/" + m.Name, UID: m.UID, RV: m.revision(), Type: o.Spec.Type, Policy: o.Spec.Policy}
	for _, ip := range o.Spec.ClusterIPs {
		if addr, err := netip.ParseAddr(ip); err == nil { // "None" is no address
			s.IPs = append(s.IPs, addr.String())
		}
	}
	for _, p := range o.Spec.Ports {
		s.Ports = append(s.Ports, p.NodePort)
	}
	s.Ports = append(s.Ports, o.Spec.HealthPort)
	slices.Sort(s.Ports)
	s.Ports = slices.DeleteFunc(slices.Compact(s.Ports), func(p int) bool { return p == 0 })
	return s, nil
}

// ServiceOp is one request about a service.
type ServiceOp struct {
	Try
	Verb   Verb
	Key    string
	DryRun bool   `json:",omitempty"`
	Type   string `json:",omitempty"` // the requested type; "" is no change
	IP     string `json:",omitempty"`
	Port   int    `json:",omitempty"`
	Ports  int    `json:",omitempty"` // the highest number that it may allocate or release

	Got *Service `json:",omitempty"`
}

func (op *ServiceOp) String() string {
	return fmt.Sprintf("client %d, server %d, %v-%v: %s %s dryRun=%v type=%s ip=%s port=%d -> %s %d %s %v", op.Client, op.Server,
		op.Call, op.Return, op.Verb, op.Key, op.DryRun, op.Type, op.IP, op.Port, op.Result, op.Code, op.Error, op.Got)
}

// ServiceEvent is one event of the watch of all services.
type ServiceEvent struct {
	Type    string
	Service *Service
}

// Ledger holds the allocations of addresses (IPAddress objects) and ports that are stored outside
// of the services, with the services of that time.
type Ledger struct {
	Time      time.Duration
	Services  []*Service
	Addresses map[string]string // the key of the service for which each is taken
	Ports     []int             // the allocated node ports
}

// Notice is an Event object about a repair.
type Notice struct{ Reason, About, Text string }

// ServiceRecord is the record of a run with services.
type ServiceRecord struct {
	Ranges  []netip.Prefix // of addresses
	PortMin int
	PortMax int
	Kills   int
	Outages []Outage
	Ops     []*ServiceOp
	Before  []*Service     // the services before the first event
	Events  []ServiceEvent // all of them, in order
	Settled *Ledger        // after the last answer
	End     *Ledger        `json:",omitempty"` // after the repair; nil if the run did not wait for it
	Notices []Notice       `json:",omitempty"` // at the end
	Trouble []string
}

// summary returns the counts of a run, for the log.
func (rec *ServiceRecord) summary() string {
	made, results := map[string]int{}, map[Result]int{}
	for _, op := range rec.Ops {
		results[op.Result]++
	}
	for _, e := range rec.Events {
		if e.Type == added {
			made[e.Service.Type]++
		}
	}
	addresses, ports := rec.Settled.leaks()
	return fmt.Sprintf("%d kills, %d operations %v, %d events, made %v; leaked until the repair: %d addresses, %d ports",
		rec.Kills, len(rec.Ops), results, len(rec.Events), made, len(addresses), len(ports))
}
