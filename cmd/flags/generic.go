package flags

import "time"

// generic is what flags about requests say in a way of their own.
type generic struct {
	minWatch int // seconds
	gates    gates
}

func (o *Options) bindGeneric(s *section) {
	c := &o.config
	s.Var(address{&c.Serving.AdvertiseAddress}, "advertise-address", "IP address under which the service kubernetes knows the server; by default --bind-address, or that of the default route's interface")
	s.StringSliceVar(&c.Serving.CORSOrigins, "cors-allowed-origins", nil, "patterns of web origins that may call the API")
	s.IntVar(&c.Limits.MaxReads, "max-requests-inflight", 400, "reading requests served at once; 0 for no bound")
	s.IntVar(&c.Limits.MaxWrites, "max-mutating-requests-inflight", 200, "writing requests served at once; 0 for no bound")
	s.DurationVar(&c.Limits.RequestTimeout, "request-timeout", time.Minute, "bound on a request other than a watch")
	s.IntVar(&o.generic.minWatch, "min-request-timeout", 1800, "least seconds that a watch without a timeout lasts")
	s.DurationVar(&c.Serving.LivezGrace, "livez-grace-period", 0, "how long after the start /livez takes what still has to be done then for done")
	s.DurationVar(&c.Shutdown.Delay, "shutdown-delay-duration", 0, "how long requests are served on after readiness has failed")
	s.BoolVar(&c.Shutdown.RefuseNew, "shutdown-send-retry-after", false, "go on listening until all running requests but watches have been served, and answer new ones with 429")
	s.DurationVar(&c.Shutdown.WatchGrace, "shutdown-watch-termination-grace-period", 0, "time over which watches are ended")
	s.Float64Var(&c.Serving.GoawayChance, "goaway-chance", 0, "chance that a request of HTTP/2 ends its connection, so that the client may find another server: at most 0.02")
	s.StringSliceVar(&c.Serving.HSTS, "strict-transport-security-directives", nil, "directives of the header Strict-Transport-Security: max-age=SECONDS, includeSubDomains, preload")
	s.Var(&o.generic.gates, "feature-gates", "features of Kubernetes to turn on or off, as Name=true or kube:Name=false, with commas between them: see docs/flags.md")
}

func (o *Options) finishGeneric() error {
	c := &o.config
	noneAtZero(&c.Limits.MaxReads, -1)
	noneAtZero(&c.Limits.MaxWrites, -1)
	c.Limits.MinWatch = time.Duration(o.generic.minWatch) * time.Second
	return nil
}
