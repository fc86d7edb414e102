package server

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/server/controller"
	serviceloops "github.com/coracle-project/coracle/server/loops/services"
)

// defaultServiceRange is where the addresses of services come from unless somebody says otherwise.
const defaultServiceRange = "10.0.0.0/24"

// leastServiceBits is how many bits the addresses of the first range must differ in at least.
const leastServiceBits = 3

// fixedServiceBits is how many bits the addresses of the first range must share at least.
// kube-apiserver takes a larger range for one without addresses.
const fixedServiceBits = 2

func (c ServicesConfig) complete() ServicesConfig {
	if len(c.ClusterIPRanges) == 0 {
		c.ClusterIPRanges = []string{defaultServiceRange}
	}
	setDefault(&c.NodePortRange, "30000-32767")
	return c
}

// nodePorts reads the range of node ports.
func (c ServicesConfig) nodePorts() (ports.Span, error) {
	span, err := ports.ParseSpan(c.NodePortRange)
	if err != nil {
		return ports.Span{}, fmt.Errorf("service node port range: %w", err)
	}
	if span.Contains(0) { // a service whose node port is 0 has none
		return ports.Span{}, fmt.Errorf("service node port range: %v must be between 1 and 65535, inclusive: 0 is no node port", span)
	}
	return span, nil
}

// ranges reads the ranges of cluster IPs. Errors are worded as kube-apiserver's.
func (c ServicesConfig) ranges() ([]netip.Prefix, error) {
	if len(c.ClusterIPRanges) > 2 {
		return nil, errors.New("--service-cluster-ip-range must not contain more than two entries")
	}
	var list []netip.Prefix
	for i, text := range c.ClusterIPRanges {
		p, wrong := names.ParseCIDR(text, false)
		switch {
		case len(wrong) > 0 && i == 0:
			return nil, errors.New("service-cluster-ip-range[0] is not a valid cidr")
		case len(wrong) > 0:
			return nil, fmt.Errorf("service-cluster-ip-range[%d] is not an ip net", i)
		case i == 0 && (p.Addr().BitLen()-p.Bits() < leastServiceBits || p.Bits() < fixedServiceBits):
			return nil, fmt.Errorf("error determining service IP ranges for primary service cidr: "+
				"the service cluster IP range must be at least %d IP addresses", 1<<leastServiceBits)
		}
		list = append(list, p.Masked())
	}
	if len(list) == 2 && list[0].Addr().Is4() == list[1].Addr().Is4() {
		return nil, errors.New("--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family")
	}
	return list, nil
}

// addServiceAddresses adds the hooks that keep the ranges and the addresses of services as they should be. They are part of the
// API, and run on every server whatever controllers are selected.
func (s *Server) addServiceAddresses(c *completed) error {
	switch {
	case s.Store(services) == nil:
		return nil
	case s.Store(serviceCIDRs) == nil || s.Store(ipAddresses) == nil:
		return s.addServiceRepairs(s.nodePortRepair())
	}
	ranges, err := c.API.Services.ranges()
	if err != nil {
		return err
	}
	addresses := s.addressRepair(core.Config{ServiceRanges: ranges, Stores: s}, max(c.Limits.RequestTimeout, leastRepairGrace))
	if err := s.addServiceRepairs(addresses, s.nodePortRepair()); err != nil {
		return err
	}
	log := s.loopLog("kubernetes-service-cidr-controller")
	d := &serviceloops.DefaultServiceCIDR{
		Client: s.client, Name: core.DefaultServiceCIDR, Log: log,
		Events: controller.NewRecorder(s.client, "kubernetes-service-cidr-controller", log),
	}
	for _, r := range ranges {
		d.CIDRs = append(d.CIDRs, r.String())
	}
	return s.AddPostStartHook(Hook{Name: "start-kubernetes-service-cidr-controller", Run: func(ctx context.Context, s *Server) error {
		d.Ensure(ctx)
		s.life.controllers.Run(d.Run)
		return nil
	}})
}
