package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
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

// builtInPlugins are the plugins that there are, in the order in which they run, which is kube-apiserver's.
var builtInPlugins = []struct {
	name string
	make func(e admissionEnv) admission.Plugin
}{
	{"NamespaceLifecycle", func(e admissionEnv) admission.Plugin {
		return admission.NewNamespaceLifecycle(known{e.stores, namespaces})
	}},
	{nodeRestriction, func(e admissionEnv) admission.Plugin {
		return admission.NewNodeRestriction(nodeObjects{e.stores}, e.may)
	}},
	{"TaintNodesByCondition", func(admissionEnv) admission.Plugin { return admission.TaintNodesByCondition{} }},
	{"Priority", func(e admissionEnv) admission.Plugin {
		return admission.NewPriority(registry.KnownOf[*schedulingv1.PriorityClass](e.stores, priorityClasses))
	}},
	{"DefaultTolerationSeconds", func(e admissionEnv) admission.Plugin {
		return admission.DefaultTolerationSeconds{NotReady: e.NotReadySeconds, Unreachable: e.UnreachableSeconds}
	}},
	{"StorageObjectInUseProtection", func(admissionEnv) admission.Plugin { return admission.StorageObjectInUseProtection{} }},
	{"CertificateApproval", func(e admissionEnv) admission.Plugin { return admission.NewCertificateApproval(e.may) }},
	{"CertificateSigning", func(e admissionEnv) admission.Plugin { return admission.NewCertificateSigning(e.may) }},
	{"CertificateSubjectRestriction", func(admissionEnv) admission.Plugin { return admission.CertificateSubjectRestriction{} }},
	{"PodTopologyLabels", func(e admissionEnv) admission.Plugin {
		return admission.NewPodTopologyLabels(known{e.stores, nodes})
	}},
}

// AdmissionPlugins returns the names of the built-in plugins that can be turned on and off.
func AdmissionPlugins() []string {
	var list []string
	for _, p := range builtInPlugins {
		list = append(list, p.name)
	}
	return list
}

func (c *AdmissionConfig) validate() error {
	all := AdmissionPlugins()
	for _, name := range slices.Concat(c.Enable, c.Disable) {
		if !slices.Contains(all, name) {
			return fmt.Errorf("unknown admission plugin %q: there are %s", name, strings.Join(all, ", "))
		}
	}
	return nil
}

// newAdmission makes the chain of plugins that every write passes. kubelets are restricted where a mode lets them in. What the API is
// not whole without is always there.
func newAdmission(c AdmissionConfig, kubelets bool, resources Stores, may request.Authorizer) (admission.Chain, error) {
	env, chain := admissionEnv{c, resources, may}, admission.Chain{}
	for _, p := range builtInPlugins {
		on := p.name != nodeRestriction || kubelets
		if on && !slices.Contains(c.Disable, p.name) || slices.Contains(c.Enable, p.name) {
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

// known is what admission is told about the objects of a resource. On a server without it everything will do, and nothing has
// labels.
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
