package plugins

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
)

// Config says which admission plugins every write passes.
type Config struct {
	// Enable and Disable are the names of plugins to switch on and off: names that Table lists, and
	// names in Plugins. A name in both is on. By default, a plugin is on if kube-apiserver has it
	// on by default, and an own plugin is on unless it sets Plugin.Off. NodeRestriction is on by
	// default if the authorization mode Node is on. (--enable-admission-plugins,
	// --disable-admission-plugins)
	Enable, Disable []string
	// ConfigFile is an AdmissionConfiguration (apiserver.config.k8s.io/v1), which has the
	// configurations of plugins, also of own plugins. New reads the file. "" configures none.
	// (--admission-control-config-file)
	ConfigFile string
	// NotReadySeconds is how long, in seconds, a pod stays on a node that is not ready, and
	// UnreachableSeconds how long it stays on a node that cannot be reached, if the pod's own
	// tolerations do not say. nil means 300. (--default-not-ready-toleration-seconds,
	// --default-unreachable-toleration-seconds)
	NotReadySeconds, UnreachableSeconds *int64
	// Manifests allows the configurations of plugins to name directories of webhooks and policies
	// (staticManifestsDir), and reserves names for the objects in them.
	// (--feature-gates=ManifestBasedAdmissionControlConfig=true)
	Manifests bool
	// Plugins are own plugins, which are added to the table.
	Plugins []Plugin
}

// Plugin is an own plugin: a row that the program which embeds the server adds to the table.
type Plugin struct {
	// Name identifies the plugin in Config.Enable and Disable, in Before and After, and in metrics.
	// It is unique. The plugin that Make returns must have the same name.
	Name string
	// Before or After names the plugin next to which this plugin stands: a plugin of the table, or
	// one that stands earlier in Config.Plugins. At most one of the two is set. If several own
	// plugins name the same neighbour, they run in the order of Config.Plugins. If neither is set,
	// the plugin stands before MutatingAdmissionPolicy: it mutates before all policies and webhooks
	// that mutate, and validates before all policies and webhooks that validate.
	Before, After string
	// Off says that the plugin is on only if Config.Enable has it.
	Off bool
	// Make makes the plugin. configuration is the plugin's part of Config.ConfigFile as YAML or
	// JSON, nil if it has none; an error of Make is returned with the name of the file. Make is
	// called once, before any resource is installed. So the plugin must look a resource up at each
	// call, and must expect that the resource is not served.
	Make func(resources registry.Stores, configuration []byte) (admission.Plugin, error)
}

// firstHook is the first of the plugins that call policies and webhooks. A plugin before it also
// validates before ValidatingAdmissionPolicy.
const firstHook = "MutatingAdmissionPolicy"

// rows returns the table with the own plugins inserted. It leaves out an own plugin that cannot be
// inserted; the error says why, for each such plugin.
func (c *Config) rows() ([]row, error) {
	all := slices.Clone(table)
	var errs []error
	for i := range c.Plugins {
		p := &c.Plugins[i]
		at, err := p.index(all)
		if err != nil {
			errs = append(errs, fmt.Errorf("admission plugin %q: %w", p.Name, err))
			continue
		}
		all = slices.Insert(all, at, p.row())
	}
	return all, errors.Join(errs...)
}

// index returns the index in rows at which to insert p, or an error if p cannot be inserted. A
// plugin with After goes behind earlier own plugins with the same After, so that they keep the
// order of Config.Plugins.
func (p *Plugin) index(rows []row) (int, error) {
	switch {
	case p.Name == "":
		return 0, errors.New("it has no name")
	case p.Make == nil:
		return 0, errors.New("Make is nil")
	case find(rows, p.Name) >= 0:
		return 0, errors.New("there is another plugin of this name")
	case p.Before != "" && p.After != "":
		return 0, errors.New("it is placed before a plugin and after another")
	}
	next := p.Before + p.After
	if next == "" {
		next = firstHook
	}
	at := find(rows, next)
	if at < 0 {
		return 0, fmt.Errorf("it is placed next to %q, which is neither in the table nor an earlier own plugin", next)
	}
	if p.After != "" {
		for at++; at < len(rows) && rows[at].after == p.After; at++ {
		}
	}
	return at, nil
}

func (p *Plugin) row() row {
	r := row{name: p.Name, on: byDefault, after: p.After}
	r.make = func(n *needs) (admission.Plugin, error) { return p.Make(n.Stores, n.configuration) }
	if p.Off {
		r.on = ifAsked
	}
	return r
}

// find returns the index of the plugin of a name, or -1.
func find(rows []row, name string) int {
	return slices.IndexFunc(rows, func(r row) bool { return r.name == name })
}

// Validate returns all mistakes in the configuration, joined into one error: unknown names,
// and own plugins that cannot be inserted.
func (c *Config) Validate() error {
	rows, err := c.rows()
	errs := []error{err}
	for _, name := range slices.Concat(c.Enable, c.Disable) {
		if i := find(rows, name); i < 0 || rows[i].on == always {
			errs = append(errs, fmt.Errorf("unknown admission plugin %q: there are %s",
				name, strings.Join(names(rows), ", ")))
		}
	}
	return errors.Join(errs...)
}

// Names returns the names of all plugins of kube-apiserver, in the order of the table.
// Config.Enable and Config.Disable may have these names and those of Config.Plugins.
func Names() []string { return names(table) }

// names returns the names of the rows that a configuration can switch.
func names(rows []row) (list []string) {
	for i := range rows {
		if rows[i].on != always {
			list = append(list, rows[i].name)
		}
	}
	return list
}
