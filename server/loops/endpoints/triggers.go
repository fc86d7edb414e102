package endpoints

import (
	"sync"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
)

// annotationTrigger is the annotation with the trigger time of the last change of Endpoints or of a
// slice, in RFC 3339. kube-proxy measures with it how long a change takes until the node routes
// traffic by it.
const annotationTrigger = "endpoints.kubernetes.io/last-change-trigger-time"

// triggers remembers for each service the trigger times that one controller has already used, like
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

// next returns the earliest of the trigger times of a service that have moved since the last call
// for the service, or zero if none has. At the first call for a service it returns when the service
// was created. The times count as used even if the write that follows fails.
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

// since returns the earliest of the times in now that are later than the same time in before, or
// zero if none is.
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

// seen reports whether next was called for a service, and forget was not called since.
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

// setTrigger sets annotationTrigger. If the time is zero, it removes the annotation, because the
// event of the old time has not caused the present change.
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
