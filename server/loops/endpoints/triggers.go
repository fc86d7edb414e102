package endpoints

import (
	"sync"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
)

// annotationTrigger is the time of the event, such as a pod that became ready, which caused the
// last change of Endpoints or a slice, in RFC 3339. kube-proxy measures with it how long a change
// takes until it is programmed.
const annotationTrigger = "endpoints.kubernetes.io/last-change-trigger-time"

// triggers remembers the trigger times of each service that one controller has used, like
// Kubernetes' TriggerTimeTracker. Its methods are safe for concurrent use.
type triggers struct {
	mu       sync.Mutex
	services map[controller.Name]serviceTimes
}

// serviceTimes are the trigger times of a service.
type serviceTimes struct {
	created time.Time
	turned  map[string]time.Time // by name of a pod: when its condition Ready last changed
}

// next returns the earliest trigger time that is later than the same time at the call before, zero
// if there is none. For a service that is not yet in t it returns when the service was created. The
// times are spent even if the write that follows fails.
func (t *triggers) next(name controller.Name, s *serviceView, pods []selected) time.Time {
	now := serviceTimes{s.Created, map[string]time.Time{}}
	for _, p := range pods {
		if !p.Turned.IsZero() {
			now.turned[p.name] = p.Turned
		}
	}
	t.mu.Lock()
	before, known := t.services[name]
	if t.services == nil {
		t.services = map[controller.Name]serviceTimes{}
	}
	t.services[name] = now
	t.mu.Unlock()
	if !known {
		return s.Created
	}
	return now.since(before)
}

// since returns the earliest of the times that are later than the same time in before.
func (now *serviceTimes) since(before serviceTimes) (first time.Time) {
	consider := func(at, last time.Time) {
		if at.After(last) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	consider(now.created, before.created)
	for pod, at := range now.turned {
		consider(at, before.turned[pod])
	}
	return first
}

// seen reports whether next has been called for a service since it was last forgotten.
func (t *triggers) seen(name controller.Name) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.services[name]
	return ok
}

// forget drops the times of a deleted service.
func (t *triggers) forget(name controller.Name) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.services, name)
}

// setTrigger sets annotationTrigger. A zero time removes the annotation, because the present change
// was not caused by the event that the old time belongs to.
func setTrigger(m *meta.ObjectMeta, at time.Time) {
	value := ""
	if !at.IsZero() {
		value = at.UTC().Format(time.RFC3339Nano)
	}
	setAnnotation(m, annotationTrigger, value)
}

// setAnnotation sets an annotation, or removes it if value is "".
func setAnnotation(m *meta.ObjectMeta, key, value string) {
	if value == "" {
		delete(m.Annotations, key)
		return
	}
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[key] = value
}
