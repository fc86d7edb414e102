package addresses

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"

	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/scheme/names"
)

// Config sets the ranges of cluster IPs and node ports, and the Service "kubernetes".
type Config struct {
	// ClusterIPRanges are one or two ranges of cluster IPs, of different IP families; default
	// 10.0.0.0/24. The first range decides the family of Services that name none. The ranges become
	// the ServiceCIDR "kubernetes"; further ServiceCIDRs add ranges to a running cluster.
	// (--service-cluster-ip-range)
	ClusterIPRanges []string
	// NodePortRange is the range of node ports, default "30000-32767". "30000+2767" means the same.
	// (--service-node-port-range)
	NodePortRange string
	// KubernetesNodePort, if it is not 0, makes the Service "kubernetes" one of type NodePort with
	// this port, which must be in NodePortRange. (--kubernetes-service-node-port)
	KubernetesNodePort int
	// NoKubernetesEndpoints says that this server does not write the endpoints of the Service
	// "kubernetes". (--endpoint-reconciler-type=none)
	NoKubernetesEndpoints bool
}

const (
	defaultServiceRange  = "10.0.0.0/24"
	defaultNodePortRange = "30000-32767"

	// leastServiceBits is the least number of bits after the prefix of the first range: the range
	// has 8 addresses or more.
	leastServiceBits = 3
	// fixedServiceBits is the least prefix length of the first range. kube-apiserver computes 0
	// addresses for a larger range, and refuses it.
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

// NodePorts parses NodePortRange.
func (c *Config) NodePorts() (ports.Span, error) {
	span, err := ports.ParseSpan(c.NodePortRange)
	if err != nil {
		return ports.Span{}, fmt.Errorf("service node port range: %w", err)
	}
	if span.Contains(0) { // in a Service, node port 0 means none
		return ports.Span{}, fmt.Errorf("service node port range: "+
			"%v must be between 1 and 65535, inclusive: 0 is no node port", span)
	}
	return span, nil
}

// Ranges parses ClusterIPRanges: one range, or two of different families. The errors have the words
// of kube-apiserver.
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
