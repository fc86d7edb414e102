package plugins

import (
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/noderestriction"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/schedulingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file is the table of admission plugins, and the names of the resources that they read. New,
// Config and Table read the table. cmd/flags makes the list of absent plugins in docs/flags.md from
// the texts in consequence. The package comment says how to add a plugin.

// wanted says when a plugin is on.
type wanted uint8

const (
	ifAsked   wanted = iota // if the configuration enables it
	byDefault               // unless the configuration disables it
	// withKubelets is byDefault on a server that lets kubelets in, and ifAsked elsewhere.
	withKubelets
	always // the API depends on the plugin, and a configuration must not name it
)

// row is one plugin of the table.
type row struct {
	name string
	on   wanted // as in kube-apiserver, apart from plugins with always, which it does not have
	// make makes the plugin; nil if the plugin is absent.
	make func(n *needs) (admission.Plugin, error)
	// reads are the resources that the plugin reads for ordinary writes. The server loads them
	// before it is ready.
	reads []meta.GroupResource

	// The next three fields are for absent plugins: see Entry.Consequence, Guards and
	// IgnoredResources.
	consequence string
	guards      bool
	ignored     []ignoredResource // built-in resources only

	// after is Plugin.After of an own plugin, "" for all others.
	after string
}

// ignoredResource are the objects of a resource that configure an absent plugin.
type ignoredResource struct {
	resource meta.GroupResource
	// says reports whether a write that turns old into obj would configure the plugin. old is nil
	// for a create. If says is nil, every write does.
	says func(obj, old meta.Object) bool
}

// table has all plugins of kube-apiserver 1.36 in their order, and then two plugins whose work
// Kubernetes does in strategies. The position of a row orders plugins only within a phase: all
// mutators run first, then all validators, then all reservers.
var table = []row{
	{name: "AlwaysAdmit"},
	{name: "NamespaceAutoProvision", consequence: "a namespace must be there before its objects"},
	{name: "NamespaceLifecycle", on: byDefault, reads: []meta.GroupResource{namespaces},
		make: func(n *needs) (admission.Plugin, error) {
			return admission.NewNamespaceLifecycle(n.namespaces), nil
		}},
	{name: "NamespaceExists", consequence: "NamespaceLifecycle alone looks for namespaces"},
	{name: "LimitPodHardAntiAffinityTopology", guards: true, consequence: "pods may keep others off by any topology"},
	{name: "LimitRanger", on: byDefault, guards: true, consequence: "LimitRanges bound nothing and give no defaults",
		ignored: []ignoredResource{{resource: limitRanges}}},
	{name: "ServiceAccount", on: byDefault,
		consequence: "pods get no service account and no token, and may name any service account"},
	{name: "NodeRestriction", on: withKubelets, make: func(n *needs) (admission.Plugin, error) {
		return noderestriction.New(nodeObjects{n.stores}, n.may), nil
	}},
	{name: "TaintNodesByCondition", on: byDefault, make: func(*needs) (admission.Plugin, error) {
		return admission.TaintNodesByCondition{}, nil
	}},
	{name: "AlwaysPullImages", guards: true,
		consequence: "pods could use images of others without having a right to pull them"},
	{name: "ImagePolicyWebhook", make: func(n *needs) (admission.Plugin, error) {
		return admission.NewImagePolicyWebhook(n.configuration, n.dialImageReviewer)
	}},
	{name: "PodSecurity", on: byDefault, guards: true,
		consequence: "pods may do what the labels of their namespace forbid",
		ignored:     []ignoredResource{{namespaces, limitsPods}}},
	{name: "PodNodeSelector", make: func(n *needs) (admission.Plugin, error) {
		return admission.NewPodNodeSelector(n.configuration, n.annotations)
	}},
	{name: "Priority", on: byDefault, reads: []meta.GroupResource{priorityClasses},
		make: func(n *needs) (admission.Plugin, error) {
			return admission.NewPriority(
				registry.NewListMemo[*schedulingv1.PriorityClass](n.stores, priorityClasses)), nil
		}},
	{name: "DefaultTolerationSeconds", on: byDefault, make: func(n *needs) (admission.Plugin, error) {
		return admission.DefaultTolerationSeconds{
			NotReady: n.config.NotReadySeconds, Unreachable: n.config.UnreachableSeconds,
		}, nil
	}},
	{name: "PodTolerationRestriction", make: func(n *needs) (admission.Plugin, error) {
		return admission.NewPodTolerationRestriction(n.configuration, n.annotations, podspec.Tolerations)
	}},
	{name: "EventRateLimit", make: func(n *needs) (admission.Plugin, error) {
		return admission.NewEventRateLimit(n.configuration)
	}},
	{name: "ExtendedResourceToleration",
		consequence: "pods get no tolerations for the extended resources that they ask for"},
	{name: "DefaultStorageClass", on: byDefault, consequence: "claims that name no storage class get none"},
	{name: "StorageObjectInUseProtection", on: byDefault, make: func(*needs) (admission.Plugin, error) {
		return admission.StorageObjectInUseProtection{}, nil
	}},
	{name: "PodGroupProtection", on: byDefault, consequence: "pod groups, which are not served, get no finalizer"},
	{name: "OwnerReferencesPermissionEnforcement", guards: true,
		consequence: "who may write an object may name any owner"},
	{name: "PersistentVolumeClaimResize", on: byDefault, guards: true, consequence: "any claim may ask for more"},
	{name: "RuntimeClass", on: byDefault, consequence: "RuntimeClasses do not change pods, and pods may name any"},
	{name: "CertificateApproval", on: byDefault, make: func(n *needs) (admission.Plugin, error) {
		return admission.NewCertificateApproval(n.may), nil
	}},
	{name: "CertificateSigning", on: byDefault, make: func(n *needs) (admission.Plugin, error) {
		return admission.NewCertificateSigning(n.may), nil
	}},
	{name: "ClusterTrustBundleAttest", on: byDefault, guards: true,
		consequence: "rights to attest are not asked for by signer"},
	{name: "CertificateSubjectRestriction", on: byDefault, make: func(*needs) (admission.Plugin, error) {
		return admission.CertificateSubjectRestriction{}, nil
	}},
	{name: "DefaultIngressClass", on: byDefault, consequence: "ingresses that name no class get none"},
	{name: "DenyServiceExternalIPs", guards: true, consequence: "services may have externalIPs"},
	{name: "PodTopologyLabels", on: byDefault, make: func(n *needs) (admission.Plugin, error) {
		return admission.NewPodTopologyLabels(n.nodeLabels), nil
	}},
	{name: "PodGroupWorkloadExists", on: byDefault,
		consequence: "pod groups, which are not served, may name any workload"},
	{name: "NodeDeclaredFeatureValidator", on: byDefault,
		consequence: "bound pods may be changed to need features that their node does not declare"},
	{name: "JobValidation", on: byDefault,
		consequence: "the parallelism of jobs whose pods are scheduled as a gang may change"},
	{name: "PodResizeValidator", on: byDefault, consequence: "bound pods may be resized beyond what their node has"},
	{name: "MutatingAdmissionPolicy", on: byDefault, guards: true, consequence: "policies change nothing",
		ignored: []ignoredResource{
			{resource: registration("mutatingadmissionpolicies")},
			{resource: registration("mutatingadmissionpolicybindings")},
		}},
	{name: "MutatingAdmissionWebhook", on: byDefault, guards: true, consequence: "webhooks are not asked",
		ignored: []ignoredResource{{resource: registration("mutatingwebhookconfigurations")}}},
	{name: "ValidatingAdmissionPolicy", on: byDefault, guards: true, consequence: "policies refuse nothing",
		ignored: []ignoredResource{
			{resource: registration("validatingadmissionpolicies")},
			{resource: registration("validatingadmissionpolicybindings")},
		}},
	{name: "ValidatingAdmissionWebhook", on: byDefault, guards: true, consequence: "webhooks are not asked",
		ignored: []ignoredResource{{resource: registration("validatingwebhookconfigurations")}}},
	{name: "ResourceQuota", on: byDefault, guards: true, consequence: "ResourceQuotas bound nothing",
		ignored: []ignoredResource{{resource: resourceQuotas}}},
	{name: "AlwaysDeny", guards: true, consequence: "nothing is denied for its sake"},
	{name: "DeviceAdminAccess", on: always, make: func(n *needs) (admission.Plugin, error) {
		return admission.NewDeviceAdminAccess(n.namespaces), nil
	}},
	{name: "ResourceClaimStatus", on: always, make: func(n *needs) (admission.Plugin, error) {
		return admission.NewClaimStatus(n.may), nil
	}},
}

// The resources that plugins read, or that configure them.
var (
	namespaces      = meta.GroupResource{Resource: "namespaces"}
	nodes           = meta.GroupResource{Resource: "nodes"}
	pods            = meta.GroupResource{Resource: "pods"}
	claims          = meta.GroupResource{Resource: "persistentvolumeclaims"}
	volumes         = meta.GroupResource{Resource: "persistentvolumes"}
	csiDrivers      = meta.GroupResource{Group: "storage.k8s.io", Resource: "csidrivers"}
	priorityClasses = meta.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}
	limitRanges     = meta.GroupResource{Resource: "limitranges"}
	resourceQuotas  = meta.GroupResource{Resource: "resourcequotas"}
)

// registration returns a resource of the group admissionregistration.k8s.io.
func registration(resource string) meta.GroupResource {
	return meta.GroupResource{Group: admissionregistrationv1.GroupVersion.Group, Resource: resource}
}

// limitsPods reports whether a write of a namespace adds or changes a label of Pod Security
// Admission (pod-security.kubernetes.io/enforce, warn, audit and their versions). The level
// privileged does not count, because it forbids nothing.
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
