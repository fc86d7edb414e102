package server

import (
	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// openNodePorts says where node ports are kept, if there are services.
func (s *resources) openNodePorts(a *ports.Allocator) error {
	if s.Store(services) == nil {
		return nil
	}
	records, err := recordsOf[*corev1.RangeAllocation](s, "RangeAllocation", ports.Resource, ports.Prefix)
	if err != nil {
		return err
	}
	a.Open(records)
	s.nodePorts = a
	return nil
}
