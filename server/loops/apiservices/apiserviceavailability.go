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

// APIServiceAvailability says in the status of each APIService that stands for another server
// whether that server can be reached. It looks when the APIService, its service or its endpoints
// change, and every 30 s; soon again while the server does not answer.
//
// Every server runs it, as in Kubernetes: requests are handed on by each of them, and its metrics
// are about what it finds itself. That needs no agreement: a status is written only if it says
// something else than what was found, and against the state that was read. Where servers find
// different things, each writes its own when it looks next; that another has written is no reason
// to look.
type APIServiceAvailability struct {
	Client *client.Client
	// Check asks the server behind an APIService once whether it has the version.
	Check func(ctx context.Context, s *apiregistrationv1.APIService) error
	// Lost is told of each that was available and is so no more, with the reason, when that is
	// written down. nil: nobody is.
	Lost func(name, reason string)
	Log  *zap.Logger

	failures failures
}

// availabilityWorkers is how many APIServices are looked at at once, as many as in Kubernetes: one
// that does not answer keeps a worker for some seconds.
const availabilityWorkers = 5

// Pauses between looks at an APIService: at most this long, and as short as the first after a
// failed check, from where they double.
const (
	checkInterval   = 30 * time.Second
	firstCheckPause = 5 * time.Millisecond
)

// Run works until ctx ends.
func (c *APIServiceAvailability) Run(ctx context.Context) {
	controller.Loop{Source: c.source, Reconcile: c.reconcile, Workers: availabilityWorkers, Log: c.Log}.Run(ctx)
}

func (c *APIServiceAvailability) apiServices() client.Resource[*apiregistrationv1.APIService] {
	return client.For[*apiregistrationv1.APIService](c.Client, apiregistrationv1.GroupVersion.WithResource("apiservices"))
}

// backed is an APIService whose service is followed.
type backed struct {
	uid  meta.UID
	spec *apiregistrationv1.APIServiceSpec
	end  func() // of following
}

// source has the APIServices that stand for other servers when their specs change, or their
// services and endpoints. What their statuses say is for others to read. Those that stand for this
// server itself are not its business.
func (c *APIServiceAvailability) source(ctx context.Context, add func(controller.Name), failed func(error)) {
	known := map[string]*backed{}
	forget := func(name string) {
		if b := known[name]; b != nil {
			b.end()
			delete(known, name)
			add(controller.Name{Name: name})
		}
	}
	defer func() {
		for name := range known {
			forget(name)
		}
	}()
	observe := func(name controller.Name, s *apiregistrationv1.APIService) {
		before := known[name.Name]
		if s != nil && before != nil && before.uid == s.UID && scheme.Equal(before.spec, &s.Spec) {
			return
		}
		forget(name.Name)
		if s == nil || s.Spec.Service == nil {
			return
		}
		known[name.Name] = &backed{s.UID, &s.Spec, controller.Begin(ctx, func(ctx context.Context) {
			behind(c.Client, s.Spec.Service)(ctx, func(controller.Name) { add(name) }, failed)
		})}
		add(name)
	}
	for b := range follow.Changes(ctx, c.apiServices().Source(meta.ListOptions{}), follow.Options{Failed: failed}) {
		for _, ch := range b.Changes {
			if ch.Unread == nil { // else what was known of it counts
				observe(ch.Name, ch.New)
			}
		}
	}
}

// reconcile looks at an APIService and writes down what it finds.
func (c *APIServiceAvailability) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	s, err := c.apiServices().Get(ctx, name.Name, meta.GetOptions{})
	if err != nil || s.Spec.Service == nil {
		c.failures.forget(name.Name)
		return 0, controller.IgnoreNotFound(err)
	}
	found, unanswered := c.look(ctx, s)
	if ctx.Err() != nil { // what did not answer was not given its time
		return 0, nil
	}
	return c.failures.pause(name.Name, unanswered), controller.IgnoreNotFound(c.report(ctx, s, found))
}

// report writes a condition down if it says something new.
func (c *APIServiceAvailability) report(ctx context.Context, s *apiregistrationv1.APIService, found apiregistrationv1.APIServiceCondition) error {
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
			zap.String("available", string(found.Status)), zap.String("reason", found.Reason), zap.String("message", found.Message))
	}
	if was.Status == apiregistrationv1.ConditionTrue && found.Status != apiregistrationv1.ConditionTrue && c.Lost != nil {
		c.Lost(s.Name, found.Reason)
	}
	return nil
}

// failures counts for each APIService how many checks in a row have failed. All methods may be
// called at once.
type failures struct {
	mu     sync.Mutex
	counts map[string]int
}

// pause counts a check, and returns how long to wait with the next one.
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

func (f *failures) forget(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.counts, name)
}
