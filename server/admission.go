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
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/schedulingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// admissionEnv is what plugins are made of.
type admissionEnv struct {
	AdmissionConfig
	stores Stores
	may    request.Authorizer
}

// nodeRestriction is the plugin that is there where kubelets are let in.
const nodeRestriction = "NodeRestriction"

// admissionPlugin is a plugin of kube-apiserver 1.36.
type admissionPlugin struct {
	name      string
	byDefault bool // kube-apiserver has the plugin unless it is told otherwise
	// make makes the plugin; nil: the plugin is absent here.
	make func(e admissionEnv) admission.Plugin
	// without says what is so on a server that lacks the plugin; "": nothing that anybody could
	// see.
	without string
	// guards: who asks for the plugin relies on what it refuses.
	guards bool
	// unheeded are the built-in resources whose objects tell the plugin what to do.
	unheeded []unheeded
}

// unheeded are objects that tell a plugin what to do.
type unheeded struct {
	resource meta.GroupResource
	// says reports whether a write of obj tells the plugin anything; nil: each write does. old is
	// nil for a create.
	says func(obj, old meta.Object) bool
}

// admissionPlugins are all plugins of kube-apiserver 1.36, in the order in which they run. A plugin
// that is written takes make in the place of without, guards and unheeded: nothing is refused or
// said about it any more, and the docs have to follow.
var admissionPlugins = []admissionPlugin{
	{name: "AlwaysAdmit"},
	{name: "NamespaceAutoProvision", without: "a namespace must be there before its objects"},
	{name: "NamespaceLifecycle", byDefault: true, make: func(e admissionEnv) admission.Plugin {
		return admission.NewNamespaceLifecycle(known{e.stores, namespaces})
	}},
	{name: "NamespaceExists", without: "NamespaceLifecycle alone looks for namespaces"},
	{name: "LimitPodHardAntiAffinityTopology", guards: true, without: "pods may keep others off by any topology"},
	{name: "LimitRanger", byDefault: true, guards: true, without: "LimitRanges bound nothing and give no defaults",
		unheeded: []unheeded{{resource: limitRanges}}},
	{name: "ServiceAccount", byDefault: true, without: "pods get no service account and no token, and may name any service account"},
	{name: nodeRestriction, make: func(e admissionEnv) admission.Plugin {
		return admission.NewNodeRestriction(nodeObjects{e.stores}, e.may)
	}},
	{name: "TaintNodesByCondition", byDefault: true, make: func(admissionEnv) admission.Plugin { return admission.TaintNodesByCondition{} }},
	{name: "AlwaysPullImages", guards: true, without: "pods could use images of others without having a right to pull them"},
	{name: "ImagePolicyWebhook", guards: true, without: "nobody is asked about images"},
	{name: "PodSecurity", byDefault: true, guards: true, without: "pods may do what the labels of their namespace forbid",
		unheeded: []unheeded{{namespaces, limitsPods}}},
	{name: "PodNodeSelector", guards: true, without: "pods may go to any node"},
	{name: "Priority", byDefault: true, make: func(e admissionEnv) admission.Plugin {
		return admission.NewPriority(registry.KnownOf[*schedulingv1.PriorityClass](e.stores, priorityClasses))
	}},
	{name: "DefaultTolerationSeconds", byDefault: true, make: func(e admissionEnv) admission.Plugin {
		return admission.DefaultTolerationSeconds{NotReady: e.NotReadySeconds, Unreachable: e.UnreachableSeconds}
	}},
	{name: "PodTolerationRestriction", guards: true, without: "pods may tolerate any taint"},
	{name: "EventRateLimit", guards: true, without: "nothing bounds events but what bounds all requests"},
	{name: "ExtendedResourceToleration", without: "pods get no tolerations for the extended resources that they ask for"},
	{name: "DefaultStorageClass", byDefault: true, without: "claims that name no storage class get none"},
	{name: "StorageObjectInUseProtection", byDefault: true, make: func(admissionEnv) admission.Plugin {
		return admission.StorageObjectInUseProtection{}
	}},
	{name: "PodGroupProtection", byDefault: true, without: "pod groups, which are not served, get no finalizer"},
	{name: "OwnerReferencesPermissionEnforcement", guards: true, without: "who may write an object may name any owner"},
	{name: "PersistentVolumeClaimResize", byDefault: true, guards: true, without: "any claim may ask for more"},
	{name: "RuntimeClass", byDefault: true, without: "RuntimeClasses do not change pods, and pods may name any"},
	{name: "CertificateApproval", byDefault: true, make: func(e admissionEnv) admission.Plugin {
		return admission.NewCertificateApproval(e.may)
	}},
	{name: "CertificateSigning", byDefault: true, make: func(e admissionEnv) admission.Plugin {
		return admission.NewCertificateSigning(e.may)
	}},
	{name: "ClusterTrustBundleAttest", byDefault: true, guards: true, without: "rights to attest are not asked for by signer"},
	{name: "CertificateSubjectRestriction", byDefault: true, make: func(admissionEnv) admission.Plugin {
		return admission.CertificateSubjectRestriction{}
	}},
	{name: "DefaultIngressClass", byDefault: true, without: "ingresses that name no class get none"},
	{name: "DenyServiceExternalIPs", guards: true, without: "services may have externalIPs"},
	{name: "PodTopologyLabels", byDefault: true, make: func(e admissionEnv) admission.Plugin {
		return admission.NewPodTopologyLabels(known{e.stores, nodes})
	}},
	{name: "PodGroupWorkloadExists", byDefault: true, without: "pod groups, which are not served, may name any workload"},
	{name: "NodeDeclaredFeatureValidator", byDefault: true,
		without: "bound pods may be changed to need features that their node does not declare"},
	{name: "JobValidation", byDefault: true, without: "the parallelism of jobs whose pods are scheduled as a gang may change"},
	{name: "PodResizeValidator", byDefault: true, without: "bound pods may be resized beyond what their node has"},
	{name: "MutatingAdmissionPolicy", byDefault: true, guards: true, without: "policies change nothing",
		unheeded: []unheeded{
			{resource: registration("mutatingadmissionpolicies")}, {resource: registration("mutatingadmissionpolicybindings")},
		}},
	{name: "MutatingAdmissionWebhook", byDefault: true, guards: true, without: "webhooks are not asked",
		unheeded: []unheeded{{resource: registration("mutatingwebhookconfigurations")}}},
	{name: "ValidatingAdmissionPolicy", byDefault: true, guards: true, without: "policies refuse nothing",
		unheeded: []unheeded{
			{resource: registration("validatingadmissionpolicies")}, {resource: registration("validatingadmissionpolicybindings")},
		}},
	{name: "ValidatingAdmissionWebhook", byDefault: true, guards: true, without: "webhooks are not asked",
		unheeded: []unheeded{{resource: registration("validatingwebhookconfigurations")}}},
	{name: "ResourceQuota", byDefault: true, guards: true, without: "ResourceQuotas bound nothing",
		unheeded: []unheeded{{resource: resourceQuotas}}},
	{name: "AlwaysDeny", guards: true, without: "nothing is denied for its sake"},
}

// admissionReads are the resources in which plugins look something up for ordinary writes.
var admissionReads = []meta.GroupResource{namespaces, priorityClasses}

var (
	limitRanges    = meta.GroupResource{Resource: "limitranges"}
	resourceQuotas = meta.GroupResource{Resource: "resourcequotas"}
)

// registration is a resource that registers webhooks or policies.
func registration(resource string) meta.GroupResource {
	return meta.GroupResource{Group: admissionregistrationv1.GroupVersion.Group, Resource: resource}
}

// limitsPods reports whether a write of a namespace adds or changes a label that forbids pods
// something, or warns of it. The level privileged forbids nothing.
func limitsPods(obj, old meta.Object) bool {
	var before map[string]string
	if old != nil {
		before = old.GetObjectMeta().Labels
	}
	for key, value := range obj.GetObjectMeta().Labels {
		had, has := before[key]
		if strings.HasPrefix(key, "pod-security.kubernetes.io/") && value != "privileged" && (!has || had != value) {
			return true
		}
	}
	return false
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
func AdmissionPlugins() []AdmissionPlugin {
	list := make([]AdmissionPlugin, len(admissionPlugins))
	for i := range admissionPlugins {
		list[i] = admissionPlugins[i].described()
	}
	return list
}

func (p *admissionPlugin) described() AdmissionPlugin {
	d := AdmissionPlugin{Name: p.name, Default: p.byDefault, Here: p.make != nil, Guards: p.guards, Without: p.without}
	for _, u := range p.unheeded {
		d.Unheeded = append(d.Unheeded, u.resource)
	}
	return d
}

func (c *AdmissionConfig) validate() error {
	var errs []error
	for _, name := range slices.Concat(c.Enable, c.Disable) {
		i := slices.IndexFunc(admissionPlugins, func(p admissionPlugin) bool { return p.name == name })
		switch {
		case i < 0:
			errs = append(errs, fmt.Errorf("unknown admission plugin %q: there are %s", name, strings.Join(admissionPluginNames(), ", ")))
		case admissionPlugins[i].make == nil && slices.Contains(c.Enable, name):
			errs = append(errs, fmt.Errorf("the admission plugin %s cannot be enabled: it is not here", name))
		}
	}
	return errors.Join(errs...)
}

// admissionPluginNames are the names of all plugins that AdmissionConfig.Disable may have.
func admissionPluginNames() (names []string) {
	for _, p := range admissionPlugins {
		names = append(names, p.name)
	}
	return names
}

// newAdmission makes the chain of plugins that every write passes. kubelets are restricted where a
// mode lets them in. Two plugins cannot be switched off, because the API depends on them:
// DeviceAdminAccess, ClaimStatus.
func newAdmission(c AdmissionConfig, kubelets bool, resources Stores, may request.Authorizer) (admission.Chain, error) {
	env, chain := admissionEnv{c, resources, may}, admission.Chain{}
	for _, p := range admissionPlugins {
		on := p.byDefault || p.name == nodeRestriction && kubelets
		if p.make != nil && (on && !slices.Contains(c.Disable, p.name) || slices.Contains(c.Enable, p.name)) {
			chain = append(chain, p.make(env))
		}
	}
	chain = append(chain, admission.NewDeviceAdminAccess(known{resources, namespaces}), admission.NewClaimStatus(may))
	if c.Plugins == nil {
		return chain, nil
	}
	more, err := c.Plugins(resources)
	return append(chain, more...), err
}

// absent are the plugins that kube-apiserver would have by default, and this server has not,
// without those that the configuration disables: who does that knows.
func (c *AdmissionConfig) absent() (list []*admissionPlugin) {
	for i := range admissionPlugins {
		if p := &admissionPlugins[i]; p.byDefault && p.make == nil && !slices.Contains(c.Disable, p.name) {
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

// known is what admission is told about the objects of a resource. On a server without it
// everything will do, and nothing has labels.
type known struct {
	resources Stores
	resource  meta.GroupResource
}

// Field implements admission.Namespaces.
func (k known) Field(ctx context.Context, namespace, name, path, resourceVersion string) (string, error) {
	store := k.resources.Store(k.resource)
	if store == nil {
		return "", nil
	}
	return store.Field(ctx, namespace, name, path, resourceVersion)
}

// Label implements admission.Labels.
func (k known) Label(ctx context.Context, namespace, name, key string) (value string, ok bool, err error) {
	store := k.resources.Store(k.resource)
	if store == nil {
		return "", false, nil
	}
	return store.Label(ctx, namespace, name, key)
}
