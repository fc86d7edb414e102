package flags

// enablement is what is served.
type enablement struct {
	runtime pairs
}

func (o *Options) bindEnablement(s *section) {
	o.enablement.runtime.bare = true
	s.Var(&o.enablement.runtime, "runtime-config", "API versions and resources to turn on or off: apps/v1=false, apps/v1/deployments=true, /v1/pods=false, api/all=false")
}

func (o *Options) finishEnablement() error {
	o.config.API.Runtime = o.enablement.runtime.values
	return nil
}

func (o *Options) bindEgress(s *section) {
	s.String("egress-selector-config-file", "", "EgressSelectorConfiguration file: the proxies by which the server reaches others")
	s.refuse("connections to others are made without a proxy, and would leave the network that it stands for", "egress-selector-config-file")
}
