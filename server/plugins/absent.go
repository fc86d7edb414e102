package plugins

import (
	"slices"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
)

// This file tells users of the plugins that Kubernetes has: which are here, and what is so without
// those that are absent.

// Entry is an admission plugin of kube-apiserver 1.36, which may be absent here.
type Entry struct {
	Name string
	// Default: kube-apiserver has the plugin unless it is told otherwise.
	Default bool
	// Here: this server has it, by default as well. NodeRestriction is on where the authorization
	// mode Node lets kubelets in.
	Here bool
	// Guards: who asks for the plugin when it is not Here must be refused, because they rely on it.
	Guards bool
	// Without says what is so on a server that lacks the plugin, if anybody could see it; "" if the
	// plugin is Here.
	Without string
	// Unheeded are the resources whose objects tell the plugin what to do. If it is not Here,
	// clients that write one are warned.
	Unheeded []meta.GroupResource
}

// Absence says that the plugin is not here, and what is so without it: to those who ask for it, and
// to clients that write an object which would tell the plugin what to do.
func (e Entry) Absence() string {
	text := "the admission plugin " + e.Name + " is not here"
	if e.Without != "" {
		text += ", so " + e.Without
	}
	return text
}

// Table returns all plugins of kube-apiserver, in the order in which they run.
func Table() (list []Entry) {
	for i := range table {
		if r := &table[i]; r.on != always {
			list = append(list, r.entry())
		}
	}
	return list
}

// entry is what users see of a row.
func (r *row) entry() Entry {
	e := Entry{Name: r.name, Default: r.on == byDefault, Here: r.make != nil, Guards: r.guards, Without: r.without}
	for _, u := range r.unheeded {
		e.Unheeded = append(e.Unheeded, u.resource)
	}
	return e
}

// absent returns the plugins that kube-apiserver would have by default, and this server has not. It
// leaves out those that the configuration disables: whoever disables a plugin knows.
func (c *Config) absent() (list []*row) {
	for i := range table {
		if r := &table[i]; r.on == byDefault && r.make == nil && !slices.Contains(c.Disable, r.name) {
			list = append(list, r)
		}
	}
	return list
}

// TellAbsence says which plugins are absent that kube-apiserver has by default: once in the log,
// and to each client that writes an object of Kubernetes' own groups which one of them would have
// obeyed. For that it changes the strategies of the resources in groups, and so it is called before
// they are installed.
func (c *Config) TellAbsence(groups []generic.Group, log *zap.Logger) {
	absent := c.absent()
	if len(absent) == 0 {
		return
	}
	var names []string
	for _, r := range absent {
		names = append(names, r.name)
		for _, u := range r.unheeded {
			u.warn(groups, r.entry().Absence())
		}
	}
	log.Warn("admission plugins that kube-apiserver has by default are not here: what they would refuse is accepted, "+
		"and what they would change stays as it is", zap.Strings("plugins", names))
}

// warn makes the strategy of the resource, if it is among groups, warn clients with text. Other
// resources stay as they are, so that their writes cost nothing more.
func (u *unheeded) warn(groups []generic.Group, text string) {
	for _, g := range groups {
		for i := range g.Resources {
			res := &g.Resources[i]
			if !g.BuiltIn || res.GroupResource != u.resource {
				continue
			}
			others := res.Strategy.Warnings
			res.Strategy.Warnings = func(obj, old meta.Object) (list []string) {
				if others != nil {
					list = others(obj, old)
				}
				if u.says == nil || u.says(obj, old) {
					list = append(list, text)
				}
				return list
			}
		}
	}
}
