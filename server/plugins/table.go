package plugins

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/noderestriction"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/api/nodev1"
	"github.com/coracle-project/coracle/scheme/api/schedulingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file is the table of admission plugins, and the names of the resources that they read. New,
// Config and Table read the table. The package comment says how to add a plugin.

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
	on   wanted // as in kube-apiserver; it does not have the plugins with always
	// make makes the plugin; nil if the plugin is idle.
	make func(n *needs) (admission.Plugin, error)
	// idle says, as a clause, why the plugin has nothing to do, as in kube-apiserver; "" for all
	// others. See Entry.Idle.
	idle string
	// reads are the resources that the plugin reads for ordinary writes. The server loads them
	// before it is ready.
	reads []meta.GroupResource

	// after is Plugin.After of an own plugin, "" for all others.
	after string
}

// table has all plugins of kube-apiserver 1.36 in their order, and then two plugins whose work
// Kubernetes does in strategies. The position of a row orders plugins only within a phase: all
// mutators run first, then all validators, then all reservers.
var table = []row{
	{name: "AlwaysAdmit", make: func(*needs) (admission.Plugin, error) {
		return admission.AlwaysAdmit{}, nil
	}},
	{name: "NamespaceAutoProvision", make: func(n *needs) (admission.Plugin, error) {
		return admission.NewNamespaceAutoProvision(n.namespaces, reader{n.Stores}.createNamespace), nil
	}},
	{name: "NamespaceLifecycle", on: byDefault, reads: []meta.GroupResource{namespaces},
		make: func(n *needs) (admission.Plugin, error) {
			return admission.NewNamespaceLifecycle(n.namespaces), nil
		}},
	{name: "NamespaceExists", make: func(n *needs) (admission.Plugin, error) {
		return admission.NewNamespaceExists(n.namespaces), nil
	}},
	{name: "LimitPodHardAntiAffinityTopology", make: func(*needs) (admission.Plugin, error) {
		return admission.LimitPodHardAntiAffinityTopology{}, nil
	}},
	{name: "LimitRanger", on: byDefault, reads: []meta.GroupResource{limitRanges},
		make: func(n *needs) (admission.Plugin, error) {
			ranges := registry.NewNamespaceMemo[*corev1.LimitRange](n.Stores, limitRanges)
			return admission.NewLimitRanger(ranges.List), nil
		}},
	{name: "ServiceAccount", on: byDefault, reads: []meta.GroupResource{serviceAccounts},
		make: func(n *needs) (admission.Plugin, error) {
			return admission.NewServiceAccount(accounts(n.Stores), registry.GenerateName), nil
		}},
	{name: "NodeRestriction", on: withKubelets, make: func(n *needs) (admission.Plugin, error) {
		return noderestriction.New(nodeObjects{n.Stores}, n.Authorizer), nil
	}},
	{name: "TaintNodesByCondition", on: byDefault, make: func(*needs) (admission.Plugin, error) {
		return admission.TaintNodesByCondition{}, nil
	}},
	{name: "AlwaysPullImages", make: func(*needs) (admission.Plugin, error) {
		return admission.AlwaysPullImages{}, nil
	}},
	{name: "ImagePolicyWebhook", make: func(n *needs) (admission.Plugin, error) {
		return admission.NewImagePolicyWebhook(n.configuration, n.dialImageReviewer)
	}},
	{name: "PodSecurity", on: byDefault, reads: []meta.GroupResource{namespaces}, make: newPodSecurity},
	{name: "PodNodeSelector", make: func(n *needs) (admission.Plugin, error) {
		return admission.NewPodNodeSelector(n.configuration, n.annotations)
	}},
	{name: "Priority", on: byDefault, reads: []meta.GroupResource{priorityClasses},
		make: func(n *needs) (admission.Plugin, error) {
			return admission.NewPriority(
				registry.NewListMemo[*schedulingv1.PriorityClass](n.Stores, priorityClasses)), nil
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
	{name: "ExtendedResourceToleration", make: func(*needs) (admission.Plugin, error) {
		return admission.ExtendedResourceToleration{}, nil
	}},
	{name: "DefaultStorageClass", on: byDefault, reads: []meta.GroupResource{storageClasses},
		make: func(n *needs) (admission.Plugin, error) {
			return admission.NewDefaultStorageClass(n.storageClasses), nil
		}},
	{name: "StorageObjectInUseProtection", on: byDefault, make: func(*needs) (admission.Plugin, error) {
		return admission.StorageObjectInUseProtection{}, nil
	}},
	{name: "PodGroupProtection", on: byDefault, idle: "its gate is off and pod groups are not served"},
	{name: "OwnerReferencesPermissionEnforcement", make: func(n *needs) (admission.Plugin, error) {
		return admission.NewOwnerReferencesPermissionEnforcement(n.Authorizer, n.ResourceOf), nil
	}},
	{name: "PersistentVolumeClaimResize", on: byDefault, make: func(n *needs) (admission.Plugin, error) {
		return admission.NewPersistentVolumeClaimResize(n.storageClasses), nil
	}},
	{name: "RuntimeClass", on: byDefault, reads: []meta.GroupResource{runtimeClasses},
		make: func(n *needs) (admission.Plugin, error) {
			return admission.NewRuntimeClass(registry.NewListMemo[*nodev1.RuntimeClass](n.Stores, runtimeClasses)), nil
		}},
	{name: "CertificateApproval", on: byDefault, make: func(n *needs) (admission.Plugin, error) {
		return admission.NewCertificateApproval(n.Authorizer), nil
	}},
	{name: "CertificateSigning", on: byDefault, make: func(n *needs) (admission.Plugin, error) {
		return admission.NewCertificateSigning(n.Authorizer), nil
	}},
	{name: "ClusterTrustBundleAttest", on: byDefault, idle: "cluster trust bundles are not served"},
	{name: "CertificateSubjectRestriction", on: byDefault, make: func(*needs) (admission.Plugin, error) {
		return admission.CertificateSubjectRestriction{}, nil
	}},
	{name: "DefaultIngressClass", on: byDefault, reads: []meta.GroupResource{ingressClasses},
		make: func(n *needs) (admission.Plugin, error) {
			return admission.NewDefaultIngressClass(
				registry.NewListMemo[*networkingv1.IngressClass](n.Stores, ingressClasses)), nil
		}},
	{name: "DenyServiceExternalIPs", make: func(*needs) (admission.Plugin, error) {
		return admission.DenyServiceExternalIPs{}, nil
	}},
	{name: "PodTopologyLabels", on: byDefault, make: func(n *needs) (admission.Plugin, error) {
		return admission.NewPodTopologyLabels(n.nodeLabels), nil
	}},
	{name: "PodGroupWorkloadExists", on: byDefault, idle: "its gate is off and pod groups are not served"},
	{name: "NodeDeclaredFeatureValidator", on: byDefault, make: func(n *needs) (admission.Plugin, error) {
		return admission.NewNodeDeclaredFeatureValidator(reader{n.Stores}.node), nil
	}},
	{name: "JobValidation", on: byDefault, idle: "its gate is off"},
	{name: "PodResizeValidator", on: byDefault, make: func(n *needs) (admission.Plugin, error) {
		return admission.NewPodResizeValidator(reader{n.Stores}.node), nil
	}},
	{name: "MutatingAdmissionPolicy", on: byDefault, make: newMutatingPolicies, reads: []meta.GroupResource{
		namespaces, registration(mutatingPolicies), registration(mutatingPolicyBindings),
	}},
	{name: "MutatingAdmissionWebhook", on: byDefault, make: newMutatingWebhooks, reads: []meta.GroupResource{
		namespaces, registration(mutatingWebhooks),
	}},
	{name: "ValidatingAdmissionPolicy", on: byDefault, make: newValidatingPolicies, reads: []meta.GroupResource{
		namespaces, registration(validatingPolicies), registration(validatingPolicyBindings),
	}},
	{name: "ValidatingAdmissionWebhook", on: byDefault, make: newValidatingWebhooks, reads: []meta.GroupResource{
		namespaces, registration(validatingWebhooks),
	}},
	{name: "ResourceQuota", on: byDefault, reads: []meta.GroupResource{resourceQuotas}, make: newResourceQuota},
	{name: "AlwaysDeny", make: func(*needs) (admission.Plugin, error) {
		return admission.AlwaysDeny{}, nil
	}},
	{name: "DeviceAdminAccess", on: always, make: func(n *needs) (admission.Plugin, error) {
		return admission.NewDeviceAdminAccess(n.namespaces), nil
	}},
	{name: "ResourceClaimStatus", on: always, make: func(n *needs) (admission.Plugin, error) {
		return admission.NewClaimStatus(n.Authorizer), nil
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
	storageClasses  = meta.GroupResource{Group: "storage.k8s.io", Resource: "storageclasses"}
	ingressClasses  = meta.GroupResource{Group: "networking.k8s.io", Resource: "ingressclasses"}
	runtimeClasses  = meta.GroupResource{Group: "node.k8s.io", Resource: "runtimeclasses"}
	priorityClasses = meta.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}
	limitRanges     = meta.GroupResource{Resource: "limitranges"}
	resourceQuotas  = meta.GroupResource{Resource: "resourcequotas"}
	serviceAccounts = meta.GroupResource{Resource: "serviceaccounts"}
)

// registration returns a resource of the group admissionregistration.k8s.io.
func registration(resource string) meta.GroupResource {
	return meta.GroupResource{Group: admissionregistrationv1.GroupVersion.Group, Resource: resource}
}
