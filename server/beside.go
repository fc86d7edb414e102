// The parts that run beside requests (besideParts in parts.go). Their work begins with hooks when
// the server listens. They are made last, and so they end first.

package server

import (
	"context"
	"errors"
	"strconv"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/aggregator"
	"github.com/coracle-project/coracle/server/bootstrap"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/health"
	"github.com/coracle-project/coracle/server/inspect"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/server/upkeep"
)

// followServices adds the hooks that follow APIServices, which name the servers behind this one.
func (a *assembly) followServices() error {
	a.behind.Start()
	return a.server.addHooks(a.behind.Hooks(a.client)...)
}

// followDefinitions adds the hooks that follow CustomResourceDefinitions and serve the resources
// that they define.
func (a *assembly) followDefinitions() error {
	hooks, err := a.definitions.Start()
	return errors.Join(err, a.server.addHooks(hooks...))
}

// followNodes adds the hooks that keep the graph by which the Node authorizer decides about
// kubelets.
func (a *assembly) followNodes() error {
	return a.server.addHooks(a.authorizers.Hooks(a.client, a.life.controllers.Run)...)
}

// makeUpkeep starts the compaction of the stores, and serves the paths that the commands migrate,
// fsck and defrag call. If EncryptionReload is set it also reads the encryption configuration again
// when its file changes.
func (a *assembly) makeUpkeep() error {
	stored := upkeep.New(upkeep.Needs{
		Host:               a.resources,
		Backends:           a.resources.Backends(),
		Unread:             a.definitions.Unread,
		CompactionInterval: a.Storage.CompactionInterval,
	})
	stored.Start()
	if err := stored.Install(a.on.Core.Paths); err != nil || !a.encryption.Follows() {
		return err
	}
	return a.server.addHooks(generic.Hook{
		Name: "start-encryption-provider-config-automatic-reload",
		Run: func(context.Context) error {
			a.work.Run(func(ctx context.Context) { a.encryption.Follow(ctx, a.work.Run) })
			return nil
		},
	})
}

// addReads adds the hooks that load, before the server is ready, the resources that RBAC and
// admission plugins read.
func (a *assembly) addReads() error {
	var deciding []meta.GroupResource
	if a.access.Has(access.RBAC) {
		deciding = access.RoleResources()
	}
	return a.server.addHooks(health.LoadHooks(a.resources, a.resources.Backends().Main().Store, deciding,
		plugins.ResourcesRead())...)
}

// addServiceAddresses adds the hooks that repair the allocation of cluster IPs and node ports.
func (a *assembly) addServiceAddresses() error {
	return a.server.addHooks(a.givenAddresses.ServiceHooks()...)
}

// makeBootstrap adds the hooks that make the objects that every cluster has, and the objects of the
// manifests.
func (a *assembly) makeBootstrap() error {
	made, err := bootstrap.New(bootstrap.Needs{
		Host:       a.resources,
		Client:     a.client,
		Run:        a.life.controllers.Run,
		Ready:      a.life.ready,
		Defined:    a.definitions.Seen(),
		Manifests:  a.API.Manifests,
		Objects:    a.API.Objects,
		FlowStatus: !a.API.Without.PriorityAndFairness,
	})
	if err != nil {
		return err
	}
	return a.server.addHooks(made.Hooks()...)
}

// addControllers runs the selected controllers.
func (a *assembly) addControllers() error {
	return a.server.addControllers(a.Controllers, a.Storage.shared(), a.authorizers)
}

// addServerAddresses adds the hooks that publish the addresses of the servers of this store: the
// endpoints of the Service "kubernetes", and the Leases of the servers.
func (a *assembly) addServerAddresses() error {
	return errors.Join(
		a.server.addHooks(a.givenAddresses.ServerHooks()...),
		a.life.preShutdown.Add(a.givenAddresses.PreShutdownHooks()...))
}

// makeRegistration adds the hooks that keep an APIService for each group version that this server
// serves.
func (a *assembly) makeRegistration() error {
	registration := &aggregator.Registration{
		Host: a.resources, Client: a.client, KubeAPIServerLives: a.peers.KubeAPIServerLives, Ready: a.life.ready,
		Definitions: aggregator.Definitions{
			All: a.definitions.Versions, Changed: a.definitions.VersionsChanged, Hidden: a.definitions.UnreadIn,
		},
		Loop: a.life.controllers.Run, Log: a.server.loopLog("apiservice-registration"),
	}
	return a.server.addHooks(registration.Hooks()...)
}

// serveIssuer serves the OpenID discovery document and the keys by which others verify service
// account tokens.
func (a *assembly) serveIssuer() error {
	return a.identity.Accounts.ServeIssuer(a.on.Core.Paths, &a.Authentication.ServiceAccounts, a.self.External, a.Log)
}

// publishTrust adds the hook that publishes which client CAs and front proxies this server trusts.
func (a *assembly) publishTrust() error {
	return a.server.addAuthenticationTrust(&a.Authentication.FrontProxy)
}

// installInspection serves /version, /metrics and, as Serving.Debug says, profiles and other
// debugging paths.
func (a *assembly) installInspection() error {
	version := VersionInfo(a.API.Version)
	minor, _ := a.Storage.compatible() // checked when the configuration was completed
	version.MinCompatibilityMinor = strconv.Itoa(minor)
	return inspect.Install(&a.Serving.Debug, inspect.Needs{
		On:      a.on.Core,
		Codecs:  a.codecs,
		Metrics: a.registry,
		Version: version,
		Started: processStart,
		Go:      a.work.Run,
		Log:     a.Log,
	})
}

// setUp calls Config.Setup.
func (a *assembly) setUp() error {
	if a.Setup == nil {
		return nil
	}
	return a.Setup(a.server)
}
