package flags

import (
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/server/plugins"
)

// admission holds the values of the section "Admission".
type admission struct {
	enable, disable, only []string // plugins of --enable-..., --disable-admission-plugins and --admission-control
	notReady, unreachable int64    // seconds
}

// bindAdmission declares the flags about admission plugins.
func (o *Options) bindAdmission(s *section) {
	p := &o.admission
	s.StringSliceVar(&p.enable, "enable-admission-plugins", nil,
		"admission plugins to run in addition to those that run by default, separated by commas")
	s.StringSliceVar(&p.disable, "disable-admission-plugins", nil, "admission plugins not to run, separated by commas")
	s.StringSliceVar(&p.only, "admission-control", nil, "all admission plugins to run, separated by commas")
	s.deprecate("admission-control",
		"Use --enable-admission-plugins or --disable-admission-plugins instead. Will be removed in a future version.")
	s.StringVar(&o.config.Admission.ConfigFile, "admission-control-config-file", "",
		"AdmissionConfiguration file, which configures admission plugins")
	s.Int64Var(&p.notReady, "default-not-ready-toleration-seconds", 300,
		"seconds that a pod stays on a node that is not ready, unless the pod says otherwise")
	s.Int64Var(&p.unreachable, "default-unreachable-toleration-seconds", 300,
		"seconds that a pod stays on a node that cannot be reached, unless the pod says otherwise")
}

// finishAdmission turns plugins on and off in the Config. --admission-control is an older flag that
// lists all plugins to run: every other plugin that would be on is turned off. NodeRestriction is
// among them, because an authorization mode can turn it on.
func (o *Options) finishAdmission() error {
	byName := map[string]plugins.Entry{}
	for _, p := range plugins.Table() {
		byName[p.Name] = p
	}
	if err := o.checkPlugins(byName); err != nil {
		return err
	}
	p, c := &o.admission, &o.config.Admission
	enable, disable := p.enable, p.disable
	if o.given("admission-control") {
		enable, disable = p.only, nil
		for _, plugin := range plugins.Table() {
			if (plugin.Default || plugin.Name == "NodeRestriction") && !slices.Contains(p.only, plugin.Name) {
				disable = append(disable, plugin.Name)
			}
		}
	}
	for _, name := range enable {
		if name == "AlwaysAdmit" || name == "AlwaysDeny" {
			o.warn("admission plugin is deprecated", zap.String("plugin", name))
		}
		c.Enable = append(c.Enable, name)
	}
	c.Disable = append(c.Disable, disable...) // applyGates may have disabled plugins before
	c.NotReadySeconds, c.UnreachableSeconds = &p.notReady, &p.unreachable
	return nil
}

// checkPlugins returns what is wrong with the lists of plugins. About a plugin that Kubernetes has
// removed, it says more than kube-apiserver: what to use instead.
func (o *Options) checkPlugins(byName map[string]plugins.Entry) error {
	p := &o.admission
	var m mistakes
	if o.given("admission-control") && (o.given("enable-admission-plugins") || o.given("disable-admission-plugins")) {
		m.add("admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive")
	}
	for _, list := range []struct {
		flag  string
		names []string
	}{{"admission-control", p.only}, {"enable-admission-plugins", p.enable}, {"disable-admission-plugins", p.disable}} {
		for _, name := range list.names {
			if _, is := byName[name]; is {
				continue
			}
			text := fmt.Sprintf("%s plugin %q is unknown", list.flag, name)
			if instead := plugins.Removed(name); instead != "" {
				text += ": " + instead
			}
			m.add("%s", text)
		}
	}
	both := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(p.enable))),
		func(name string) bool { return !slices.Contains(p.disable, name) })
	if len(both) > 0 {
		m.add("%v in enable-admission-plugins and disable-admission-plugins overlapped", both)
	}
	return m.err()
}
