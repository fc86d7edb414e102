// Package plugins is the ordered table of all admission plugins. It makes the plugins that a
// configuration enables, and gives each plugin the stores and rights that it reads.
//
// Words: a row is one plugin of the table. An idle plugin has nothing to do, neither here nor in
// kube-apiserver. A plugin is on if the chain of a server has it. An own plugin is one that the
// program that embeds the server adds (Config.Plugins). An Entry is the public part of a row.
//
// Laws:
//   - The table has all plugins of kube-apiserver, in its order, and with its defaults. Two more
//     plugins follow. The API depends on these two, so nobody can switch them off. A test compares
//     the table with testdata/kubernetes.json.
//   - Mutators, validators and reservers each run in the order of the table. All mutators run
//     before all validators, and all validators before all reservers: see registry/admission.
//   - An own plugin is a row, too. Its name is unique, and the configuration can switch it by that
//     name. By default it stands before the plugins that call policies and webhooks.
//
// Config.Validate checks a configuration. A server calls New once to make its chain, which is safe
// for concurrent use. A goroutine follows each directory of manifests, and ends with the server.
//
// To add a plugin of Kubernetes, write it in registry/admission, and set make in its row. If the
// plugin needs something that no other plugin needs, add a field to needs.
//
// Not here: the plugins themselves and the order of the phases (registry/admission).
//
// Read: config.go, table.go, plugins.go, configfile.go, objects.go, podsecurity.go, webhooks.go,
// policies.go, manifests.go, entry.go, removed.go, metrics.go, conditionmetrics.go,
// policymetrics.go, webhookmetrics.go.
package plugins

import (
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/admissionpolicy"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Needs are the arguments of New. Plugins are made before any resource is installed, so Stores and
// Authorizer look resources up at each call.
type Needs struct {
	Stores     registry.Stores    // the resources that plugins read
	Authorizer request.Authorizer // decides about rights that plugins demand beyond the right to the request
	// ResourceOf finds the resource of a kind among all that are served when it is called.
	ResourceOf admission.ResourceOf
	// Equivalents finds the resources that show the same objects as a given resource.
	Equivalents matching.Equivalents
	Resolve     callout.Resolver      // finds the address of a Service that a webhook names
	Metrics     prometheus.Registerer // gets the metrics of admission
	Flawed      func(callout.Flaw)    // is told of outdated certificates of webhooks; may be nil
	// OnClose receives functions that end connections to webhooks and goroutines that follow files.
	// The caller must call them after the last write, in reverse order.
	OnClose func(end func() error)
	Log     *zap.Logger // is told which manifests are read, and why some are not
	// Kubelets says that an authorization mode gives kubelets their rights. NodeRestriction is on
	// by default then.
	Kubelets bool
}

// New returns the chain of plugins that every write passes: the plugins that are on, in the order
// of the table. c must be valid (Config.Validate). New registers the metrics of admission, and
// calls Plugin.Make of each own plugin that is on. It fails if a Make fails or returns a plugin
// with another name than that of its row.
func New(c *Config, n Needs) (admission.Chain, error) {
	times, err := newMetrics(n.Metrics)
	if err != nil {
		return nil, err
	}
	table, err := c.rows()
	if err != nil {
		return nil, err
	}
	configured, err := readConfigurations(c.ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("server: admission configuration: %w", err)
	}
	given, chain := newNeeds(c, &n), admission.Chain{}
	if given.hooks, err = newWebhookMetrics(n.Metrics); err != nil {
		return nil, err
	}
	for i := range table {
		r := &table[i]
		if r.make == nil || !c.on(r, n.Kubelets) {
			continue
		}
		p, err := r.makeWith(given, configured)
		if err != nil {
			return nil, fmt.Errorf("server: admission plugin %s: %w", r.name, err)
		}
		if p.Name() != r.name {
			return nil, fmt.Errorf("server: the admission plugin %s calls itself %s", r.name, p.Name())
		}
		chain = append(chain, p)
	}
	return chain.WithObserver(times.observer), nil
}

// makeWith makes the plugin with its configuration. Errors name the file that has it.
func (r *row) makeWith(n *needs, from configurations) (admission.Plugin, error) {
	data, file, err := from.of(r.name)
	if err != nil {
		return nil, err
	}
	own := *n
	own.configuration = data
	p, err := r.make(&own)
	if err != nil && file != "" {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, err
}

// on reports whether the configuration has the plugin of r on. It does not check whether r has a
// plugin to make. Enable wins over Disable.
func (c *Config) on(r *row, kubelets bool) bool {
	switch {
	case r.on == always || slices.Contains(c.Enable, r.name):
		return true
	case slices.Contains(c.Disable, r.name):
		return false
	}
	return r.on == byDefault || r.on == withKubelets && kubelets
}

// needs are the arguments of row.make. All plugins of a chain get the same needs, except for
// configuration.
type needs struct {
	*Needs
	config *Config
	// configuration is the configuration of the plugin, YAML or JSON; nil if it has none. See
	// admission.DecodeStrict and DecodeLenient.
	configuration []byte
	namespaces    *admission.Namespaces // looks up the namespace of a write, once for all plugins
	annotations   admission.NamespaceAnnotations
	nodeLabels    admission.NodeLabels
	// storageClasses are read by the plugins for claims, which share the decoded classes.
	storageClasses *registry.ListMemo[*storagev1.StorageClass]
	policies       *admissionpolicy.World // what admission policies ask about; see policyWorld
	hooks          *webhookMetrics        // of both plugins that ask webhooks
}

func newNeeds(c *Config, n *Needs) *needs {
	reads := reader{n.Stores}
	made := &needs{
		Needs: n, config: c,
		namespaces: admission.NewNamespaces(reads.namespace), annotations: annotations(n.Stores),
		nodeLabels:     reads.nodeLabels,
		storageClasses: registry.NewListMemo[*storagev1.StorageClass](n.Stores, storageClasses),
	}
	made.policies = policyWorld(made)
	return made
}

// ResourcesRead returns the resources that plugins read for ordinary writes. The server loads these
// resources before it is ready, so that the first writes do not wait.
func ResourcesRead() (list []meta.GroupResource) {
	for i := range table {
		for _, gr := range table[i].reads {
			if !slices.Contains(list, gr) {
				list = append(list, gr)
			}
		}
	}
	return list
}
