package aggregator

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/loops/apiservices"
)

// registrationTime bounds how long the hooks wait for the registration. If something prevents it
// for longer, the health check autoregister-completion names the missing versions.
const registrationTime = 5 * time.Second

// Registration keeps an APIService for each group version that this server serves itself. It
// registers built-in versions before the server is ready, and those of custom resources as they
// come and go.
type Registration struct {
	Host generic.Host
	// Client is a client of the server itself.
	Client *client.Client
	// Definitions are the group versions of custom resources.
	Definitions Definitions
	// KubeAPIServerLives reports whether a kube-apiserver works on the same store; see
	// apiservices.APIServiceRegistration.
	KubeAPIServerLives func() bool
	// Ready is closed when the server is ready. The stored definitions have been read by then, so
	// the loop may delete APIServices of versions that it does not find.
	Ready <-chan struct{}
	// Loop runs work that is a client of the server, with a context that ends before the server
	// refuses requests at shutdown.
	Loop func(work func(ctx context.Context))
	Log  *zap.Logger // it limits how often a message repeats
}

// Definitions gives the group versions that CustomResourceDefinitions declare, at the moment of
// each call.
type Definitions struct {
	All func() map[meta.GroupVersion]bool
	// Changed returns a channel that is closed when versions come or go after the call.
	Changed func() <-chan struct{}
	// Hidden reports whether All may lack versions of a group because a definition cannot be read.
	Hidden func(group string) bool
}

// Hooks returns the hooks that register the versions. There are none if the host has no
// APIServices.
func (r *Registration) Hooks() []generic.Hook {
	if r.Host.Store(apiServices) == nil {
		return nil
	}
	local := &localVersions{table: r.Host.Table(), definitions: r.Definitions}
	loop := &apiservices.APIServiceRegistration{
		Client: r.Client, Local: local, KubeAPIServerLives: r.KubeAPIServerLives, Log: r.Log,
	}
	begun := make(chan struct{})
	wait := func(ctx context.Context) error {
		select {
		case <-begun:
		case <-time.After(registrationTime):
		case <-ctx.Done():
		}
		return nil
	}
	register := func(ctx context.Context) error {
		local.settle()
		r.Loop(func(ctx context.Context) {
			loop.Begin(ctx)
			close(begun)
			select {
			case <-r.Ready:
				loop.Run(ctx)
			case <-ctx.Done():
			}
		})
		return wait(ctx)
	}
	return []generic.Hook{
		{Name: "kube-apiserver-autoregistration", Run: register, Completes: generic.Check{
			Name: "autoregister-completion", Run: func(context.Context) error { return loop.Missing() },
		}},
		// The loop that registers a version sets the condition Available right after it.
		{Name: "apiservice-status-local-available-controller", Run: wait},
	}
}

// localVersions are the group versions of a table, and those that definitions declare. The versions
// of the aggregator's own group, apiregistration.k8s.io, are not registered.
type localVersions struct {
	table       *generic.Table
	definitions Definitions
	stay        map[meta.GroupVersion]bool
}

// settle records the versions that stay as long as the server runs: the versions with a built-in
// resource.
func (l *localVersions) settle() {
	l.stay = map[meta.GroupVersion]bool{}
	for _, o := range l.table.Now().Offers {
		for i := range o.Versions {
			if !o.IsCustom() {
				l.stay[o.Versions[i].GroupVersion] = true
			}
		}
	}
}

// All implements apiservices.LocalVersions.
func (l *localVersions) All() map[meta.GroupVersion]apiservices.LocalVersion {
	all := map[meta.GroupVersion]apiservices.LocalVersion{}
	for gv := range l.definitions.All() {
		all[gv] = apiservices.LocalVersion{
			GroupPriority: generic.CustomPriority, VersionPriority: generic.CustomVersionPriority,
		}
	}
	for _, o := range l.table.Now().Offers {
		for i := range o.Versions {
			gv := o.Versions[i].GroupVersion
			if gv.Group == apiServices.Group || o.IsCustom() {
				continue
			}
			all[gv] = apiservices.LocalVersion{
				GroupPriority: groupPriority(o.Priority), VersionPriority: generic.RegisteredPriority(gv),
				Permanent: l.stay[gv],
			}
		}
	}
	return all
}

// Changed implements apiservices.LocalVersions.
func (l *localVersions) Changed() (own, custom <-chan struct{}) {
	return l.table.Now().Replaced, l.definitions.Changed()
}

// Hidden implements apiservices.LocalVersions.
func (l *localVersions) Hidden(group string) bool { return l.definitions.Hidden(group) }

// groupPriority limits a group's priority to the range that the validation of APIServices allows.
func groupPriority(p int) int32 { return int32(min(max(p, 1), 20000)) }
