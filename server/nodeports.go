package server

import (
	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/server/generic"
)

// openNodePorts says where node ports are kept, if there are services.
func openNodePorts(s *generic.Resources, a *ports.Allocator) error {
	if s.Store(services) == nil {
		return nil
	}
	records, err := generic.RecordsOf[*corev1.RangeAllocation](s, "RangeAllocation", ports.Resource, ports.Prefix)
	if err != nil {
		return err
	}
	a.Open(records)
	return nil
}
