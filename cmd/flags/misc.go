package flags

import (
	"strings"
	"time"
)

// misc is what flags under no heading say in a way of their own.
type misc struct {
	clusterIPRange string
}

func (o *Options) bindMisc(s *section) {
	c := &o.config
	s.BoolVar(&c.API.AllowPrivileged, "allow-privileged", false, "let containers of pods be privileged")
	s.DurationVar(&c.API.EventTTL, "event-ttl", time.Hour, "how long events are kept")
	s.StringVar(&c.Authentication.ServiceAccounts.SigningKeyFile, "service-account-signing-key-file", "", "key to sign service account tokens with; made under the data directory if not given")
	s.StringVar(&o.misc.clusterIPRange, "service-cluster-ip-range", o.defaults.clusterIPRange,
		"ranges that the cluster IPs of services come from: one, or two of different families")
	s.StringVar(&c.API.Services.NodePortRange, "service-node-port-range", "30000-32767", "ports that services of the types NodePort and LoadBalancer get: first-last or first+more")
}

func (o *Options) finishMisc() error {
	if o.misc.clusterIPRange != "" {
		o.config.API.Services.ClusterIPRanges = strings.Split(o.misc.clusterIPRange, ",")
	}
	return nil
}
