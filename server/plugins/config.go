package plugins

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
)

// Config says which admission plugins are asked about every write.
type Config struct {
	// Enable and Disable are the names of plugins to have, and not to have: those that Table lists,
	// and those of Plugins. By default all plugins that are here are on, NodeRestriction only where
	// the authorization mode Node lets kubelets in. A plugin that is absent cannot be enabled. If
	// kube-apiserver has it by default, the log and warnings to clients say that it is absent,
	// unless it is disabled. (--enable-admission-plugins, --disable-admission-plugins)
	Enable, Disable []string
	// NotReadySeconds and UnreachableSeconds are how long pods that do not say stay on a node that
	// is not ready or cannot be reached; nil means 300. (--default-not-ready-toleration-seconds,
	// --default-unreachable-toleration-seconds)
	NotReadySeconds, UnreachableSeconds *int64
	// Plugins are plugins of one's own, which stand in the table beside Kubernetes'.
	Plugins []Plugin
}

// Plugin is a plugin of one's own: a row that is added to the table.
type Plugin struct {
	// Name is the name under which the plugin is switched, placed and measured. No other plugin may
	// have it. The plugin that Make makes must have it as well.
	Name string
	// Before or After is the name of the plugin next to which this one stands: one of Kubernetes',
	// or one that stands earlier in Config.Plugins. Of several at the same place, the earlier one
	// in Config.Plugins runs first. If neither is set, the plugin stands before
	// MutatingAdmissionPolicy: it mutates before all policies and webhooks that mutate, and
	// validates before all that validate.
	Before, After string
	// Off says that the plugin is only on if it is enabled.
	Off bool
	// Make makes the plugin. It is called once, before there is any resource. A plugin looks for
	// what it reads when it is asked itself, and so it sees resources that come and go.
	Make func(resources registry.Stores) (admission.Plugin, error)
}

// webhooks is the first plugin of those that call policies and webhooks. What stands before it also
// validates before ValidatingAdmissionPolicy, because no plugin between the two validates.
const webhooks = "MutatingAdmissionPolicy"

// rows returns the table with the plugins of the configuration in their places.
func (c *Config) rows() ([]row, error) {
	all := slices.Clone(table)
	var errs []error
	for i := range c.Plugins {
		p := &c.Plugins[i]
		at, err := p.place(all)
		if err != nil {
			errs = append(errs, fmt.Errorf("admission plugin %q: %w", p.Name, err))
			continue
		}
		all = slices.Insert(all, at, p.row())
	}
	return all, errors.Join(errs...)
}

// place returns the index in rows at which the plugin is to be inserted, or what is wrong with it.
func (p *Plugin) place(rows []row) (int, error) {
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
		next = webhooks
	}
	at := find(rows, next)
	if at < 0 {
		return 0, fmt.Errorf("it is placed next to %q, which is neither in the table nor placed itself so far", next)
	}
	if p.After != "" {
		for at++; at < len(rows) && rows[at].after == p.After; at++ {
		}
	}
	return at, nil
}

// row is the plugin in the table.
func (p *Plugin) row() row {
	r := row{name: p.Name, on: byDefault, after: p.After}
	r.make = func(n *needs) (admission.Plugin, error) { return p.Make(n.stores) }
	if p.Off {
		r.on = ifAsked
	}
	return r
}

// find returns the index of a plugin, or -1.
func find(rows []row, name string) int {
	return slices.IndexFunc(rows, func(r row) bool { return r.name == name })
}

// Validate returns everything that is wrong with the configuration.
func (c *Config) Validate() error {
	rows, err := c.rows()
	errs := []error{err}
	for _, name := range slices.Concat(c.Enable, c.Disable) {
		i := find(rows, name)
		switch {
		case i < 0 || rows[i].on == always:
			errs = append(errs, fmt.Errorf("unknown admission plugin %q: there are %s", name, strings.Join(names(rows), ", ")))
		case rows[i].make == nil && slices.Contains(c.Enable, name):
			errs = append(errs, fmt.Errorf("the admission plugin %s cannot be enabled: it is not here", name))
		}
	}
	return errors.Join(errs...)
}

// Names returns the names of all plugins of Kubernetes: what Config.Disable may have beside the
// names of Config.Plugins.
func Names() []string { return names(table) }

// names are those of the rows that can be switched.
func names(rows []row) (list []string) {
	for i := range rows {
		if rows[i].on != always {
			list = append(list, rows[i].name)
		}
	}
	return list
}
