package plugins

import (
	"slices"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
)

// This file tells users which of Kubernetes' plugins are here, and how the server behaves without
// the absent ones. Package server calls TellAbsence at its start; cmd and the docs read Table.

// Entry describes an admission plugin of kube-apiserver 1.36, which may be absent here.
type Entry struct {
	Name string
	// Default says that kube-apiserver has the plugin on by default.
	Default bool
	// Here says that this server has the plugin. It has the plugin on by default if kube-apiserver
	// does. NodeRestriction is also on by default if the authorization mode Node is on.
	Here bool
	// Idle says why a plugin that is Here has nothing to do, as a clause; "" for all others.
	// kube-apiserver with its default gates does nothing there, either.
	Idle string
	// Guards says that users rely on the plugin to refuse certain writes. If such a plugin is not
	// Here, a command line that enables it is refused. For other plugins that are not Here, a
	// warning is enough.
	Guards bool
	// Consequence says how a server without the plugin behaves, as a clause; "" if the plugin is
	// Here, or if nobody could see a difference.
	Consequence string
	// IgnoredResources are the resources whose objects configure the plugin. If it is not Here,
	// clients that write such an object are warned.
	IgnoredResources []meta.GroupResource
}

// Absence returns a text that says that the plugin is not here, and how the server behaves without
// it. Clients that write an object of a resource in IgnoredResources get the text as a warning, and
// users who enable the plugin by a flag read it in the log.
func (e Entry) Absence() string {
	text := "the admission plugin " + e.Name + " is not here"
	if e.Consequence != "" {
		text += ", so " + e.Consequence
	}
	return text
}

// Table returns all plugins of kube-apiserver, in the order of the table.
func Table() (list []Entry) {
	for i := range table {
		if r := &table[i]; r.on != always {
			list = append(list, r.entry())
		}
	}
	return list
}

// here reports whether the plugin is here.
func (r *row) here() bool { return r.make != nil || r.idle != "" }

// entry returns the public part of a row.
func (r *row) entry() Entry {
	return Entry{
		Name: r.name, Default: r.on == byDefault, Here: r.here(), Idle: r.idle,
		Guards: r.guards, Consequence: r.consequence, IgnoredResources: r.ignored,
	}
}

// absent returns the absent plugins that kube-apiserver has on by default. It leaves out those that
// the configuration disables, because a user who disables a plugin does not expect it.
func (c *Config) absent() (list []*row) {
	for i := range table {
		if r := &table[i]; r.on == byDefault && !r.here() && !slices.Contains(c.Disable, r.name) {
			list = append(list, r)
		}
	}
	return list
}

// TellAbsence names the absent plugins that kube-apiserver has on by default, except those in
// c.Disable: once in the log, and in warnings to clients that write an object which would configure
// such a plugin. To warn, it changes the strategies of the resources in groups. The caller
// therefore calls it before it installs the groups.
func (c *Config) TellAbsence(groups []generic.Group, log *zap.Logger) {
	absent := c.absent()
	if len(absent) == 0 {
		return
	}
	var names []string
	for _, r := range absent {
		names = append(names, r.name)
		for _, gr := range r.ignored {
			warn(groups, gr, r.entry().Absence())
		}
	}
	log.Warn("some of kube-apiserver's default admission plugins are absent", zap.Strings("absent", names),
		zap.String("effect", "the server accepts writes that an absent plugin would refuse or change"))
}

// warn makes the strategy of a resource warn clients with text, if a built-in group of groups has
// that resource. The warnings that the strategy gives already come first.
func warn(groups []generic.Group, resource meta.GroupResource, text string) {
	for _, g := range groups {
		for i := range g.Resources {
			res := &g.Resources[i]
			if !g.BuiltIn || res.GroupResource != resource {
				continue
			}
			others := res.Strategy.Warnings
			res.Strategy.Warnings = func(obj, old meta.Object) (list []string) {
				if others != nil {
					list = others(obj, old)
				}
				return append(list, text)
			}
		}
	}
}
