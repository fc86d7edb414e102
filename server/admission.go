package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// admissionNeeds is what plugins are made of. All of it looks resources up by name when it is
// asked, as there are none yet.
type admissionNeeds struct {
	AdmissionConfig
	stores     Stores
	may        request.Authorizer
	namespaces *admission.Namespaces
	nodeLabels admission.NodeLabels
}

func newAdmissionNeeds(c AdmissionConfig, stores Stores, may request.Authorizer) *admissionNeeds {
	reads := admissionReader{stores}
	return &admissionNeeds{
		AdmissionConfig: c, stores: stores, may: may,
		namespaces: admission.NewNamespaces(reads.namespace), nodeLabels: reads.nodeLabels,
	}
}

// admissionReader reads what several plugins need.
type admissionReader struct{ Stores }

// namespace is for admission.Namespaces. On a server without namespaces every name will do, and
// none has labels.
func (s admissionReader) namespace(ctx context.Context, name string, fresh bool) (admission.Namespace, error) {
	resourceVersion := "0"
	if fresh {
		resourceVersion = ""
	}
	found, ok, err := s.selectable(ctx, namespaces, name, resourceVersion)
	if !ok || err != nil {
		return admission.Namespace{Labels: meta.Set(nil)}, err
	}
	return admission.Namespace{Labels: found.Labels(), Terminating: found.Field("status.phase") == "Terminating"}, nil
}

// nodeLabels implements admission.NodeLabels. On a server without nodes none has labels.
func (s admissionReader) nodeLabels(ctx context.Context, node string) (meta.Lookup, error) {
	found, ok, err := s.selectable(ctx, nodes, node, "")
	if !ok || err != nil {
		return meta.Set(nil), err
	}
	return found.Labels(), nil
}

// selectable is what selectors see of an object outside of namespaces. ok: there is such a
// resource.
func (s admissionReader) selectable(ctx context.Context, of meta.GroupResource, name, version string) (found registry.Selectable, ok bool, err error) {
	store := s.Store(of)
	if store == nil {
		return found, false, nil
	}
	found, err = store.Selectable(ctx, "", name, version)
	return found, true, err
}

// newAdmission makes the chain of plugins that every write passes, in the order of the table.
// kubelets are restricted where a mode lets them in. Plugins of the configuration come after those
// of the table.
func newAdmission(c AdmissionConfig, kubelets bool, resources Stores, may request.Authorizer) (admission.Chain, error) {
	needs, chain := newAdmissionNeeds(c, resources, may), admission.Chain{}
	for i := range admissionPlugins {
		p := &admissionPlugins[i]
		on := p.on == byDefault || p.name == nodeRestriction && kubelets
		on = on && !slices.Contains(c.Disable, p.name) || slices.Contains(c.Enable, p.name) || p.on == always
		if on && p.make != nil {
			chain = append(chain, p.make(needs))
		}
	}
	if c.Plugins == nil {
		return chain, nil
	}
	more, err := c.Plugins(resources)
	return append(chain, more...), err
}

// admissionReads are the resources in which plugins look something up for ordinary writes.
func admissionReads() (list []meta.GroupResource) {
	for i := range admissionPlugins {
		for _, gr := range admissionPlugins[i].reads {
			if !slices.Contains(list, gr) {
				list = append(list, gr)
			}
		}
	}
	return list
}

// AdmissionPlugin is an admission plugin of kube-apiserver 1.36, which may be absent here.
type AdmissionPlugin struct {
	Name string
	// Default: kube-apiserver has the plugin unless it is told otherwise.
	Default bool
	// Here: this server has it, by default as well, but for NodeRestriction: see AuthorizeNode.
	Here bool
	// Guards: who asks for a plugin that is not Here must be refused, because they rely on it.
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
func (p AdmissionPlugin) Absence() string {
	text := "the admission plugin " + p.Name + " is not here"
	if p.Without != "" {
		text += ", so " + p.Without
	}
	return text
}

// AdmissionPlugins returns all plugins of kube-apiserver, in the order in which they run.
func AdmissionPlugins() (list []AdmissionPlugin) {
	for i := range admissionPlugins {
		if p := &admissionPlugins[i]; p.on != always {
			list = append(list, p.described())
		}
	}
	return list
}

func (p *admissionPlugin) described() AdmissionPlugin {
	d := AdmissionPlugin{Name: p.name, Default: p.on == byDefault, Here: p.make != nil, Guards: p.guards, Without: p.without}
	for _, u := range p.unheeded {
		d.Unheeded = append(d.Unheeded, u.resource)
	}
	return d
}

func (c *AdmissionConfig) validate() error {
	all := AdmissionPlugins()
	var errs []error
	for _, name := range slices.Concat(c.Enable, c.Disable) {
		i := slices.IndexFunc(all, func(p AdmissionPlugin) bool { return p.Name == name })
		switch {
		case i < 0:
			errs = append(errs, fmt.Errorf("unknown admission plugin %q: there are %s", name, strings.Join(admissionPluginNames(), ", ")))
		case !all[i].Here && slices.Contains(c.Enable, name):
			errs = append(errs, fmt.Errorf("the admission plugin %s cannot be enabled: it is not here", name))
		}
	}
	return errors.Join(errs...)
}

// admissionPluginNames are the names of all plugins that AdmissionConfig.Disable may have.
func admissionPluginNames() (names []string) {
	for _, p := range AdmissionPlugins() {
		names = append(names, p.Name)
	}
	return names
}

// absent are the plugins that kube-apiserver would have by default, and this server has not,
// without those that the configuration disables: who does that knows.
func (c *AdmissionConfig) absent() (list []*admissionPlugin) {
	for i := range admissionPlugins {
		if p := &admissionPlugins[i]; p.on == byDefault && p.make == nil && !slices.Contains(c.Disable, p.name) {
			list = append(list, p)
		}
	}
	return list
}

// tellAbsence says which plugins are absent: once in the log, and to every client that writes an
// object of Kubernetes' own groups which one of them would have heeded. Nothing is said on a server
// without these groups, or with a profile of them: it serves nothing that the plugins judge.
func (c *completed) tellAbsence(groups []Group) {
	absent := c.Admission.absent()
	if !c.API.Core || c.API.Profile != "" || len(absent) == 0 {
		return
	}
	var names []string
	for _, p := range absent {
		names = append(names, p.name)
		for _, u := range p.unheeded {
			u.warn(groups, p.described().Absence())
		}
	}
	c.Log.Warn("admission plugins that kube-apiserver has by default are not here: what they would refuse is accepted, and what they "+
		"would change stays as it is", zap.Strings("plugins", names))
}

// warn has the strategy of the resource, if it is served, warn clients with text. Other resources
// stay as they are, so that their writes cost nothing more.
func (u *unheeded) warn(groups []Group, text string) {
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
