package flags

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/server/identity"
)

// The section "Misc": flags that kube-apiserver declares outside of any heading. They are about
// services, API servers behind and beside this one, kubelets, and the signing of service account
// tokens. Options.Finish calls completeMisc before the checks of all sections, finishMisc among
// them, and applyMisc after them.

// misc holds the values of the section "Misc" that do not go into the Config as they are.
type misc struct {
	clusterIPRange        string
	ranges                []netip.Prefix // the first two of clusterIPRange, masked; set by completeMisc
	nodePorts             portRange
	reconciler            string
	servers               int
	lease, renewal, retry time.Duration // of coordinated leader election (KEP-4355), only checked
	proxyCert, proxyKey   string
	refuseRedirects       bool
	logFiles              bool
}

// bindMisc declares the flags of the section.
func (o *Options) bindMisc(s *section) {
	c := &o.config
	s.BoolVar(&c.API.AllowPrivileged, "allow-privileged", false, "allow pods to have privileged containers")
	s.DurationVar(&c.API.EventTTL, "event-ttl", time.Hour, "how long events are kept; 0 for ever")
	s.StringVar(&c.Authentication.ServiceAccounts.SigningKeyFile, "service-account-signing-key-file", "",
		"file of the private key that signs service account tokens; by default the server makes a key under --data-dir")
	s.StringVar(&c.Authentication.ServiceAccounts.SigningEndpoint, "service-account-signing-endpoint", "",
		"Unix socket of a plugin that signs service account tokens and has the keys that verify them: a path, or @ and the name of an abstract socket")
	o.bindServices(s)
	o.bindServers(s)
	bindKubelets(s)

	s.BoolVar(&o.misc.logFiles, "enable-logs-handler", false, "serve the files of /var/log at /logs/")
	s.deprecate("enable-logs-handler", "Log handler functionality is deprecated")
}

// bindServices declares the flags about services.
func (o *Options) bindServices(s *section) {
	services := &o.config.API.Services
	s.StringVar(&o.misc.clusterIPRange, "service-cluster-ip-range", o.defaults.clusterIPRange,
		"ranges of the cluster IPs of Services: one, or an IPv4 and an IPv6 range separated by a comma")
	o.misc.nodePorts = portRange{30000, 32767}
	s.Var(&o.misc.nodePorts, "service-node-port-range",
		"range of the node ports of Services, as first-last, or as first+N for the first port and N more")
	s.IntVar(&services.KubernetesNodePort, "kubernetes-service-node-port", 0,
		"node port of the Service kubernetes, which then has the type NodePort; 0 for none")
	s.StringVar(&o.misc.reconciler, "endpoint-reconciler-type", "lease",
		"how this server is added to the endpoints of the Service kubernetes: lease, or master-count, which is the same here; none does not add it")
	s.IntVar(&o.misc.servers, "apiserver-count", 1, "number of API servers")
	s.hide("apiserver-count", "apiserver-count is deprecated and will be removed in a future version.")
	s.ignore("the servers that share a store find each other by themselves", "apiserver-count")
}

// bindServers declares the flags about other API servers: those behind this one, which APIServices
// name, and those beside it on the same store.
func (o *Options) bindServers(s *section) {
	s.StringVar(&o.misc.proxyCert, "proxy-client-cert-file", "", "file of the client certificate that this server shows to API servers behind it")
	s.StringVar(&o.misc.proxyKey, "proxy-client-key-file", "", "file of the private key of --proxy-client-cert-file")
	s.BoolVar(&o.config.API.Aggregation.ByEndpoints, "enable-aggregator-routing", false,
		"connect to an endpoint of the Service of an API server behind this one or of a webhook, instead of the cluster IP of the Service")
	s.BoolVar(&o.misc.refuseRedirects, "aggregator-reject-forwarding-redirect", true,
		"refuse redirects from API servers behind this one, instead of passing them to the client")

	s.String("peer-ca-file", "", "file of the CAs of the other API servers on the same store")
	s.String("peer-advertise-ip", "", "IP address at which the other API servers on the same store reach this one")
	s.String("peer-advertise-port", "", "port at which the other API servers on the same store reach this one")
	s.ignore("this server passes no requests to other servers on the same store, because all serve the same APIs", peerFlags...)

	s.DurationVar(&o.misc.lease, "coordinated-leadership-lease-duration", 15*time.Second,
		"how long a leader that the server elects leads without renewing its lease")
	s.DurationVar(&o.misc.renewal, "coordinated-leadership-renew-deadline", 10*time.Second,
		"how long a leader tries to renew its lease")
	s.DurationVar(&o.misc.retry, "coordinated-leadership-retry-period", 2*time.Second,
		"pause between two attempts of a leader to renew its lease")
	s.ignore("this server elects no leaders", "coordinated-leadership-lease-duration",
		"coordinated-leadership-renew-deadline", "coordinated-leadership-retry-period")
}

// bindKubelets declares the flags about connections to kubelets.
func bindKubelets(s *section) {
	s.String("kubelet-certificate-authority", "", "file of the CAs of kubelets")
	s.String("kubelet-client-certificate", "", "file of the client certificate that this server shows to kubelets")
	s.String("kubelet-client-key", "", "file of the private key of --kubelet-client-certificate")
	s.StringSlice("kubelet-preferred-address-types",
		[]string{"Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"},
		"types of node addresses at which kubelets are reached, the preferred type first")
	s.Duration("kubelet-timeout", 5*time.Second, "time limit of a request to a kubelet")
	s.Uint("kubelet-port", 10250, "port of kubelets")
	s.Uint("kubelet-read-only-port", 10255, "port of kubelets for reading without credentials")
	s.hide("kubelet-port", "kubelet-port is deprecated and will be removed.")
	s.hide("kubelet-read-only-port", "kubelet-read-only-port is deprecated and will be removed.")
	s.Int64("max-connection-bytes-per-sec", 0, "bound on the bytes a second of a connection to a pod; 0 for no bound")
	s.ignore("this server connects to no kubelet", "kubelet-certificate-authority", "kubelet-client-certificate",
		"kubelet-client-key",
		"kubelet-preferred-address-types", "kubelet-timeout", "kubelet-port", "kubelet-read-only-port",
		"max-connection-bytes-per-sec")
}

// The bounds of --service-cluster-ip-range.
const (
	leastServiceBits = 3 // bits that number the addresses of the first range: 8 addresses at least
	fixedServiceBits = 2 // least prefix length of the first range; kube-apiserver cannot count larger ones
	mostRanges       = 2 // one for each IP family
)

// completeMisc reads the ranges of cluster IPs. If an entry is no range, Finish ends here, as in
// kube-apiserver. checkRanges reports a third range.
func (o *Options) completeMisc() error {
	if o.misc.clusterIPRange == "" {
		return nil
	}
	list := strings.Split(o.misc.clusterIPRange, ",")
	o.config.API.Services.ClusterIPRanges = list
	for i, text := range list[:min(len(list), mostRanges)] {
		p, wrong := names.ParseCIDR(text, false)
		switch {
		case len(wrong) > 0 && i == 0:
			return errors.New("service-cluster-ip-range[0] is not a valid cidr")
		case len(wrong) > 0:
			return fmt.Errorf("service-cluster-ip-range[%d] is not an ip net", i)
		case i == 0 && (p.Addr().BitLen()-p.Bits() < leastServiceBits || p.Bits() < fixedServiceBits):
			return fmt.Errorf("error determining service IP ranges for primary service cidr: the service cluster IP range must be at least %d IP addresses",
				1<<leastServiceBits)
		}
		o.misc.ranges = append(o.misc.ranges, p.Masked())
	}
	return nil
}

// finishMisc checks the section, except what applyMisc checks, and writes it into the Config.
func (o *Options) finishMisc() error {
	services := &o.config.API.Services
	var m mistakes
	m.addErr(o.checkPeers())
	m.addErr(checkSigningEndpoint(&o.config.Authentication.ServiceAccounts))
	m.addErr(o.checkCoordination())
	m.addErr(o.checkRanges())
	port := services.KubernetesNodePort
	if port < 0 || port > 65535 {
		m.add("--kubernetes-service-node-port %d must be between 0 and 65535, inclusive. If 0, the Kubernetes master service will be of type ClusterIP",
			port)
	}
	if port > 0 && !o.misc.nodePorts.contains(port) {
		m.add("kubernetes service node port range %v doesn't contain %d", &o.misc.nodePorts, port)
	}
	if o.misc.nodePorts.contains(0) { // kube-apiserver accepts port 0, and may then allocate it
		m.add("--service-node-port-range %v must be between 1 and 65535, inclusive: 0 is no node port",
			&o.misc.nodePorts)
	}
	m.addErr(o.checkFamilies())
	if o.misc.servers <= 0 {
		m.add("--apiserver-count should be a positive number, but value '%d' provided", o.misc.servers)
	}
	noneAtZero(&o.config.API.EventTTL, -1)
	services.NodePortRange = o.misc.nodePorts.String()
	services.NoKubernetesEndpoints = o.misc.reconciler == "none"
	if o.misc.logFiles {
		o.config.Serving.Debug.LogDir = "/var/log"
	}
	o.finishAggregation()
	return m.err()
}

// finishAggregation tells the Config how to reach the API servers behind this one. As in
// kube-apiserver, a certificate without a key, or a key without a certificate, counts as neither.
func (o *Options) finishAggregation() {
	a := &o.config.API.Aggregation
	if o.misc.proxyCert != "" && o.misc.proxyKey != "" {
		a.CertFile, a.KeyFile = o.misc.proxyCert, o.misc.proxyKey
	}
	a.ForwardRedirects = !o.misc.refuseRedirects
}

// abstractSocket matches the name of an abstract Unix socket, which is no file: unix(7).
var abstractSocket = regexp.MustCompile(`^@([a-zA-Z0-9_-]+\.)*[a-zA-Z0-9_-]+$`)

// checkSigningEndpoint checks the flags about the plugin that signs service account tokens
// (KEP-740).
func checkSigningEndpoint(sa *identity.ServiceAccounts) error {
	var m mistakes
	if sa.SigningEndpoint != "" && (sa.SigningKeyFile != "" || len(sa.KeyFiles) > 0) {
		m.add("can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with `--service-account-signing-endpoint` (They are mutually exclusive)")
	}
	if strings.HasPrefix(sa.SigningEndpoint, "@") && !abstractSocket.MatchString(sa.SigningEndpoint) {
		m.add("invalid value %q passed for `--service-account-signing-endpoint`, when prefixed with @ must be a valid abstract socket name",
			sa.SigningEndpoint)
	}
	return m.err()
}

// peerFlags are the flags about other servers of the store. kube-apiserver passes requests for API
// versions that it does not serve to them (KEP-4020).
var peerFlags = []string{"peer-ca-file", "peer-advertise-ip", "peer-advertise-port"}

// checkPeers returns an error if one of peerFlags is set and their feature gate is off.
func (o *Options) checkPeers() error {
	const gate = "UnknownVersionInteroperabilityProxy"
	var m mistakes
	for _, name := range peerFlags {
		if o.value(name) != "" && !o.generic.gates.enabled(gate) {
			m.add("--%s requires %s feature to be turned on", name, gate)
		}
	}
	return m.err()
}

// checkCoordination checks that a lease lasts longer than the time in which its leader tries to
// renew it, and that this time is longer than the pause between two attempts.
func (o *Options) checkCoordination() error {
	var m mistakes
	if o.misc.lease <= o.misc.renewal {
		m.add("--coordinated-leadership-lease-duration must be greater than --coordinated-leadership-renew-deadline")
	}
	if o.misc.renewal <= o.misc.retry {
		m.add("--coordinated-leadership-renew-deadline must be greater than --coordinated-leadership-retry-period")
	}
	return m.err()
}

// checkRanges checks that there are at most two ranges of cluster IPs, of different families.
func (o *Options) checkRanges() error {
	var m mistakes
	if len(o.config.API.Services.ClusterIPRanges) > mostRanges {
		m.add("--service-cluster-ip-range must not contain more than two entries")
	}
	if r := o.misc.ranges; len(r) > 1 && r[0].Addr().Is4() == r[1].Addr().Is4() {
		m.add("--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family")
	}
	return m.err()
}

// checkFamilies checks that the address of the server is of the same IP family as the first range
// of cluster IPs. The endpoint of the service kubernetes is that address, and a service of one
// family cannot lead to an endpoint of the other. If the flags do not say the address, because it
// is unspecified, nothing is checked.
func (o *Options) checkFamilies() error {
	c := &o.config
	if !o.defaults.strict || o.misc.reconciler == "none" {
		return nil
	}
	first := netip.MustParsePrefix("10.0.0.0/24")
	if len(o.misc.ranges) > 0 {
		first = o.misc.ranges[0]
	}
	for _, text := range []string{c.Serving.AdvertiseAddress, c.Serving.BindAddress} {
		ip, err := netip.ParseAddr(text)
		if err != nil || ip.IsUnspecified() || ip.IsLoopback() && text != c.Serving.AdvertiseAddress {
			continue
		}
		if ip = ip.Unmap(); ip.Is4() != first.Addr().Is4() {
			return fmt.Errorf("service IP family %q must match public address family %q", first, ip)
		}
		return nil
	}
	return nil
}

// applyMisc checks what kube-apiserver looks at only when it starts: the kind of endpoint
// reconciler, and the certificate that is shown to API servers behind this one.
func (o *Options) applyMisc() error {
	if !slices.Contains([]string{"lease", "master-count", "none"}, o.misc.reconciler) {
		return fmt.Errorf("unknown endpoint reconciler type: %s", o.misc.reconciler)
	}
	if o.misc.proxyCert == "" || o.misc.proxyKey == "" {
		return nil
	}
	_, err := configfile.KeyPair(o.misc.proxyCert, o.misc.proxyKey)
	return err
}
