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

// APIServiceRegistration registers the group versions that a server has itself: there is an
// APIService of each, which names no service. A label says who looks after it:
//
//   - onstart: the version is there as long as the server is. Its APIService is made, or given its
//     spec, when the server starts, and then left alone; one whose version is gone goes.
//   - true: it comes and goes, as definitions of custom resources do. Its APIService is kept while
//     it is there, whatever others do to it.
//
// What has neither is somebody else's. Any APIService without a service is available. Every server
// runs its own.
type APIServiceRegistration struct {
	Client *client.Client
	Local  LocalVersions
	// Yields reports whether a kube-apiserver lives on the store, which registers the same
	// versions. One that knows nothing of a version yet deletes its APIService: what comes and goes
	// is left to it for learnTime.
	Yields func() bool
	Log    *zap.Logger

	stale    map[string]bool      // onstart when the server started, of versions that it does not have for good
	unserved map[string]time.Time // since when there has been no version for an APIService
	awaited  map[string]time.Time // since when there has been no APIService for a version

	mu      sync.Mutex
	missing map[string]bool // of versions that stay, those that have not been seen available
}

// LocalVersions are the group versions that a server has itself, as they are at the moment of each
// call.
type LocalVersions interface {
	All() map[meta.GroupVersion]LocalVersion
	// Changed returns channels that are closed when versions come or go after the call.
	Changed() (own, custom <-chan struct{})
	// Hidden reports whether a group may have versions that All does not have, because a definition
	// cannot be read.
	Hidden(group string) bool
}

// LocalVersion is a group version that a server has itself.
type LocalVersion struct {
	GroupPriority, VersionPriority int32
	Stays                          bool // as long as the server runs
}

// The label of APIServices that are registered, and its values.
const (
	automanagedLabel = "kube-aggregator.kubernetes.io/automanaged"
	managedOnStart   = "onstart"
	managedAlways    = "true"
)

const (
	// registrationWriters is how many APIServices are made at once when a server starts: those that
	// come together share a write to the disk.
	registrationWriters = 8
	// gatherVersions is how long versions are given to come together, as those of definitions do
	// that are made one after the other.
	gatherVersions = 20 * time.Millisecond
	// lookHidden is after which time a version is looked for again whose definition may be one that
	// cannot be read.
	lookHidden = 5 * time.Second
	// learnTime is how long a server may take to learn of a version that another server has
	// registered.
	learnTime = time.Second
)

// Begin registers the versions that stay. It tries until it has.
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

// begin tries once to register those that are not done, and says which of them are.
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
	maps.DeleteFunc(todo, func(gv meta.GroupVersion, v LocalVersion) bool { return !v.Stays || done[gv] })
	if c.stale == nil {
		c.note(there, todo)
	}
	for _, u := range list.Unread { // it is there: nothing can be made of it, and the server is not to wait for that
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

// note takes down what there was at the start, and which versions are to be registered.
func (c *APIServiceRegistration) note(there map[string]*apiregistrationv1.APIService, todo map[meta.GroupVersion]LocalVersion) {
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

// complete registers a version that stays.
func (c *APIServiceRegistration) complete(ctx context.Context, gv meta.GroupVersion, v LocalVersion, s *apiregistrationv1.APIService) error {
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
	c.see(s)
	return nil
}

// see takes in that an APIService is available, if it is.
func (c *APIServiceRegistration) see(s *apiregistrationv1.APIService) {
	if scheme.OrZero(apiregistrationv1.Condition(s, apiregistrationv1.Available)).Status == apiregistrationv1.ConditionTrue {
		c.stopMissing(s.Name)
	}
}

// stopMissing ends the wait for an APIService.
func (c *APIServiceRegistration) stopMissing(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.missing, name)
}

// Missing returns nil when the APIServices of all versions that stay have been seen available, and
// before an error that names the others: that of somebody else may name a server that does not
// answer. It may be called at any time.
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

// Run works until ctx ends, after Begin. All definitions that were there at the start have to be
// known by then.
func (c *APIServiceRegistration) Run(ctx context.Context) {
	controller.Loop{
		Source: controller.Join(c.changed, c.changes),
		Reconcile: func(ctx context.Context, name controller.Name) (time.Duration, error) {
			return c.reconcile(ctx, name.Name)
		},
		Log: c.Log,
	}.Run(ctx)
}

func (c *APIServiceRegistration) services() client.Resource[*apiregistrationv1.APIService] {
	return client.For[*apiregistrationv1.APIService](c.Client, apiregistrationv1.GroupVersion.WithResource("apiservices"))
}

// changed is the Source of APIServices that are not as they should be, or gone. Of most there is
// nothing to do.
func (c *APIServiceRegistration) changed(ctx context.Context, add func(controller.Name), failed func(error)) {
	for b := range follow.Changes(ctx, c.services().Source(meta.ListOptions{}), follow.Options{Failed: failed}) {
		for _, ch := range b.Changes {
			switch {
			case ch.Unread != nil: // it is there, and nobody can say what is wrong with it
			case ch.Gone || !c.settled(ch.New):
				add(ch.Name)
			default:
				c.see(ch.New)
			}
		}
	}
}

// settled reports whether there is nothing to do about an APIService.
func (c *APIServiceRegistration) settled(s *apiregistrationv1.APIService) bool {
	gv, v, local := c.local(s.Name)
	want := v.spec(gv)
	switch {
	case s.Spec.Service == nil && !isAvailable(s):
		return false
	case !isManaged(s), local && v.Stays:
		return true
	}
	return local && s.Labels[automanagedLabel] == managedAlways && scheme.Equal(&s.Spec, &want)
}

// changes is the Source of versions that come and go.
func (c *APIServiceRegistration) changes(ctx context.Context, add func(controller.Name), _ func(error)) {
	var known map[meta.GroupVersion]LocalVersion
	for ctx.Err() == nil {
		own, custom := c.Local.Changed()
		now := c.Local.All()
		for gv := range now {
			if _, ok := known[gv]; !ok {
				add(controller.Name{Name: serviceName(gv)})
			}
		}
		for gv := range known {
			if _, ok := now[gv]; !ok {
				add(controller.Name{Name: serviceName(gv)})
			}
		}
		known = now
		select {
		case <-own:
			controller.Pause(ctx, gatherVersions)
		case <-custom:
			controller.Pause(ctx, gatherVersions)
		case <-ctx.Done():
		}
	}
}

// serviceName is the name of the APIService of a version.
func serviceName(gv meta.GroupVersion) string { return gv.Version + "." + gv.Group }

// local returns the version that an APIService is about, and whether this server has it.
func (c *APIServiceRegistration) local(name string) (gv meta.GroupVersion, v LocalVersion, ok bool) {
	gv.Version, gv.Group, _ = strings.Cut(name, ".")
	v, ok = c.Local.All()[gv]
	return gv, v, ok
}

// spec is that of the APIService of a version.
func (v LocalVersion) spec(gv meta.GroupVersion) apiregistrationv1.APIServiceSpec {
	return apiregistrationv1.APIServiceSpec{
		Group: gv.Group, Version: gv.Version, GroupPriorityMinimum: v.GroupPriority, VersionPriority: v.VersionPriority,
	}
}

// reconcile brings the APIService of a name to where it should be.
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
	case local && !v.Stays && s == nil && c.Yields() && left(c.awaited, name) > 0:
		return left(c.awaited, name), nil
	case local && !v.Stays && (s == nil || c.keeps(s)):
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
	return 0, controller.IgnoreOvertaken(err)
}

// left returns how much of learnTime is left for a name, which begins to wait if it does not yet.
func left(since map[string]time.Time, name string) time.Duration {
	begin, waits := since[name]
	if !waits {
		begin = time.Now()
		since[name] = begin
	}
	return learnTime - time.Since(begin)
}

// isManaged reports whether an APIService is looked after by the servers that have its version.
func isManaged(s *apiregistrationv1.APIService) bool {
	label := s.Labels[automanagedLabel]
	return label == managedOnStart || label == managedAlways
}

// keeps reports whether an APIService comes and goes with its version. A kube-apiserver that lives
// may have a version for good that this server does not have.
func (c *APIServiceRegistration) keeps(s *apiregistrationv1.APIService) bool {
	return isManaged(s) && (s.Labels[automanagedLabel] == managedAlways || c.stale[s.Name] && !c.Yields())
}

// register makes the APIService of a version, or gives its spec to s, the one that is there, unless
// that is somebody else's. It returns what is there then, nil if the version can never be
// registered.
func (c *APIServiceRegistration) register(ctx context.Context, gv meta.GroupVersion, v LocalVersion, s *apiregistrationv1.APIService) (*apiregistrationv1.APIService, error) {
	spec := v.spec(gv)
	if s == nil {
		managed := managedAlways
		if v.Stays {
			managed = managedOnStart
		}
		made, err := c.services().Create(ctx, &apiregistrationv1.APIService{
			ObjectMeta: meta.ObjectMeta{Name: serviceName(gv), Labels: map[string]string{automanagedLabel: managed}}, Spec: spec,
		}, meta.CreateOptions{})
		if meta.IsInvalid(err) {
			c.Log.Warn("a group version cannot be registered", zap.Stringer("version", gv), zap.Error(err))
			return nil, nil
		}
		if !meta.IsAlreadyExists(err) {
			return made, err
		}
		if s, err = c.services().Get(ctx, serviceName(gv), meta.GetOptions{}); err != nil { // another server was faster
			return nil, err
		}
	}
	if !isManaged(s) || scheme.Equal(&s.Spec, &spec) {
		return s, nil
	}
	s.Spec = spec
	return c.services().Update(ctx, s, meta.UpdateOptions{})
}

// drop deletes an APIService whose version this server does not have. Another server may have
// registered it, and this one not know of it yet.
func (c *APIServiceRegistration) drop(ctx context.Context, s *apiregistrationv1.APIService) (again time.Duration, err error) {
	if left := left(c.unserved, s.Name); left > 0 {
		return left, nil
	}
	delete(c.unserved, s.Name)
	err = c.services().Delete(ctx, s.Name, meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion}})
	return 0, controller.IgnoreOvertaken(err)
}

// setAvailable says that a version which this server has itself is available.
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
