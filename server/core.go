package server

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admissionregistration"
	"github.com/coracle-project/coracle/registry/aggregation"
	"github.com/coracle-project/coracle/registry/apps"
	"github.com/coracle-project/coracle/registry/authentication"
	"github.com/coracle-project/coracle/registry/authorization"
	"github.com/coracle-project/coracle/registry/autoscaling"
	"github.com/coracle-project/coracle/registry/batch"
	"github.com/coracle-project/coracle/registry/certificates"
	"github.com/coracle-project/coracle/registry/coordination"
	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/registry/discovery"
	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/registry/flowcontrol"
	"github.com/coracle-project/coracle/registry/networking"
	"github.com/coracle-project/coracle/registry/node"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/registry/policy"
	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/registry/rbac"
	"github.com/coracle-project/coracle/registry/resource"
	"github.com/coracle-project/coracle/registry/scheduling"
	"github.com/coracle-project/coracle/registry/storage"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/addresses"
)

// surroundings holds what the strategies of Kubernetes' own resources need from the server: the
// stores of other resources, the node ports, authorization, the signing of tokens, the other
// servers of the store, and whether names are reserved.
type surroundings struct {
	stores    registry.Stores
	nodePorts *ports.Allocator
	access    *access.Promise
	tokens    core.TokenConfig
	peers     *addresses.Peers
	reserved  bool // names are reserved for webhooks and policies in files
}

// coreGroups returns Kubernetes' own groups with all their resources, before Profile and Runtime
// choose among them. Priority orders the groups in discovery, as in kube-apiserver.
func coreGroups(c APIConfig, around surroundings) []Group {
	rules := podspec.Rules{AllowPrivileged: c.AllowPrivileged}
	ranges, _ := c.Services.Ranges() // checked when the configuration was completed
	roles := rbac.Config{Access: around.access, Rules: around.access.Roles(), Stores: around.stores}
	legacy := core.Config{
		Rules:         rules,
		EventTTL:      max(c.EventTTL, 0),
		ServiceRanges: ranges,
		NodePorts:     around.nodePorts,
		Stores:        around.stores,
		Tokens:        around.tokens,
		HeadStart:     around.peers.HeadStart,
	}
	groups := []Group{
		{
			Name: "", Priority: 18000,
			Resources: core.Resources(legacy), Actions: core.Actions(legacy), Computed: core.ComputedResources(),
		},
		{Name: "apiregistration.k8s.io", Priority: 20001, // above each priority that an APIService may have
			Resources: aggregation.Resources()},
		{Name: "apps", Priority: 17800, Resources: apps.Resources(rules)},
		{Name: "events.k8s.io", Priority: 17750, Shared: []meta.GroupResource{{Resource: "events"}}},
		{Name: "authentication.k8s.io", Priority: 17700, Actions: authentication.Actions(around.access)},
		{Name: "authorization.k8s.io", Priority: 17600, Actions: authorization.Actions(around.access, around.access)},
		{Name: "autoscaling", Priority: 17500, Resources: autoscaling.Resources()},
		{Name: "batch", Priority: 17400, Resources: batch.Resources(rules)},
		{Name: "certificates.k8s.io", Priority: 17300, Resources: certificates.Resources()},
		{Name: "networking.k8s.io", Priority: 17200, Resources: networking.Resources()},
		{Name: "policy", Priority: 17100, Resources: policy.Resources()},
		{Name: "rbac.authorization.k8s.io", Priority: 17000, Resources: rbac.Resources(roles)},
		{Name: "storage.k8s.io", Priority: 16800, Resources: storage.Resources()},
		{Name: "admissionregistration.k8s.io", Priority: 16700,
			Resources: admissionregistration.Resources(around.reserved)},
		{Name: "apiextensions.k8s.io", Priority: 16700, Resources: extensions.Resources()},
		{Name: "scheduling.k8s.io", Priority: 16600, Resources: scheduling.Resources()},
		{Name: "coordination.k8s.io", Priority: 16500, Resources: coordination.Resources()},
		{Name: "node.k8s.io", Priority: 16300, Resources: node.Resources()},
		{Name: "discovery.k8s.io", Priority: 16200, Resources: discovery.Resources()},
		{Name: "resource.k8s.io", Priority: 16200, Resources: resource.Resources()},
		{Name: "flowcontrol.apiserver.k8s.io", Priority: 16100, Resources: flowcontrol.Resources()},
	}
	for i := range groups {
		groups[i].AddToScheme = api.Groups[groups[i].Name].AddToScheme
	}
	return groups
}
