// Package plugins is the ordered table of all admission plugins, and what gives each of them what
// it needs.
//
// Words: a row is one plugin of the table. A plugin is here if the row says how it is made, and
// absent otherwise. A plugin is on if the chain of a server has it. An entry is what users see of a
// row.
//
// Laws:
//   - The table has all plugins of kube-apiserver, in its order, on and off by default as there,
//     and then those that the API cannot do without, which nobody can switch. A test holds it
//     against testdata/kubernetes.json.
//   - Mutators, validators and reservers each run in the order of the table. All mutators run
//     before all validators, and all validators before all reservers: see registry/admission.
//   - A plugin of one's own is a row, too. It has a name that no other has and is switched by it.
//     By default it stands before the plugins that call policies and webhooks.
//   - An absent plugin is told of: at start, to clients that write what it would obey, and to users
//     who ask for it.
//
// Config.Validate checks a configuration. New makes the chain of a server, once, and
// Config.TellAbsence says what is absent, before the resources are installed. The chain is safe for
// concurrent use.
//
// A plugin to come is its file in registry/admission, and one row, which loses without, guards and
// unheeded. If it needs something that no plugin has needed so far, needs gets a field.
//
// Not here: the plugins themselves and the order of the phases (registry/admission).
//
// Read: config.go, table.go, plugins.go, objects.go, absent.go, metrics.go.
package plugins

import (
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Needs is what the chain is made of. Plugins are made before there is any resource, so all of it
// looks resources up when it is asked.
type Needs struct {
	Stores  registry.Stores
	May     request.Authorizer // is asked for rights beyond that of the request
	Metrics prometheus.Registerer
	// Kubelets says that an authorization mode lets kubelets in. Then NodeRestriction is on.
	Kubelets bool
}

// New makes the chain of plugins that every write passes: those that are on, in the order of the
// table. The configuration must be valid.
func New(c *Config, n Needs) (admission.Chain, error) {
	times, err := newMetrics(n.Metrics)
	if err != nil {
		return nil, err
	}
	table, err := c.rows()
	if err != nil {
		return nil, err
	}
	given, chain := newNeeds(c, &n), admission.Chain{}
	for i := range table {
		r := &table[i]
		if r.make == nil || !c.on(r, n.Kubelets) {
			continue
		}
		p, err := r.make(given)
		if err != nil {
			return nil, fmt.Errorf("server: admission plugin %s: %w", r.name, err)
		}
		if p.Name() != r.name {
			return nil, fmt.Errorf("server: the admission plugin %s calls itself %s", r.name, p.Name())
		}
		chain = append(chain, p)
	}
	return chain.Observed(times.observer), nil
}

// on reports whether a plugin that is here is on.
func (c *Config) on(r *row, kubelets bool) bool {
	switch {
	case r.on == always || slices.Contains(c.Enable, r.name):
		return true
	case slices.Contains(c.Disable, r.name):
		return false
	}
	return r.on == byDefault || r.on == withKubelets && kubelets
}

// needs is what the rows make plugins of. A plugin takes what it needs of it.
type needs struct {
	config     *Config
	stores     registry.Stores
	may        request.Authorizer
	namespaces *admission.Namespaces // of a write, looked up once for all plugins
	nodeLabels admission.NodeLabels
}

func newNeeds(c *Config, n *Needs) *needs {
	reads := reader{n.Stores}
	return &needs{
		config: c, stores: n.Stores, may: n.May,
		namespaces: admission.NewNamespaces(reads.namespace), nodeLabels: reads.nodeLabels,
	}
}

// Reads returns the resources in which plugins look something up for ordinary writes. They are to
// be loaded before the server is ready.
func Reads() (list []meta.GroupResource) {
	for i := range table {
		for _, gr := range table[i].reads {
			if !slices.Contains(list, gr) {
				list = append(list, gr)
			}
		}
	}
	return list
}
