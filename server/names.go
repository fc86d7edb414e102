package server

import "github.com/coracle-project/coracle/scheme/meta"

// The built-in resources that package server names.
var (
	namespaces                = meta.GroupResource{Resource: "namespaces"}
	nodes                     = meta.GroupResource{Resource: "nodes"}
	pods                      = meta.GroupResource{Resource: "pods"}
	resourceQuotas            = meta.GroupResource{Resource: "resourcequotas"}
	configMaps                = meta.GroupResource{Resource: "configmaps"}
	secrets                   = meta.GroupResource{Resource: "secrets"}
	serviceAccounts           = meta.GroupResource{Resource: "serviceaccounts"}
	claims                    = meta.GroupResource{Resource: "persistentvolumeclaims"}
	volumes                   = meta.GroupResource{Resource: "persistentvolumes"}
	volumeAttachments         = meta.GroupResource{Group: "storage.k8s.io", Resource: "volumeattachments"}
	csiDrivers                = meta.GroupResource{Group: "storage.k8s.io", Resource: "csidrivers"}
	resourceSlices            = meta.GroupResource{Group: "resource.k8s.io", Resource: "resourceslices"}
	storageClasses            = meta.GroupResource{Group: "storage.k8s.io", Resource: "storageclasses"}
	volumeClasses             = meta.GroupResource{Group: "storage.k8s.io", Resource: "volumeattributesclasses"}
	services                  = meta.GroupResource{Resource: "services"}
	serviceCIDRs              = meta.GroupResource{Group: "networking.k8s.io", Resource: "servicecidrs"}
	ipAddresses               = meta.GroupResource{Group: "networking.k8s.io", Resource: "ipaddresses"}
	endpoints                 = meta.GroupResource{Resource: "endpoints"}
	endpointSlices            = meta.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	budgets                   = meta.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}
	jobs                      = meta.GroupResource{Group: "batch", Resource: "jobs"}
	leases                    = meta.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	signingRequests           = meta.GroupResource{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}
	apiServices               = meta.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"}
	customResourceDefinitions = meta.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	priorityClasses           = meta.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}
)
