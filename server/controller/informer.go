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

// Informer keeps what controllers need to know of each object of a resource, and tells them when
// that changes. A V is made of each state of an object; it is shared, and nobody changes it. What
// it holds is in exported fields. All methods may be called at once.
//
// Of an object that cannot be read any more it keeps what it made of the last state that could be
// read. If there is no such state, the object is hidden: it is there, and nothing else is known
// about it. Who concludes something from the absence of an object asks for that.
//
// It lags behind the server. What has to be true when it is acted upon is read, or left to a
// precondition.
type Informer[V any] struct {
	complete chan struct{} // closed when all that was there at first is known

	mu      sync.RWMutex
	objects map[string]map[string]*V // by namespace and name
	hidden  map[Name]bool            // objects that are there, cannot be read, and are not among objects
	readers []*reader[V]             // replaced, never changed
}

// reader is told of changes, with no lock held.
type reader[V any] struct {
	changed func(name Name, before, now *V)
}

// Get returns what is known of an object, nil if there is none.
func (i *Informer[V]) Get(name Name) *V {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.objects[name.Namespace][name.Name]
}

// Hidden reports whether there is an object which cannot be read, and of which nothing is known.
func (i *Informer[V]) Hidden(name Name) bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.hidden[name]
}

// HiddenErr returns an error that names one of the hidden objects, nil if there are none.
// meta.IsUnreadable knows it.
func (i *Informer[V]) HiddenErr() error {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for name := range i.hidden {
		return meta.NewStoreReadError(fmt.Sprintf("%d objects cannot be read, one of them is %s",
			len(i.hidden), path.Join(name.Namespace, name.Name)), nil)
	}
	return nil
}

// Each calls f for every object of a namespace, or of those outside of any with "". f must not call
// the Informer.
func (i *Informer[V]) Each(namespace string, f func(name Name, v *V)) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for name, v := range i.objects[namespace] {
		f(Name{Namespace: namespace, Name: name}, v)
	}
}

// All calls f for every object there is. f must not call the Informer.
func (i *Informer[V]) All(f func(name Name, v *V)) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for namespace, objects := range i.objects {
		for name, v := range objects {
			f(Name{Namespace: namespace, Name: name}, v)
		}
	}
}

// Synced waits until all that was there at first is known. The error is that of ctx.
func (i *Informer[V]) Synced(ctx context.Context) error {
	select {
	case <-i.complete:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Source is the Source of the names that the changes concern: names returns those for each object
// that is there, and for each that changes. before is nil of an object that is new, now of one that
// is gone. Both are nil when an object ceases to be hidden, whether it is gone or can be read; if
// it can be read, names is called for it as a new object after that. names must return soon, and
// stand several calls at once, in any order; what it finds in other Informers may be older or
// newer, so each that counts needs a Source of its own.
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

// Own is Source for a controller that looks after the objects themselves.
func (i *Informer[V]) Own() Source {
	return i.Source(func(name Name, _, _ *V) []Name { return []Name{name} })
}

// join has r told of what changes from now on, and returns what is there.
func (i *Informer[V]) join(r *reader[V]) map[Name]*V {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.readers = append(slices.Clip(i.readers), r)
	return i.allLocked()
}

// Snapshot returns what is known of all objects, in a map that belongs to the caller.
func (i *Informer[V]) Snapshot() map[Name]*V {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.allLocked()
}

func (i *Informer[V]) allLocked() map[Name]*V {
	all := map[Name]*V{}
	for namespace, objects := range i.objects {
		for name, v := range objects {
			all[Name{Namespace: namespace, Name: name}] = v
		}
	}
	return all
}

func (i *Informer[V]) leave(r *reader[V]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.readers = slices.DeleteFunc(slices.Clone(i.readers), func(other *reader[V]) bool { return other == r })
}

// set takes in the present state of an object, nil if it is gone, and tells the readers.
func (i *Informer[V]) set(name Name, v *V) {
	before, wasHidden, readers := i.replace(name, v)
	if !wasHidden && reflect.DeepEqual(before, v) {
		return // what has changed is nothing to anybody here
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

// hide notes that the present state of an object cannot be read.
func (i *Informer[V]) hide(name Name) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.objects[name.Namespace][name.Name] == nil {
		i.hidden[name] = true
	}
}

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

// Informers are those that the controllers of one run share: each is made when the first of them
// asks for it, and works until the run ends.
type Informers struct {
	client *client.Client
	log    *zap.Logger
	ctx    context.Context
	wg     sync.WaitGroup

	mu   sync.Mutex
	made map[informerKey]any
}

type informerKey struct {
	resource meta.GroupVersionResource
	view     reflect.Type
}

// NewInformers returns the informers of a run that ends with ctx.
func NewInformers(ctx context.Context, c *client.Client, log *zap.Logger) *Informers {
	return &Informers{client: c, log: log, ctx: ctx, made: map[informerKey]any{}}
}

// Client is what the informers read with.
func (s *Informers) Client() *client.Client { return s.client }

// Wait returns when the run has ended and all its informers have.
func (s *Informers) Wait() {
	<-s.ctx.Done()
	s.mu.Lock() // none is made from now on
	defer s.mu.Unlock()
	s.wg.Wait()
}

// InformerOf returns the Informer of a resource that keeps a V of each object, the same for all who
// ask for that V. What keep returns belongs to the Informer; an object of which it makes nil is
// none.
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

// run keeps the Informer up to date until ctx ends.
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

// Detach gives v strings of its own, in all fields that are exported, as an Informer does with what
// it keeps. Who keeps something that is made of a decoded object otherwise, such as a compiled
// selector, calls it before that.
func Detach[V any](v *V) { detach(reflect.ValueOf(v)) }

// detach gives v strings of its own, in all fields that are exported: those of a decoded object
// refer to the whole text of it, which would stay in memory with any of them.
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
