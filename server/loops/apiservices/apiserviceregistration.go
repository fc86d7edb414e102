package apiservices

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// APIServiceRegistration keeps an APIService without a service for each local version. The value of
// the label kube-aggregator.kubernetes.io/automanaged says how long:
//
//   - onstart, for a version that stays: Begin creates the APIService or restores its spec. After
//     that a user may change or delete it. If its version was gone when the server started, Run
//     deletes it.
//   - true, for a version that comes and goes: Run creates the APIService when the version comes,
//     restores its spec after each change, and deletes it when the version goes.
//
// An APIService without the label, or with another value, belongs to a user: its spec stays. Each
// APIService without a service gets the condition Available, also one of a user. Each server of a
// cluster registers its own versions, as in Kubernetes.
type APIServiceRegistration struct {
	// Client reads and writes APIServices.
	Client *client.Client
	// Local tells which versions this server serves itself.
	Local LocalVersions
	// KubeAPIServerLives reports whether a kube-apiserver works on the same store. That server
	// registers the same versions, and deletes the APIService of a version that it does not know
	// yet. So Run waits for learnTime before it creates the APIService of a version that comes and
	// goes, and leaves an APIService with onstart whose version this server does not have.
	KubeAPIServerLives func() bool
	Log                *zap.Logger

	// The maps are by the name of an APIService. Begin makes them; then they belong to the worker
	// of Run.
	stale    map[string]bool      // those with onstart at the start of the server whose version does not stay
	unserved map[string]time.Time // those without a local version, and when Run first saw that
	awaited  map[string]time.Time // those that are missing for a local version, and when Run first saw that

	mu      sync.Mutex
	missing map[string]bool // those of versions that stay, until they were seen available; nil before Begin
}

// LocalVersions tells which group versions this server serves itself. Each answer holds for the
// moment of the call. All methods may be called at once.
type LocalVersions interface {
	// All returns the local versions, in a map that belongs to the caller.
	All() map[meta.GroupVersion]LocalVersion
	// Changed returns two channels. own is closed when a version of built-in resources may have
	// come or gone after the call, and custom when a version of custom resources may have come or
	// gone.
	Changed() (own, custom <-chan struct{})
	// Hidden reports whether a group may have versions that All lacks, because a definition cannot
	// be read.
	Hidden(group string) bool
}

// LocalVersion is a group version that this server serves itself.
type LocalVersion struct {
	// GroupPriority and VersionPriority become groupPriorityMinimum and versionPriority in the
	// spec.
	GroupPriority, VersionPriority int32
	// Permanent says that the version exists as long as the server runs.
	Permanent bool
}

// The label of managed APIServices, and its values. They are part of Kubernetes' API.
const (
	automanagedLabel = "kube-aggregator.kubernetes.io/automanaged"
	managedOnStart   = "onstart"
	managedAlways    = "true"
)

const (
	// registrationWriters is the number of APIServices that Begin writes at the same time, because
	// such writes share a sync to disk.
	registrationWriters = 8
	// gatherVersions is the pause after a change of versions. It lets the loop handle the versions
	// of several definitions together.
	gatherVersions = 20 * time.Millisecond
	// lookHidden is the pause before the next look at an APIService whose version is not local but
	// may come from an unreadable definition.
	lookHidden = 5 * time.Second
	// learnTime is how long a server may take to learn of a definition that another server serves
	// already. Until then no server deletes the APIService that the other has created.
	learnTime = time.Second
)

// Begin registers the versions that stay. It tries, with growing pauses, until it has registered
// all of them or ctx ends.
func (c *APIServiceRegistration) Begin(ctx context.Context) {
	done := map[meta.GroupVersion]bool{}
	for after := 50 * time.Millisecond; ctx.Err() == nil; after = min(2*after, 5*time.Second) {
		err := c.begin(ctx, done)
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			c.Log.Warn("cannot register group versions yet", zap.Error(err))
		}
		controller.Pause(ctx, after)
	}
}

// begin tries once to register the versions that stay and are not in done, and adds those that it
// has registered to done.
func (c *APIServiceRegistration) begin(ctx context.Context, done map[meta.GroupVersion]bool) error {
	list, err := c.services().List(meta.WithUnread(ctx), meta.ListOptions{})
	if err != nil {
		return err
	}
	there := map[string]*apiregistrationv1.APIService{}
	for _, s := range list.Items {
		there[s.Name] = s
	}
	todo := c.Local.All()
	maps.DeleteFunc(todo, func(gv meta.GroupVersion, v LocalVersion) bool { return !v.Permanent || done[gv] })
	if c.stale == nil {
		c.noteStart(there, todo)
	}
	// An APIService that cannot be read cannot be written either, so the server does not wait for
	// it.
	for _, u := range list.Unread {
		c.stopMissing(u.Name)
		maps.DeleteFunc(todo, func(gv meta.GroupVersion, _ LocalVersion) bool { return serviceName(gv) == u.Name })
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	room := make(chan struct{}, registrationWriters)
	for gv, v := range todo {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			err := c.complete(ctx, gv, v, there[serviceName(gv)])
			mu.Lock()
			defer mu.Unlock()
			if done[gv] = err == nil; err != nil {
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// noteStart fills stale and missing when the server starts. there has the APIServices by name. todo
// has the versions that Begin must register.
func (c *APIServiceRegistration) noteStart(
	there map[string]*apiregistrationv1.APIService, todo map[meta.GroupVersion]LocalVersion,
) {
	c.stale, c.unserved, c.awaited = map[string]bool{}, map[string]time.Time{}, map[string]time.Time{}
	for name, s := range there {
		if s.Labels[automanagedLabel] == managedOnStart {
			c.stale[name] = true
		}
	}
	missing := map[string]bool{}
	for gv := range todo {
		delete(c.stale, serviceName(gv))
		missing[serviceName(gv)] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.missing = missing
}

// complete registers a version that stays and makes its APIService available. s is the APIService
// as it is stored, or nil if there is none.
func (c *APIServiceRegistration) complete(
	ctx context.Context, gv meta.GroupVersion, v LocalVersion, s *apiregistrationv1.APIService,
) error {
	s, err := c.register(ctx, gv, v, s)
	if err != nil {
		return err
	}
	if s == nil {
		c.stopMissing(serviceName(gv))
		return nil
	}
	if s.Spec.Service == nil {
		if err := c.setAvailable(ctx, s); err != nil {
			return err
		}
	}
	c.noteAvailable(s)
	return nil
}

// noteAvailable removes an APIService from missing if it is available.
func (c *APIServiceRegistration) noteAvailable(s *apiregistrationv1.APIService) {
	if scheme.OrZero(apiregistrationv1.Condition(s, apiregistrationv1.Available)).Status ==
		apiregistrationv1.ConditionTrue {
		c.stopMissing(s.Name)
	}
}

// stopMissing removes a name from missing.
func (c *APIServiceRegistration) stopMissing(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.missing, name)
}

// Missing returns nil if the APIServices of all versions that stay have been seen available, and
// otherwise an error that names the others. Among these may be an APIService of a user, if it leads
// to a server behind that does not answer. The health check autoregister-completion calls Missing
// at any time.
func (c *APIServiceRegistration) Missing() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.missing == nil:
		return errors.New("not finished")
	case len(c.missing) > 0:
		return fmt.Errorf("missing APIService: %v", slices.Sorted(maps.Keys(c.missing)))
	}
	return nil
}

// Run keeps the APIServices of local versions until ctx ends. Begin must have returned, and Local
// must have the versions of all definitions that existed when the server started: Run deletes the
// APIServices of versions that Local lacks.
func (c *APIServiceRegistration) Run(ctx context.Context) {
	controller.Loop{
		Name:   "autoregister",
		Source: controller.Join(c.changed, c.changes),
		Reconcile: func(ctx context.Context, name controller.Name) (time.Duration, error) {
			return c.reconcile(ctx, name.Name)
		},
		Log: c.Log,
	}.Run(ctx)
}

func (c *APIServiceRegistration) services() client.Resource[*apiregistrationv1.APIService] {
	return client.For[*apiregistrationv1.APIService](
		c.Client, apiregistrationv1.GroupVersion.WithResource("apiservices"))
}

// changed is the Source of APIServices that are gone or not settled. It does not add settled
// APIServices, because each name that it adds costs a read.
func (c *APIServiceRegistration) changed(ctx context.Context, add func(controller.Name), failed func(error)) {
	for b := range follow.Changes(ctx, c.services().Source(meta.ListOptions{}), follow.Options{Failed: failed}) {
		for _, ch := range b.Changes {
			switch {
			case ch.Unread != nil: // it cannot be written either
			case ch.Gone || !c.settled(ch.New):
				add(ch.Name)
			default:
				c.noteAvailable(ch.New)
			}
		}
	}
}

// settled reports whether reconcile would do nothing for an APIService. An APIService without a
// service must be available. If the APIService is also managed, its version must be local; if that
// version comes and goes, the label must be true and the spec must be right.
func (c *APIServiceRegistration) settled(s *apiregistrationv1.APIService) bool {
	gv, v, local := c.local(s.Name)
	want := v.spec(gv)
	switch {
	case s.Spec.Service == nil && !isAvailable(s):
		return false
	case !isManaged(s), local && v.Permanent:
		return true
	}
	return local && s.Labels[automanagedLabel] == managedAlways && scheme.Equal(&s.Spec, &want)
}

// changes is the Source of local versions: it adds the name of the APIService of each version that
// has come or gone.
func (c *APIServiceRegistration) changes(ctx context.Context, add func(controller.Name), _ func(error)) {
	var last map[meta.GroupVersion]LocalVersion
	for ctx.Err() == nil {
		own, custom := c.Local.Changed()
		now := c.Local.All()
		for gv := range now {
			if _, ok := last[gv]; !ok {
				add(controller.Name{Name: serviceName(gv)})
			}
		}
		for gv := range last {
			if _, ok := now[gv]; !ok {
				add(controller.Name{Name: serviceName(gv)})
			}
		}
		last = now
		select {
		case <-own:
			controller.Pause(ctx, gatherVersions)
		case <-custom:
			controller.Pause(ctx, gatherVersions)
		case <-ctx.Done():
		}
	}
}

// serviceName returns the name of the APIService of a version: "v1.apps", "v1." for the legacy
// group.
func serviceName(gv meta.GroupVersion) string { return gv.Version + "." + gv.Group }

// local returns the group version that an APIService with this name stands for. ok says that the
// version is local; v is zero otherwise.
func (c *APIServiceRegistration) local(name string) (gv meta.GroupVersion, v LocalVersion, ok bool) {
	gv.Version, gv.Group, _ = strings.Cut(name, ".")
	v, ok = c.Local.All()[gv]
	return gv, v, ok
}

// spec returns the spec that the APIService of gv must have.
func (v LocalVersion) spec(gv meta.GroupVersion) apiregistrationv1.APIServiceSpec {
	return apiregistrationv1.APIServiceSpec{
		Group: gv.Group, Version: gv.Version,
		GroupPriorityMinimum: v.GroupPriority, VersionPriority: v.VersionPriority,
	}
}

// reconcile creates, restores or deletes the APIService with a name, and makes it available if it
// has no service:
//
//   - If the version is local, comes and goes, and has no APIService, reconcile creates it. Beside
//     a kube-apiserver it does so only after learnTime.
//   - If the version is local, comes and goes, and Run keeps the APIService (see keeps), reconcile
//     restores the spec.
//   - If the version is not local and Run keeps the APIService, reconcile deletes it after
//     learnTime. It puts that off while an unreadable definition may have the version.
//   - Otherwise reconcile leaves the spec alone.
func (c *APIServiceRegistration) reconcile(ctx context.Context, name string) (again time.Duration, err error) {
	s, err := c.services().Get(ctx, name, meta.GetOptions{})
	if controller.IgnoreNotFound(err) != nil {
		return 0, err
	}
	if err != nil {
		s = nil
	}
	gv, v, local := c.local(name)
	if local {
		delete(c.unserved, name)
	}
	if s != nil || !local {
		delete(c.awaited, name)
	}
	switch {
	case local && !v.Permanent && s == nil && c.KubeAPIServerLives() && learnTimeLeft(c.awaited, name) > 0:
		return learnTimeLeft(c.awaited, name), nil
	case local && !v.Permanent && (s == nil || c.keeps(s)):
		if s, err = c.register(ctx, gv, v, s); err == nil {
			delete(c.stale, name)
		}
	case s == nil:
		delete(c.unserved, name)
		delete(c.stale, name)
		return 0, nil
	case !local && c.keeps(s) && c.Local.Hidden(gv.Group):
		return lookHidden, nil
	case !local && c.keeps(s):
		return c.drop(ctx, s)
	}
	if err == nil && s != nil && s.Spec.Service == nil {
		err = c.setAvailable(ctx, s)
	}
	return 0, controller.IgnoreLostRace(err)
}

// learnTimeLeft returns how much of learnTime is left for a name. since has the time at which it
// began; if the name is not there, it begins now.
func learnTimeLeft(since map[string]time.Time, name string) time.Duration {
	begin, waits := since[name]
	if !waits {
		begin = time.Now()
		since[name] = begin
	}
	return learnTime - time.Since(begin)
}

// isManaged reports whether servers look after an APIService, by its label. Otherwise it belongs to
// a user.
func isManaged(s *apiregistrationv1.APIService) bool {
	label := s.Labels[automanagedLabel]
	return label == managedOnStart || label == managedAlways
}

// keeps reports whether Run restores or deletes an APIService: its label is true, or it is stale.
// While a kube-apiserver works on the same store, Run does not treat an APIService as stale,
// because that server may serve a version that this server does not have.
func (c *APIServiceRegistration) keeps(s *apiregistrationv1.APIService) bool {
	return isManaged(s) && (s.Labels[automanagedLabel] == managedAlways || c.stale[s.Name] && !c.KubeAPIServerLives())
}

// register creates the APIService of a version, or restores the spec of s, which is the APIService
// as it is stored, or nil if there is none. It leaves s alone if s is not managed. It returns the
// APIService as it is then. If validation rejects a new one, it returns nil without an error,
// because no later try would succeed.
func (c *APIServiceRegistration) register(
	ctx context.Context, gv meta.GroupVersion, v LocalVersion, s *apiregistrationv1.APIService,
) (*apiregistrationv1.APIService, error) {
	spec := v.spec(gv)
	if s == nil {
		managed := managedAlways
		if v.Permanent {
			managed = managedOnStart
		}
		made, err := c.services().Create(ctx, &apiregistrationv1.APIService{
			ObjectMeta: meta.ObjectMeta{Name: serviceName(gv), Labels: map[string]string{automanagedLabel: managed}},
			Spec:       spec,
		}, meta.CreateOptions{})
		if meta.IsInvalid(err) {
			c.Log.Warn("the APIService of a group version is invalid, the version is not registered",
				zap.Stringer("version", gv), zap.Error(err))
			return nil, nil
		}
		if !meta.IsAlreadyExists(err) {
			return made, err
		}
		// Another server has created it since the read.
		if s, err = c.services().Get(ctx, serviceName(gv), meta.GetOptions{}); err != nil {
			return nil, err
		}
	}
	if !isManaged(s) || scheme.Equal(&s.Spec, &spec) {
		return s, nil
	}
	s.Spec = spec
	return c.services().Update(ctx, s, meta.UpdateOptions{})
}

// drop deletes an APIService whose version has not been local for learnTime. Before that it returns
// the time that is left, because another server may have learned of a definition earlier, and have
// registered the version a moment ago.
func (c *APIServiceRegistration) drop(
	ctx context.Context, s *apiregistrationv1.APIService,
) (again time.Duration, err error) {
	if left := learnTimeLeft(c.unserved, s.Name); left > 0 {
		return left, nil
	}
	delete(c.unserved, s.Name)
	err = c.services().Delete(ctx, s.Name, meta.DeleteOptions{
		Preconditions: &meta.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion},
	})
	return 0, controller.IgnoreLostRace(err)
}

// setAvailable sets the condition Available of an APIService without a service to True, with the
// reason Local.
func (c *APIServiceRegistration) setAvailable(ctx context.Context, s *apiregistrationv1.APIService) error {
	if isAvailable(s) {
		return nil
	}
	apiregistrationv1.SetCondition(s, apiregistrationv1.Local, meta.Time{Time: time.Now()})
	_, err := c.services().UpdateStatus(ctx, s, meta.UpdateOptions{})
	return err
}

func isAvailable(s *apiregistrationv1.APIService) bool {
	is, want := apiregistrationv1.Condition(s, apiregistrationv1.Available), apiregistrationv1.Local
	return is != nil && is.Status == want.Status && is.Reason == want.Reason && is.Message == want.Message
}
