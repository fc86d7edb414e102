package addresses

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"

	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/scheme/names"
)

// Config says what services are given.
type Config struct {
	// ClusterIPRanges are one or two ranges that cluster IPs come from, of different families;
	// default 10.0.0.0/24. Services that name no family have that of the first. They become the
	// ServiceCIDR "kubernetes"; more can be added to a running cluster by ServiceCIDRs of one's
	// own. (--service-cluster-ip-range)
	ClusterIPRanges []string
	// NodePortRange is what node ports are allocated from, default "30000-32767"; "30000+2767" is
	// the same. (--service-node-port-range)
	NodePortRange string
	// KubernetesNodePort makes the service "kubernetes" one of the type NodePort, at this port of
	// the range; 0 does not. (--kubernetes-service-node-port)
	KubernetesNodePort int
	// NoKubernetesEndpoints leaves the endpoints of the service "kubernetes" to others.
	// (--endpoint-reconciler-type=none)
	NoKubernetesEndpoints bool
}

const (
	defaultServiceRange  = "10.0.0.0/24"
	defaultNodePortRange = "30000-32767"

	// leastServiceBits is how many bits the addresses of the first range must differ in at least.
	leastServiceBits = 3
	// fixedServiceBits is how many bits the addresses of the first range must share at least: to
	// kube-apiserver, a larger range has no addresses.
	fixedServiceBits = 2
)

// Complete returns c with its defaults.
func (c Config) Complete() Config {
	if len(c.ClusterIPRanges) == 0 {
		c.ClusterIPRanges = []string{defaultServiceRange}
	}
	c.NodePortRange = cmp.Or(c.NodePortRange, defaultNodePortRange)
	return c
}

// Validate returns all that is wrong with a configuration that is complete.
func (c *Config) Validate() error {
	_, rangesErr := c.Ranges()
	span, portsErr := c.NodePorts()
	if port := c.KubernetesNodePort; portsErr == nil && port != 0 && !span.Contains(port) {
		portsErr = fmt.Errorf("kubernetes service node port range %v doesn't contain %v", span, port)
	}
	return errors.Join(rangesErr, portsErr)
}

// NodePorts reads the range of node ports.
func (c *Config) NodePorts() (ports.Span, error) {
	span, err := ports.ParseSpan(c.NodePortRange)
	if err != nil {
		return ports.Span{}, fmt.Errorf("service node port range: %w", err)
	}
	if span.Contains(0) { // a service whose node port is 0 has none
		return ports.Span{}, fmt.Errorf("service node port range: "+
			"%v must be between 1 and 65535, inclusive: 0 is no node port", span)
	}
	return span, nil
}

// Ranges reads the ranges of cluster IPs: one, or two of different families. Errors are worded as
// those of kube-apiserver.
func (c *Config) Ranges() ([]netip.Prefix, error) {
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
		return nil, errors.New("--service-cluster-ip-range[0] and --service-cluster-ip-range[1] " +
			"must be of different IP family")
	}
	return list, nil
}
