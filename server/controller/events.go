package controller

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/server/client"
)

// Recorder writes Events about objects. If the same reason and message are reported about the same
// object again while the Recorder still remembers its Event, the Recorder raises the count of that
// Event instead. All methods may be called at once.
type Recorder struct {
	client    *client.Client
	component string
	log       *zap.Logger

	mu struct {
		sync.Mutex
		said map[string]*corev1.Event // by object, reason and message; at most maxSaid
	}
}

// maxSaid is the number of Events that a Recorder remembers. When a Recorder has that many and
// writes another, it forgets all of them first.
const maxSaid = 256

// NewRecorder returns the Recorder of a component, such as "disruption-controller". The component
// is the source of its Events.
func NewRecorder(c *client.Client, component string, log *zap.Logger) *Recorder {
	r := &Recorder{client: c, component: component, log: log}
	r.mu.said = map[string]*corev1.Event{}
	return r
}

// Event reports something about an object. typ is corev1.EventTypeNormal or
// corev1.EventTypeWarning. A failed write is only logged, because nothing depends on Events. It is
// not logged if ctx has ended, or if the namespace is being deleted.
func (r *Recorder) Event(ctx context.Context, about corev1.ObjectReference, typ, reason, message string) {
	r.Act(ctx, about, typ, reason, "", message)
}

// Act does what Event does and also sets the Event's action: what the component does about it.
func (r *Recorder) Act(ctx context.Context, about corev1.ObjectReference, typ, reason, action, message string) {
	key := fmt.Sprintf("%s/%s/%s/%s/%s/%s", about.Kind, about.Namespace, about.Name, about.UID, reason, message)
	r.mu.Lock()
	ev := r.mu.said[key]
	r.mu.Unlock()
	ev, err := r.again(ctx, ev)
	if ev == nil && err == nil {
		ev, err = r.first(ctx, about, typ, reason, action, message)
	}
	if IsNamespaceEnding(err) || err != nil && ctx.Err() != nil {
		return
	}
	if err != nil {
		r.log.Warn("cannot write an event",
			zap.String("reason", reason), zap.String("message", message), zap.Error(err))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mu.said) >= maxSaid {
		clear(r.mu.said)
	}
	r.mu.said[key] = ev
}

// again raises the count of ev and returns ev as it is then. It returns nil if ev is nil or has
// been deleted.
func (r *Recorder) again(ctx context.Context, ev *corev1.Event) (*corev1.Event, error) {
	if ev == nil {
		return nil, nil
	}
	patch := fmt.Sprintf(`{"count":%d,"lastTimestamp":%q}`, ev.Count+1, time.Now().UTC().Format(time.RFC3339))
	ev, err := r.events(ev.Namespace).Patch(ctx, ev.Name, client.MergePatch, []byte(patch), meta.PatchOptions{})
	if meta.IsNotFound(err) {
		return nil, nil
	}
	return ev, err
}

// first creates the Event that later calls of again count. An Event about a cluster-scoped object
// is in the namespace default, as in Kubernetes.
func (r *Recorder) first(
	ctx context.Context, about corev1.ObjectReference, typ, reason, action, message string,
) (*corev1.Event, error) {
	namespace := about.Namespace
	if namespace == "" {
		namespace = "default"
	}
	name := fmt.Sprintf("%s.%x", about.Name, time.Now().UnixNano())
	if len(names.DNSSubdomainName(name, false)) > 0 { // the name is too long, or has colons
		name = strings.ToLower(rand.Text())
	}
	now := meta.Now()
	return r.events(namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     meta.ObjectMeta{Namespace: namespace, Name: name},
		InvolvedObject: about, Type: typ, Reason: reason, Action: action, Message: message,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: r.component}, ReportingController: r.component,
	}, meta.CreateOptions{})
}

// events returns the Events of a namespace.
func (r *Recorder) events(namespace string) client.Resource[*corev1.Event] {
	return client.For[*corev1.Event](r.client, corev1.GroupVersion.WithResource("events")).In(namespace)
}
