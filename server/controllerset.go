// The list of the controllers that a server can run, with what each needs. addControllers in
// controllers.go selects from it and runs the selection; the packages below server/loops implement
// the controllers.

package server

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/holdings"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/loops/accounts"
	"github.com/coracle-project/coracle/server/loops/csr"
	endpointloops "github.com/coracle-project/coracle/server/loops/endpoints"
	"github.com/coracle-project/coracle/server/loops/ownership"
	podloops "github.com/coracle-project/coracle/server/loops/pods"
	serviceloops "github.com/coracle-project/coracle/server/loops/services"
	"github.com/coracle-project/coracle/server/loops/typechecks"
	volumeloops "github.com/coracle-project/coracle/server/loops/volumes"
	"github.com/coracle-project/coracle/server/quotas"
)

// controllerEntry describes a controller that a server can run.
type controllerEntry struct {
	name, short string               // names in kube-controller-manager; short is the older one, may be ""
	needs       []meta.GroupResource // a server without one of these does not run it
	// yields: kube-controller-manager has the same controller, so this one rests while a
	// kube-controller-manager runs. Controllers without yields belong to the API itself and always
	// run.
	yields bool
	// signs reports whether the server has the key by which the controller signs, and may run it;
	// nil: the controller signs nothing.
	signs func(id *identity.Identity) bool
	make  func(e controllerEnv) runner
}

// controllerEnv is what a controller is made from. Controllers share state only by the informers.
type controllerEnv struct {
	*Server
	in   *controller.Informers
	held *holdings.Holdings
	may  request.Authorizer
	log  *zap.Logger
}

// runner is a controller. Run works until ctx ends.
type runner interface{ Run(ctx context.Context) }

// garbageCollector is the name of the controller that deletes objects whose owners are gone.
const garbageCollector = "garbage-collector-controller"

// controllerSet lists all controllers. Config.Controllers selects among them.
var controllerSet = []controllerEntry{
	{
		name: "namespace-controller", short: "namespace", needs: []meta.GroupResource{namespaces},
		make: func(e controllerEnv) runner {
			return &ownership.Namespace{
				Client: e.client, NamespacedResources: e.held.NamespacedResources,
				RemoteResources: e.behind.InNamespaces, Holds: e.held.Holds,
				UnservedObjects: e.definitions.UnservedObjects, Removals: e.held.Removals, Log: e.log,
			}
		},
	},
	{
		name: garbageCollector, short: "garbagecollector",
		make: func(e controllerEnv) runner {
			return &ownership.GarbageCollector{Client: e.client, Stream: e.held.Stream, Resources: e.held, Log: e.log}
		},
	},
	{
		name: "root-ca-certificate-publisher-controller", short: "root-ca-cert-publisher", yields: true,
		needs: []meta.GroupResource{namespaces, configMaps},
		make:  func(e controllerEnv) runner { return &accounts.RootCA{Informers: e.in, CA: e.CA, Log: e.log} },
	},
	{
		name:   "serviceaccount-controller",
		short:  "serviceaccount",
		yields: true,
		needs:  []meta.GroupResource{namespaces, serviceAccounts},
		make:   func(e controllerEnv) runner { return &accounts.ServiceAccount{Informers: e.in, Log: e.log} },
	},
	{
		name: "clusterrole-aggregation-controller", short: "clusterrole-aggregation", yields: true,
		needs: []meta.GroupResource{{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}},
		make:  func(e controllerEnv) runner { return &accounts.ClusterRoleAggregation{Informers: e.in, Log: e.log} },
	},
	{
		name:   "serviceaccount-token-controller",
		short:  "serviceaccount-token",
		yields: true,
		signs:  func(id *identity.Identity) bool { return id.Accounts.SignsLegacy() }, // not with an external signer
		needs:  []meta.GroupResource{serviceAccounts, secrets},
		make: func(e controllerEnv) runner {
			return &accounts.AccountTokens{Informers: e.in, CA: e.CA, Sign: e.identity.Accounts.SignLegacy, Log: e.log}
		},
	},
	{
		name:   "certificatesigningrequest-approving-controller",
		short:  "csrapproving",
		yields: true,
		needs:  []meta.GroupResource{signingRequests},
		make: func(e controllerEnv) runner {
			return &csr.Approver{Informers: e.in, Allowed: e.mayCreateRequest, Log: e.log}
		},
	},
	{
		name: "certificatesigningrequest-signing-controller", short: "csrsigning", yields: true,
		signs: func(id *identity.Identity) bool { return id.Signers.Any() },
		needs: []meta.GroupResource{signingRequests},
		make: func(e controllerEnv) runner {
			signers := e.identity.Signers
			return &csr.Signer{Informers: e.in, Authority: signers.Authority, Longest: signers.Longest, Log: e.log}
		},
	},
	{
		name:   "certificatesigningrequest-cleaner-controller",
		short:  "csrcleaner",
		yields: true,
		needs:  []meta.GroupResource{signingRequests},
		make:   func(e controllerEnv) runner { return &csr.Cleaner{Informers: e.in, Log: e.log} },
	},
	{
		name: "validatingadmissionpolicy-status-controller", yields: true,
		needs: []meta.GroupResource{{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"}},
		make:  func(e controllerEnv) runner { return &typechecks.Loop{Client: e.client, Log: e.log} },
	},
	{
		name: "resourcequota-controller", short: "resourcequota", yields: true,
		needs: []meta.GroupResource{resourceQuotas},
		make: func(e controllerEnv) runner {
			return &quotas.Controller{
				Informers: e.in, Stores: e.Server, Identity: hostname(), Log: e.log,
				Changes: func(ctx context.Context) (quotas.Changes, error) { return e.held.Releases(ctx) },
				ResourcesChanged: func() <-chan struct{} {
					stored, _ := e.held.Changed()
					return stored
				},
			}
		},
	},
	{
		name:   "ttl-after-finished-controller",
		short:  "ttl-after-finished",
		yields: true,
		needs:  []meta.GroupResource{jobs},
		make:   func(e controllerEnv) runner { return &podloops.FinishedJobs{Informers: e.in, Log: e.log} },
	},
	{
		name:   "pod-garbage-collector-controller",
		short:  "podgc",
		yields: true,
		needs:  []meta.GroupResource{pods, nodes},
		make: func(e controllerEnv) runner {
			return &podloops.PodGC{Informers: e.in, Ended: maxEndedPods, Log: e.log}
		},
	},
	{
		name:   "persistentvolumeclaim-protection-controller",
		short:  "pvc-protection",
		yields: true,
		needs:  []meta.GroupResource{claims, pods},
		make:   func(e controllerEnv) runner { return &volumeloops.ClaimProtection{Informers: e.in, Log: e.log} },
	},
	{
		name:   "persistentvolume-protection-controller",
		short:  "pv-protection",
		yields: true,
		needs:  []meta.GroupResource{volumes},
		make:   func(e controllerEnv) runner { return &volumeloops.VolumeProtection{Informers: e.in, Log: e.log} },
	},
	{
		name:   "volumeattributesclass-protection-controller",
		yields: true,
		needs:  []meta.GroupResource{volumeClasses, volumes, claims},
		make:   func(e controllerEnv) runner { return &volumeloops.ClassProtection{Informers: e.in, Log: e.log} },
	},
	{
		name:   "persistentvolume-binder-controller",
		short:  "persistentvolume-binder",
		yields: true,
		needs:  []meta.GroupResource{storageClasses, volumes, claims},
		make:   func(e controllerEnv) runner { return &volumeloops.DefaultClass{Informers: e.in, Log: e.log} },
	},
	{
		name: "service-cidr-controller", yields: true, needs: []meta.GroupResource{serviceCIDRs, ipAddresses},
		make: func(e controllerEnv) runner {
			return &serviceloops.ServiceCIDR{
				Client: e.client, AddressManager: core.AddressManager, Grace: 10 * time.Second, Log: e.log,
				Events: controller.NewRecorder(e.client, "service-cidr-controller", e.log),
			}
		},
	},
	{
		name:   "endpoints-controller",
		short:  "endpoint",
		yields: true,
		needs:  []meta.GroupResource{services, pods, endpoints},
		make:   func(e controllerEnv) runner { return endpointloops.NewEndpoints(e.in, e.log) },
	},
	{
		name:   "endpointslice-controller",
		short:  "endpointslice",
		yields: true,
		needs:  []meta.GroupResource{services, pods, nodes, endpointSlices},
		make:   func(e controllerEnv) runner { return endpointloops.NewEndpointSlices(e.in, e.log) },
	},
	{
		name: "endpointslice-mirroring-controller", short: "endpointslicemirroring", yields: true,
		needs: []meta.GroupResource{services, endpoints, endpointSlices},
		make:  func(e controllerEnv) runner { return endpointloops.NewMirroring(e.in, e.log) },
	},
	{
		name: "disruption-controller", short: "disruption", yields: true, needs: []meta.GroupResource{pods, budgets},
		make: func(e controllerEnv) runner {
			return &podloops.Disruption{Client: e.client, Informers: e.in, Resource: e.resourceOfKind, Log: e.log}
		},
	},
}

// maxEndedPods is the number of ended Pods above which the oldest are deleted, as by default in
// kube-controller-manager. (--terminated-pod-gc-threshold)
const maxEndedPods = 12500

// mayCreateRequest reports whether the user who made a CertificateSigningRequest may create a
// subresource of such requests. It asks what a SubjectAccessReview of the user would ask.
func (e controllerEnv) mayCreateRequest(ctx context.Context, spec *certificatesv1.CertificateSigningRequestSpec,
	subresource string) bool {
	user := &request.User{Name: spec.Username, UID: spec.UID, Groups: spec.Groups, Extra: map[string][]string{}}
	for key, values := range spec.Extra {
		user.Extra[key] = values
	}
	decision, _, _ := e.may.Authorize(ctx, &request.Attributes{
		User: user, Verb: "create", IsResource: true, Group: signingRequests.Group, Version: "*",
		Resource: signingRequests.Resource, Subresource: subresource,
	})
	return decision == request.Allow
}
