package apiservices

import (
	"context"
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

// This file decides when an APIService with a service is checked, and writes the result into its
// status. apiservicecheck.go has the checks. server/aggregator calls Run.

// APIServiceAvailability keeps the condition Available of each APIService that has a service in its
// spec. It checks the APIService when its spec, its service or its endpoint slices change, and 30 s
// after the last check; while the server behind does not answer, it checks sooner.
//
// Each server of a cluster runs it, as in Kubernetes, because each server passes requests on, and
// its metrics are about its own connections. No server has to be chosen as the writer: report
// writes only if the stored condition differs from the result, and only if the APIService still has
// the revision that was read. If two servers find different results, each writes its own after each
// of its checks. But a status that another server has written causes no check, so the two do not
// write faster and faster.
type APIServiceAvailability struct {
	// Client reads APIServices, services and endpoint slices, and writes the status of APIServices.
	Client *client.Client
	// Check sends one request to the server behind an APIService and returns nil if that server
	// serves the version. It is called from several goroutines at once.
	Check func(ctx context.Context, s *apiregistrationv1.APIService) error
	// Lost is called when the loop has changed the condition Available of an APIService from True
	// to another status, with the name of the APIService and the reason. It may be nil.
	Lost func(name, reason string)
	Log  *zap.Logger // gets a line for each failure and each change of availability; nil logs nothing

	failures failures
}

// availabilityWorkers is the number of APIServices that are checked at once, as many as in
// Kubernetes. A server behind that does not answer keeps one worker for some seconds.
const availabilityWorkers = 5

// The pauses before the next check. After a success, and after a failure that a watch will end, it
// is checkInterval. After other failures it is firstCheckPause at first, and doubles with each
// failure in a row, up to checkInterval.
const (
	checkInterval   = 30 * time.Second
	firstCheckPause = 5 * time.Millisecond
)

// Run checks APIServices until ctx ends.
func (c *APIServiceAvailability) Run(ctx context.Context) {
	controller.Loop{
		Name:   "RemoteAvailabilityController",
		Source: c.source, Reconcile: c.reconcile, Workers: availabilityWorkers, Log: c.Log,
	}.Run(ctx)
}

func (c *APIServiceAvailability) apiServices() client.Resource[*apiregistrationv1.APIService] {
	return client.For[*apiregistrationv1.APIService](
		c.Client, apiregistrationv1.GroupVersion.WithResource("apiservices"))
}

// backed is an APIService whose service and endpoint slices are followed.
type backed struct {
	uid  meta.UID
	spec *apiregistrationv1.APIServiceSpec
	end  func() // ends the watches of its service and slices, and returns when they have ended
}

// source is the Source of APIServices with a service. It adds a name when the spec changes, when
// the APIService is gone, and when its service or an endpoint slice of the service changes. A
// change of the status adds nothing, and an APIService without a service is left to
// APIServiceRegistration.
func (c *APIServiceAvailability) source(ctx context.Context, add func(controller.Name), failed func(error)) {
	watched := map[string]*backed{}
	forget := func(name string) {
		if b := watched[name]; b != nil {
			b.end()
			delete(watched, name)
			add(controller.Name{Name: name})
		}
	}
	defer func() {
		for name := range watched {
			forget(name)
		}
	}()
	observe := func(name controller.Name, s *apiregistrationv1.APIService) {
		before := watched[name.Name]
		if s != nil && before != nil && before.uid == s.UID && scheme.Equal(before.spec, &s.Spec) {
			return
		}
		forget(name.Name)
		if s == nil || s.Spec.Service == nil {
			return
		}
		watched[name.Name] = &backed{s.UID, &s.Spec, controller.Begin(ctx, func(ctx context.Context) {
			behind(c.Client, s.Spec.Service)(ctx, func(controller.Name) { add(name) }, failed)
		})}
		add(name)
	}
	for b := range follow.Changes(ctx, c.apiServices().Source(meta.ListOptions{}), follow.Options{Failed: failed}) {
		for _, ch := range b.Changes {
			if ch.Unread == nil { // if the APIService cannot be read, its last spec stays in force
				observe(ch.Name, ch.New)
			}
		}
	}
}

// reconcile checks an APIService, writes the result and returns the pause before the next check.
func (c *APIServiceAvailability) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	s, err := c.apiServices().Get(ctx, name.Name, meta.GetOptions{})
	if err != nil || s.Spec.Service == nil {
		c.failures.forget(name.Name)
		return 0, controller.IgnoreNotFound(err)
	}
	found, unanswered := c.look(ctx, s)
	if ctx.Err() != nil { // the check was cut short, so its result says nothing
		return 0, nil
	}
	return c.failures.pause(name.Name, unanswered), controller.IgnoreNotFound(c.report(ctx, s, found))
}

// report writes the condition into the status of s, if its status, reason or message differs from
// the stored one. After the write it logs the change and calls Lost.
func (c *APIServiceAvailability) report(
	ctx context.Context, s *apiregistrationv1.APIService, found apiregistrationv1.APIServiceCondition,
) error {
	was := scheme.OrZero(apiregistrationv1.Condition(s, found.Type))
	if was.Status == found.Status && was.Reason == found.Reason && was.Message == found.Message {
		return nil
	}
	apiregistrationv1.SetCondition(s, found, meta.Now())
	if _, err := c.apiServices().UpdateStatus(ctx, s, meta.UpdateOptions{}); err != nil {
		return err
	}
	if c.Log != nil {
		c.Log.Info("availability of an API service changed", zap.String("name", s.Name),
			zap.String("available", string(found.Status)), zap.String("reason", found.Reason),
			zap.String("message", found.Message))
	}
	if was.Status == apiregistrationv1.ConditionTrue && found.Status != apiregistrationv1.ConditionTrue &&
		c.Lost != nil {
		c.Lost(s.Name, found.Reason)
	}
	return nil
}

// failures counts for each APIService how many checks in a row got no answer. All methods may be
// called at once.
type failures struct {
	mu     sync.Mutex
	counts map[string]int // by name; a name is absent if its last check got an answer
}

// pause counts the result of a check of an APIService and returns the pause before the next check.
func (f *failures) pause(name string, failed bool) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !failed {
		delete(f.counts, name)
		return checkInterval
	}
	if f.counts == nil {
		f.counts = map[string]int{}
	}
	n := f.counts[name]
	f.counts[name] = n + 1
	return min(firstCheckPause<<min(n, 20), checkInterval)
}

// forget drops the count of an APIService that is gone or has no service.
func (f *failures) forget(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.counts, name)
}
