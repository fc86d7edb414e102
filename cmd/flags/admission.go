package flags

import (
	"fmt"
	"maps"
	"slices"

	"github.com/coracle-project/coracle/server"
)

// plugins is what flags about admission say.
type plugins struct {
	enable, disable, only []string
	notReady, unreachable int64
}

// absentPlugins are the admission plugins of kube-apiserver that this server has not. Those with a reason guard something: who names
// them relies on that.
var absentPlugins = map[string]string{
	"AlwaysAdmit":                          "",
	"AlwaysDeny":                           "nothing is denied for its sake",
	"AlwaysPullImages":                     "pods could use images of others without having a right to pull them",
	"ClusterTrustBundleAttest":             "rights to attest are not asked for by signer",
	"DefaultIngressClass":                  "",
	"DefaultStorageClass":                  "",
	"DenyServiceExternalIPs":               "services may have externalIPs",
	"EventRateLimit":                       "nothing bounds events but what bounds all requests",
	"ExtendedResourceToleration":           "",
	"ImagePolicyWebhook":                   "nobody is asked about images",
	"JobValidation":                        "",
	"LimitPodHardAntiAffinityTopology":     "pods may keep others off by any topology",
	"LimitRanger":                          "LimitRanges bound nothing",
	"MutatingAdmissionPolicy":              "policies change nothing",
	"MutatingAdmissionWebhook":             "webhooks are not asked",
	"NamespaceAutoProvision":               "",
	"NamespaceExists":                      "",
	"NodeDeclaredFeatureValidator":         "",
	"OwnerReferencesPermissionEnforcement": "who may write an object may name any owner",
	"PersistentVolumeClaimResize":          "any claim may ask for more",
	"PodGroupProtection":                   "",
	"PodGroupWorkloadExists":               "",
	"PodNodeSelector":                      "pods may go to any node",
	"PodResizeValidator":                   "",
	"PodSecurity":                          "pods may do what the labels of their namespace forbid",
	"PodTolerationRestriction":             "pods may tolerate any taint",
	"ResourceQuota":                        "ResourceQuotas bound nothing",
	"RuntimeClass":                         "",
	"ServiceAccount":                       "",
	"ValidatingAdmissionPolicy":            "policies refuse nothing",
	"ValidatingAdmissionWebhook":           "webhooks are not asked",
}

func (o *Options) bindAdmission(s *section) {
	p := &o.admission
	s.StringSliceVar(&p.enable, "enable-admission-plugins", nil, "admission plugins to have beside those that are there by default")
	s.StringSliceVar(&p.disable, "disable-admission-plugins", nil, "admission plugins not to have")
	s.StringSliceVar(&p.only, "admission-control", nil, "the only admission plugins to have")
	s.deprecate("admission-control", "Use --enable-admission-plugins or --disable-admission-plugins instead. Will be removed in a future version.")
	s.String("admission-control-config-file", "", "AdmissionConfiguration file: what plugins are to know")
	s.refuse("no plugin that it can be about is here, and those guard something", "admission-control-config-file")
	s.Int64Var(&p.notReady, "default-not-ready-toleration-seconds", 300, "how long pods that do not say stay on a node that is not ready")
	s.Int64Var(&p.unreachable, "default-unreachable-toleration-seconds", 300, "how long pods that do not say stay on a node that cannot be reached")
}

func (o *Options) finishAdmission() error {
	p, c, here := &o.admission, &o.config.Admission, server.AdmissionPlugins()
	if err := o.checkPlugins(here); err != nil {
		return err
	}
	enable, disable := p.enable, p.disable
	if o.given("admission-control") {
		all := slices.Concat(here, slices.Collect(maps.Keys(absentPlugins)))
		enable, disable = p.only, slices.DeleteFunc(all, func(name string) bool { return slices.Contains(p.only, name) })
	}
	for _, name := range enable {
		o.judgePlugin(name)
	}
	absent := func(name string) bool { return !slices.Contains(here, name) }
	c.Enable = slices.DeleteFunc(slices.Clone(enable), absent)
	c.Disable = append(c.Disable, slices.DeleteFunc(slices.Clone(disable), absent)...) // gates may have left some out
	c.NotReadySeconds, c.UnreachableSeconds = &p.notReady, &p.unreachable
	return nil
}

// checkPlugins returns what is wrong with what is said of plugins, of which some are here.
func (o *Options) checkPlugins(here []string) error {
	p := &o.admission
	unknown := func(name string) bool {
		_, absent := absentPlugins[name]
		return !absent && !slices.Contains(here, name)
	}
	var m mistakes
	if o.given("admission-control") && (o.given("enable-admission-plugins") || o.given("disable-admission-plugins")) {
		m.add("admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive")
	}
	for _, list := range []struct {
		flag  string
		names []string
	}{{"admission-control", p.only}, {"enable-admission-plugins", p.enable}, {"disable-admission-plugins", p.disable}} {
		for _, name := range list.names {
			if unknown(name) {
				m.add("%s plugin %q is unknown", list.flag, name)
			}
		}
	}
	both := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(p.enable))), func(name string) bool { return !slices.Contains(p.disable, name) })
	if len(both) > 0 {
		m.add("%v in enable-admission-plugins and disable-admission-plugins overlapped", both)
	}
	return m.err()
}

// judgePlugin refuses a plugin that guards something and is not here, and says of others that they are not.
func (o *Options) judgePlugin(name string) {
	switch why, absent := absentPlugins[name]; {
	case !absent:
	case why != "":
		o.refusals = append(o.refusals, fmt.Errorf("the admission plugin %s is refused: it is not here, so %s", name, why))
	default:
		o.warnings = append(o.warnings, "the admission plugin "+name+" is not here")
	}
}
