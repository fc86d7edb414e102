package flags

import (
	"errors"
	"regexp"
	"strings"
	"time"
)

// generic holds the values of the section "Generic" that do not go into the Config as they are.
type generic struct {
	minWatch int // seconds
	gates    gates
	versions versions
}

// bindGeneric declares the flags about requests, shutdown, gates and versions.
func (o *Options) bindGeneric(s *section) {
	c := &o.config
	s.Var(address{&c.Serving.AdvertiseAddress}, "advertise-address",
		"IP address of this server in the endpoints of the Service kubernetes; by default --bind-address, or the address of the default route's interface if other machines cannot reach --bind-address")
	s.StringSliceVar(&c.Serving.CORSOrigins, "cors-allowed-origins", nil,
		"regular expressions of the web origins that may call the API, separated by commas; each must match the whole host name")
	s.StringVar(&c.Serving.ExternalHostname, "external-hostname", "",
		"host name of this server in the documents that clients read, such as discovery; by default the advertised address")
	s.IntVar(&c.Limits.MaxReads, "max-requests-inflight", 400, "bound on the reading requests, apart from watches, that are served at once; 0 for no bound")
	s.IntVar(&c.Limits.MaxWrites, "max-mutating-requests-inflight", 200,
		"bound on the writing requests that are served at once; 0 for no bound")
	s.DurationVar(&c.Limits.RequestTimeout, "request-timeout", time.Minute,
		"time limit of a request that is not a watch")
	s.IntVar(&o.generic.minWatch, "min-request-timeout", 1800,
		"least number of seconds that a watch without timeoutSeconds lasts; 0 for ever")
	s.DurationVar(&c.Serving.LivezGrace, "livez-grace-period", 0,
		"time after the start during which /livez does not fail because of a post-start hook that still runs")
	s.DurationVar(&c.Shutdown.Delay, "shutdown-delay-duration", 0,
		"how long the server still serves requests at shutdown after /readyz has begun to fail")
	s.BoolVar(&c.Shutdown.RefuseNew, "shutdown-send-retry-after", false,
		"at shutdown, answer new requests with 429 and Retry-After until all running requests except watches have been served; only then end the watches")
	s.DurationVar(&c.Shutdown.WatchGrace, "shutdown-watch-termination-grace-period", 0,
		"time over which the ends of watches are spread at shutdown; 0 ends all at once")
	s.Float64Var(&c.Serving.HTTP.GoawayChance, "goaway-chance", 0,
		"probability, at most 0.02, that the server ends the connection of an HTTP/2 request with GOAWAY, so that the client may reach another server; 0 for never")
	s.StringSliceVar(&c.Serving.HTTP.HSTS, "strict-transport-security-directives", nil,
		"directives of the header Strict-Transport-Security, separated by commas: max-age=SECONDS, includeSubDomains, preload; by default no header is sent")
	s.DurationVar(&c.Storage.InitTimeout, "storage-initialization-timeout", time.Minute,
		"how long the server waits at its start until the etcd servers answer")
	s.Var(&o.generic.gates, "feature-gates",
		"feature gates of Kubernetes to turn on or off, as Name=true or kube:Name=false, separated by commas; docs/flags.md lists the gates and their effects")
	o.bindVersions(s)
}

// finishGeneric checks the section in kube-apiserver's order, which is the order of
// ServerRunOptions.Validate. It also writes into the Config what does not go there as it is. It
// runs after finishGates, which reads versions and gates.
func (o *Options) finishGeneric() error {
	c := &o.config
	var m mistakes
	if c.Serving.LivezGrace < 0 {
		m.add("--livez-grace-period can not be a negative value")
	}
	notNegative := func(flag string, value int) {
		if value < 0 {
			m.add("--%s can not be negative value", flag)
		}
	}
	notNegative("max-requests-inflight", c.Limits.MaxReads)
	notNegative("max-mutating-requests-inflight", c.Limits.MaxWrites)
	notNegative("request-timeout", int(c.Limits.RequestTimeout))
	if chance := c.Serving.HTTP.GoawayChance; !(chance >= 0 && chance <= 0.02) { // written so that NaN fails
		m.add("--goaway-chance can not be less than 0 or greater than 0.02")
	}
	notNegative("min-request-timeout", o.generic.minWatch)
	notNegative("storage-initialization-timeout", int(c.Storage.InitTimeout))
	notNegative("shutdown-delay-duration", int(c.Shutdown.Delay))
	if c.Shutdown.WatchGrace < 0 {
		m.add("shutdown-watch-termination-grace-period, if provided, can not be a negative value")
	}
	m.addErr(checkTransportSecurity(c.Serving.HTTP.HSTS))
	for _, pattern := range c.Serving.CORSOrigins {
		m.addErr(checkOrigins(pattern))
	}
	m.addErr(o.generic.versions.check())
	if err := o.generic.versions.refusal(); err != nil {
		o.refusals = append(o.refusals, err)
	}
	c.Storage.MinCompatibility = o.generic.versions.worksWith.String()
	noneAtZero(&c.Limits.MaxReads, -1)
	noneAtZero(&c.Limits.MaxWrites, -1)
	c.Limits.MinWatch = time.Duration(o.generic.minWatch) * time.Second
	noneAtZero(&c.Limits.MinWatch, forever)
	o.applyGates()
	return m.err()
}

// forever stands for "no end" where the Config wants a duration. No server runs for so long.
const forever = 100 * 365 * 24 * time.Hour

// applyGates hands the gates that this server reads ("asked" in gates.txt) to the Config. Without
// --feature-gates the Config's defaults hold.
func (o *Options) applyGates() {
	if o.generic.gates.on == nil {
		return
	}
	without, enabled := &o.config.API.Without, o.generic.gates.enabled
	without.Compression = !enabled("APIResponseCompression")
	without.WatchLists = !enabled("WatchList")
	without.IdentityLease = !enabled("APIServerIdentity")
	o.config.API.Aggregation.NoUIDs = !enabled("RemoteRequestHeaderUID")
	plugins := &o.config.Admission
	plugins.Manifests = enabled("ManifestBasedAdmissionControlConfig")
	if !enabled("PodTopologyLabelsAdmission") {
		plugins.Disable = append(plugins.Disable, "PodTopologyLabels")
	}
}

// originsHelp is the help that kube-apiserver adds to its errors about --cors-allowed-origins.
const originsHelp = `List of allowed origins for CORS, comma separated. An allowed origin can be a regular expression to support subdomain matching. ` +
	`If this list is empty CORS will not be enabled. Please ensure each expression matches the entire hostname by anchoring to the start with '^' or including the '//' prefix, ` +
	`and by anchoring to the end with '$' or including the ':' port separator suffix. Examples of valid expressions are '//example\.com(:|$)' and '^https://example\.com(:|$)'`

// checkOrigins returns what is wrong with a pattern of origins. A pattern must be anchored at both
// ends of the host: "example.com" would also match "example.com.attacker.net".
func checkOrigins(pattern string) error {
	var m mistakes
	_, err := regexp.Compile(pattern)
	switch {
	case pattern == "":
		m.add("empty value in --cors-allowed-origins, help: %s", originsHelp)
	case err == nil &&
		(!strings.Contains(pattern, "^") && !strings.Contains(pattern, "//") || !strings.ContainsAny(pattern, "$:")):
		err = errors.New("regular expression does not pin to start/end of host in the origin header")
		fallthrough
	case err != nil:
		m.add("--cors-allowed-origins has an invalid regular expression: %w, help: %s", err, originsHelp)
	}
	return m.err()
}

// checkTransportSecurity returns what is wrong with directives of the header
// Strict-Transport-Security (RFC 6797, section 6.1).
func checkTransportSecurity(directives []string) error {
	var m mistakes
	for _, d := range directives {
		age, isAge := strings.CutPrefix(d, "max-age=")
		switch {
		case strings.TrimSpace(d) == "":
			m.add("empty value in strict-transport-security-directives")
		case d != "includeSubDomains" && d != "preload" && (!isAge || strings.Contains(age, "=")):
			m.add("--strict-transport-security-directives invalid, allowed values: max-age=expireTime, includeSubDomains, preload. see https://tools.ietf.org/html/rfc6797#section-6.1 for more information")
		}
	}
	return m.err()
}
