package flags

import (
	"maps"
	"strings"

	"github.com/coracle-project/coracle/server/choice"
)

// enablement is what is served.
type enablement struct {
	runtime pairs
}

func (o *Options) bindEnablement(s *section) {
	o.enablement.runtime.bare = true
	s.Var(&o.enablement.runtime, "runtime-config", "API versions and resources to turn on or off: apps/v1=false, apps/v1/deployments=true, /v1/pods=false, api/all=false")
}

// finishEnablement hands over what is served. The legacy group has more than one name.
func (o *Options) finishEnablement() error {
	runtime := maps.Clone(o.enablement.runtime.values)
	for key, value := range o.enablement.runtime.values {
		switch first, _, _ := strings.Cut(strings.TrimPrefix(key, "api/"), "/"); {
		case first == "v1":
			delete(runtime, key)
			runtime["/v1"] = value
		case key == "api/legacy":
			delete(runtime, key)
		}
	}
	o.config.API.Runtime = runtime
	return choice.CheckRuntime(runtime)
}

func (o *Options) bindEgress(s *section) {
	s.String("egress-selector-config-file", "", "EgressSelectorConfiguration file: the proxies by which the server reaches others")
	s.refuse("connections to others are made without a proxy, and would leave the network that it stands for", "egress-selector-config-file")
}
