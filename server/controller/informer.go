package controller

import (
	"context"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// This file keeps views of the objects of a resource in memory, for all controllers that need them.
// The controllers of package server/loops ask for an Informer with InformerOf, read it with Get and
// Each, and are woken by its Source.

// Informer keeps a view of each object of a resource, and tells controllers when a view changes. A
// view is a *V: the fields of the object that controllers need. A new state of the object gives a
// new view. Views are shared, so nobody changes one. Their data are in exported fields, because
// Detach reaches no others. All methods may be called at once.
//
// If an object can no longer be read, its view stays as it was made from the last readable state.
// If there was no readable state, the object is hidden: it exists, and nothing else is known of it.
// A controller that concludes something from the absence of an object must ask Hidden or HiddenErr
// first.
//
// An Informer lags behind the server. A fact that must still hold when a controller acts on it has
// to be read from the server, or made a precondition of the write.
type Informer[V any] struct {
	complete chan struct{} // closed when the Informer has seen all objects that existed at its start

	mu      sync.RWMutex
	objects map[string]map[string]*V // by namespace and name
	hidden  map[Name]bool            // objects that exist, cannot be read, and have no view
	readers []*reader[V]             // the slice is replaced, never changed
}

// reader is a subscriber of an Informer.
type reader[V any] struct {
	changed func(name Name, before, now *V) // called without a lock
}

// Get returns the view of an object. It is nil if the object does not exist or is hidden.
func (i *Informer[V]) Get(name Name) *V {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.objects[name.Namespace][name.Name]
}

// Hidden reports whether the object exists, cannot be read, and has no view.
func (i *Informer[V]) Hidden(name Name) bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.hidden[name]
}

// HiddenErr returns an error that names one of the hidden objects, or nil if there are none.
// meta.IsUnreadable reports true for it.
func (i *Informer[V]) HiddenErr() error {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for name := range i.hidden {
		return meta.NewStoreReadError(fmt.Sprintf("%d objects cannot be read, one of them is %s",
			len(i.hidden), path.Join(name.Namespace, name.Name)), nil)
	}
	return nil
}

// Each calls f with the view of every object of a namespace, or of every cluster-scoped object if
// namespace is "". f must not call the Informer, whose lock is held.
func (i *Informer[V]) Each(namespace string, f func(name Name, v *V)) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for name, v := range i.objects[namespace] {
		f(Name{Namespace: namespace, Name: name}, v)
	}
}

// All calls f with the view of every object. f must not call the Informer, whose lock is held.
func (i *Informer[V]) All(f func(name Name, v *V)) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for namespace, objects := range i.objects {
		for name, v := range objects {
			f(Name{Namespace: namespace, Name: name}, v)
		}
	}
}

// Synced waits until the Informer has all objects that existed when it started. The error is that
// of ctx. It implements Syncer.
func (i *Informer[V]) Synced(ctx context.Context) error {
	select {
	case <-i.complete:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Source returns a Source that turns the changes of views into names to work on. It calls names for
// each object that exists and for each change of a view, and adds the names that the call returns:
//
//	before  now
//	nil     v    the object exists at the start, or is new
//	v       w    its view has changed
//	v       nil  it is gone
//	nil     nil  it is no longer hidden; if it can be read, a call with nil and v follows
//
// names must return soon. Several calls may run at once and in any order. If names reads another
// Informer, that Informer may be older or newer than the change, so the loop needs a Source of that
// Informer as well.
func (i *Informer[V]) Source(names func(name Name, before, now *V) []Name) Source {
	return func(ctx context.Context, add func(Name), _ func(error)) {
		r := &reader[V]{func(name Name, before, now *V) {
			for _, n := range names(name, before, now) {
				add(n)
			}
		}}
		for name, v := range i.join(r) {
			r.changed(name, nil, v)
		}
		<-ctx.Done()
		i.leave(r)
	}
}

// Own returns a Source of the objects' own names, for a loop that works on the objects themselves.
func (i *Informer[V]) Own() Source {
	return i.Source(func(name Name, _, _ *V) []Name { return []Name{name} })
}

// join adds a reader and returns the present views. From then on the reader is called for each
// change. The views have all earlier changes.
func (i *Informer[V]) join(r *reader[V]) map[Name]*V {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.readers = append(slices.Clip(i.readers), r)
	return i.allLocked()
}

// Snapshot returns the views of all objects, in a map that belongs to the caller.
func (i *Informer[V]) Snapshot() map[Name]*V {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.allLocked()
}

// allLocked returns a copy of objects. The caller holds mu.
func (i *Informer[V]) allLocked() map[Name]*V {
	all := map[Name]*V{}
	for namespace, objects := range i.objects {
		for name, v := range objects {
			all[Name{Namespace: namespace, Name: name}] = v
		}
	}
	return all
}

// leave removes a reader. A call of changed that has begun may still be running.
func (i *Informer[V]) leave(r *reader[V]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.readers = slices.DeleteFunc(slices.Clone(i.readers), func(other *reader[V]) bool { return other == r })
}

// set stores the view of an object, nil if it is gone. It tells the readers if the view differs
// from the last one, or if the object was hidden. Only run calls it.
func (i *Informer[V]) set(name Name, v *V) {
	before, wasHidden, readers := i.replace(name, v)
	if !wasHidden && reflect.DeepEqual(before, v) {
		return // the object has changed in fields that no view has
	}
	for _, r := range readers {
		if wasHidden {
			r.changed(name, nil, nil)
		}
		if before != nil || v != nil {
			r.changed(name, before, v)
		}
	}
}

// hide notes that an object cannot be read. An older view of it stays.
func (i *Informer[V]) hide(name Name) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.objects[name.Namespace][name.Name] == nil {
		i.hidden[name] = true
	}
}

// replace stores the view of an object, which is no longer hidden. It returns the view before that,
// whether the object was hidden, and the readers to tell.
func (i *Informer[V]) replace(name Name, v *V) (before *V, wasHidden bool, readers []*reader[V]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	wasHidden = i.hidden[name]
	delete(i.hidden, name)
	objects := i.objects[name.Namespace]
	before = objects[name.Name]
	switch {
	case v == nil:
		if delete(objects, name.Name); len(objects) == 0 {
			delete(i.objects, name.Namespace)
		}
	case objects == nil:
		i.objects[name.Namespace] = map[string]*V{name.Name: v}
	default:
		objects[name.Name] = v
	}
	return before, wasHidden, i.readers
}

// Informers are the Informers that the controllers of one run share. A run begins when a server
// starts its controllers, for example because it was elected, and ends with its context. An
// Informer is made when the first controller asks for it, and works until the run ends. All methods
// may be called at once.
type Informers struct {
	client *client.Client
	log    *zap.Logger
	ctx    context.Context
	wg     sync.WaitGroup

	mu   sync.Mutex
	made map[informerKey]any // of type *Informer[V]
}

// informerKey identifies an Informer: two controllers that keep the same V of a resource share it.
type informerKey struct {
	resource meta.GroupVersionResource
	view     reflect.Type // V
}

// NewInformers returns the informers of a run that ends with ctx.
func NewInformers(ctx context.Context, c *client.Client, log *zap.Logger) *Informers {
	return &Informers{client: c, log: log, ctx: ctx, made: map[informerKey]any{}}
}

// Client returns the client by which the Informers read.
func (s *Informers) Client() *client.Client { return s.client }

// Wait returns when the run and all its Informers have ended.
func (s *Informers) Wait() {
	<-s.ctx.Done()
	s.mu.Lock() // no Informer starts while Wait holds the lock, and none after the end of ctx
	defer s.mu.Unlock()
	s.wg.Wait()
}

// InformerOf returns the Informer of a resource that keeps a V of each object. All callers that ask
// for the same resource and the same V get the same Informer. It uses the keep of the first caller,
// so all callers with the same V must pass the same keep.
//
// keep makes the view of an object. The view then belongs to the Informer, which calls Detach on
// it. If keep returns nil, the object counts as one that does not exist.
func InformerOf[T meta.Object, V any](
	s *Informers, resource meta.GroupVersionResource, keep func(obj T) *V,
) *Informer[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := informerKey{resource, reflect.TypeFor[V]()}
	if made, ok := s.made[key]; ok {
		return made.(*Informer[V])
	}
	i := &Informer[V]{
		complete: make(chan struct{}),
		objects:  map[string]map[string]*V{},
		hidden:   map[Name]bool{},
	}
	s.made[key] = i
	if s.ctx.Err() == nil {
		views := follow.Map(client.For[T](s.client, resource).Source(meta.ListOptions{}), func(obj T) *V {
			v := keep(obj)
			Detach(v)
			return v
		})
		s.wg.Go(func() { i.run(s.ctx, views, s.log) })
	}
	return i
}

// run follows the resource and keeps the views up to date until ctx ends.
func (i *Informer[V]) run(ctx context.Context, source follow.Source[*V], log *zap.Logger) {
	synced := sync.OnceFunc(func() { close(i.complete) })
	failed := func(err error) { log.Warn("watch failed", zap.Error(err)) }
	for b := range follow.Changes(ctx, source, follow.Options{Failed: failed}) {
		for _, ch := range b.Changes {
			if ch.Unread != nil {
				i.hide(ch.Name)
				continue
			}
			i.set(ch.Name, ch.New)
		}
		if b.InStep {
			synced()
		}
	}
}

// Detach copies all strings that v's exported fields hold, at any depth. The strings of a decoded
// object are parts of the object's text, so one of them keeps the whole text in memory. An Informer
// detaches each view. A keep function that compiles a part of an object into something that it
// stores elsewhere, such as a selector, calls Detach on that part first.
func Detach[V any](v *V) { detach(reflect.ValueOf(v)) }

// detach is Detach for a value that reflection may set. It does not look into interfaces, arrays,
// functions and unexported fields.
func detach(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Clone(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			detach(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			// An embedded struct of an unexported type may still have exported fields.
			embedded := v.Type().Field(i).Anonymous && v.Field(i).Kind() == reflect.Struct
			if f := v.Field(i); f.CanSet() || embedded {
				detach(f)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			detach(v.Index(i))
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		own := reflect.MakeMapWithSize(v.Type(), v.Len())
		for entry := v.MapRange(); entry.Next(); {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.Set(entry.Key())
			value.Set(entry.Value())
			detach(key)
			detach(value)
			own.SetMapIndex(key, value)
		}
		v.Set(own)
	}
}
