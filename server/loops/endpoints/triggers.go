package endpoints

import (
	"sync"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
)

// annotationTrigger says in endpoints and slices when that happened which their last change follows
// from, for those who measure how long that takes.
const annotationTrigger = "endpoints.kubernetes.io/last-change-trigger-time"

// triggers remembers for each service which times have been seen. All methods may be called at
// once.
type triggers struct {
	mu       sync.Mutex
	services map[controller.Name]serviceTimes
}

// serviceTimes are times that have been seen.
type serviceTimes struct {
	created time.Time
	turned  map[string]time.Time // by pod: when it became ready, or ceased to be
}

// next returns the earliest time that has not been seen before, zero if there is none. Of a service
// that is new it is its own.
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

// since is the earliest of the times that are later than before.
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

// seen reports whether next has been asked about a service since it was forgotten.
func (t *triggers) seen(name controller.Name) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.services[name]
	return ok
}

// forget drops what is known of a service that is gone.
func (t *triggers) forget(name controller.Name) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.services, name)
}

// setTrigger writes a time into the annotations of an object, or takes the last one out.
func setTrigger(m *meta.ObjectMeta, at time.Time) {
	value := ""
	if !at.IsZero() {
		value = at.UTC().Format(time.RFC3339Nano)
	}
	setAnnotation(m, annotationTrigger, value)
}

// setAnnotation writes an annotation, or takes it out if there is no value.
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
