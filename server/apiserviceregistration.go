package server

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/loops/apiservices"
)

// addAPIServiceRegistration adds the hook that registers the group versions that this server has itself, if there are APIServices.
func (s *Server) addAPIServiceRegistration() error {
	if s.Store(apiServices) == nil {
		return nil
	}
	local := &localVersions{table: s.Table(), declared: s.definitions.declared, hidden: s.definitions.unread.inGroup}
	r := &apiservices.APIServiceRegistration{Client: s.client, Local: local, Yields: s.addresses.peers.foreign.Load, Log: s.loopLog("apiservice-registration")}
	registered := generic.Check{Name: "autoregister-completion", Run: func(context.Context) error { return r.Missing() }}
	begun := make(chan struct{})
	wait := func(ctx context.Context) {
		select {
		case <-begun:
		case <-time.After(readyTime): // what is in the way may stay there, and be seen in the check
		case <-ctx.Done():
		}
	}
	register := generic.Hook{Name: "kube-apiserver-autoregistration", Completes: registered, Run: func(ctx context.Context) error {
		local.settle()
		s.life.controllers.Run(func(ctx context.Context) {
			r.Begin(ctx)
			close(begun)
			select {
			case <-s.Ready(): // definitions that were there at the start are known
				r.Run(ctx)
			case <-ctx.Done():
			}
		})
		wait(ctx)
		return nil
	}}
	// Each version is said to be available by the loop that registers it, right after that.
	available := generic.Hook{Name: "apiservice-status-local-available-controller", Run: func(ctx context.Context) error {
		wait(ctx)
		return nil
	}}
	return s.addHooks(register, available)
}

// localVersions are the group versions of a table, and those that definitions declare. Those of the
// aggregator itself are not registered.
type localVersions struct {
	table    *generic.Table
	declared *declared
	hidden   func(group string) bool
	stay     map[meta.GroupVersion]bool
}

// settle has the versions stay that have more than custom resources.
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
	for gv := range l.declared.all() {
		all[gv] = apiservices.LocalVersion{GroupPriority: generic.CustomPriority, VersionPriority: generic.CustomVersionPriority}
	}
	for _, o := range l.table.Now().Offers {
		for i := range o.Versions {
			gv := o.Versions[i].GroupVersion
			if gv.Group == apiServices.Group || o.IsCustom() {
				continue
			}
			all[gv] = apiservices.LocalVersion{GroupPriority: groupPriority(o.Priority), VersionPriority: generic.RegisteredPriority(gv), Stays: l.stay[gv]}
		}
	}
	return all
}

// Changed implements apiservices.LocalVersions.
func (l *localVersions) Changed() (own, custom <-chan struct{}) {
	return l.table.Now().Replaced, l.declared.next()
}

// Hidden implements apiservices.LocalVersions.
func (l *localVersions) Hidden(group string) bool { return l.hidden(group) }

// groupPriority brings the place of a group in discovery into the bounds of what can be registered.
func groupPriority(p int) int32 { return int32(min(max(p, 1), 20000)) }
