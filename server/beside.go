// The parts that run beside requests, each begun by hooks when the server listens. They are made
// last, and end first.

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

// followServices has the APIServices followed that name servers behind this one.
func (a *assembly) followServices() error {
	a.behind.Start()
	return a.server.addHooks(a.behind.Hooks(a.client)...)
}

// followDefinitions has definitions followed, and what they define served.
func (a *assembly) followDefinitions() error {
	hooks, err := a.definitions.Start()
	return errors.Join(err, a.server.addHooks(hooks...))
}

// followNodes has the graph kept by which kubelets are judged.
func (a *assembly) followNodes() error {
	return a.server.addHooks(a.authorizers.Hooks(a.client, a.life.controllers.Run)...)
}

// makeUpkeep has the stores compacted, and serves what the commands migrate, fsck and defrag ask
// for. It also has the file of encryption keys followed.
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

// addReads has everything read that requests are judged by, before the server is ready.
func (a *assembly) addReads() error {
	var deciding []meta.GroupResource
	if a.access.Has(access.RBAC) {
		deciding = access.RoleResources()
	}
	return a.server.addHooks(health.Reads(a.resources, a.resources.Backends().Main().Store, deciding,
		plugins.Reads())...)
}

// addServiceAddresses has the addresses and node ports of services repaired.
func (a *assembly) addServiceAddresses() error {
	return a.server.addHooks(a.givenAddresses.ServiceHooks()...)
}

// makeBootstrap makes the objects that every cluster has, and those of the manifests.
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
	return a.server.addControllers(a.Controllers, a.Storage.shared())
}

// addServerAddresses has it published where the servers of the store are.
func (a *assembly) addServerAddresses() error {
	return errors.Join(
		a.server.addHooks(a.givenAddresses.ServerHooks()...),
		a.life.preShutdown.Add(a.givenAddresses.PreShutdownHooks()...))
}

// makeRegistration has an APIService registered for each group version that is served here.
func (a *assembly) makeRegistration() error {
	registration := &aggregator.Registration{
		Host: a.resources, Client: a.client, Yields: a.peers.Foreign, Ready: a.life.ready,
		Definitions: aggregator.Definitions{
			All: a.definitions.Versions, Changed: a.definitions.VersionsChanged, Hidden: a.definitions.UnreadIn,
		},
		Loop: a.life.controllers.Run, Log: a.server.loopLog("apiservice-registration"),
	}
	return a.server.addHooks(registration.Hooks()...)
}

// serveIssuer serves what others need to verify tokens of service accounts.
func (a *assembly) serveIssuer() error {
	return a.identity.Accounts.ServeIssuer(a.on.Core.Paths, &a.Authentication.ServiceAccounts, a.self.External, a.Log)
}

// publishTrust keeps the config map from which other servers of the cluster learn whom to trust.
func (a *assembly) publishTrust() error {
	return a.server.addAuthenticationTrust(&a.Authentication.FrontProxy)
}

// installInspection serves what the server shows of itself.
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

// setUp lets the user of the package add to the server.
func (a *assembly) setUp() error {
	if a.Setup == nil {
		return nil
	}
	return a.Setup(a.server)
}
