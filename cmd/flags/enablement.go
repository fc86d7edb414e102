package flags

import (
	"maps"
	"strings"

	"github.com/coracle-project/coracle/server/choice"
)

// enablement holds the value of --runtime-config.
type enablement struct {
	runtime pairs
}

// bindEnablement declares the flag that says which API versions and resources are served.
func (o *Options) bindEnablement(s *section) {
	o.enablement.runtime.bare = true
	s.Var(&o.enablement.runtime, "runtime-config",
		"API versions and resources to turn on or off, separated by commas: such as apps/v1=false, apps/v1/deployments=true, /v1/pods=false, api/beta=false")
}

// finishEnablement writes the entries into the Config. The Config calls version v1 of the core
// group /v1. As in kube-apiserver, the keys v1 and api/v1 mean the same, and the rest of such a
// key, after another slash, does not count. The key api/legacy does nothing.
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

// bindEgress declares the section "Egress selector", which has one flag.
func (o *Options) bindEgress(s *section) {
	s.String("egress-selector-config-file", "",
		"EgressSelectorConfiguration file, which names the proxies through which the server connects to other programs")
	s.refuse("this server connects without a proxy, so its connections would bypass the proxies of the file",
		"egress-selector-config-file")
}
