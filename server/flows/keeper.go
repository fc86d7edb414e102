package flows

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/flowcontrol"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// This file creates, repairs and deletes the bootstrap objects. ensure creates the objects that are
// missing, and updates those that mend changes; drop deletes the objects of earlier versions. The
// server calls Ensure once at start and then Run.

// Keeper keeps the flow schemas and priority levels that every cluster has: it creates a missing
// object, and may also reset the spec of an existing one.
//
//   - The spec of a mandatory object is always reset.
//   - The spec of a suggested object is reset if the annotation flowcontrol.AutoUpdate is true.
//     Without a valid annotation, the spec is reset if nobody has changed it since the object was
//     created (metadata.generation is 1). Keeper sets the annotation accordingly.
//   - An object that is neither mandatory nor suggested is deleted if its annotation is true,
//     because an earlier version of the server has made it.
type Keeper struct {
	Client *client.Client // of the server
	Log    *zap.Logger
}

// keeperManager is the field manager of all writes, as in kube-apiserver.
const keeperManager = "api-priority-and-fairness-config-producer-v1"

// The two resources of API Priority and Fairness.
var (
	levelResource  = flowcontrolv1.GroupVersion.WithResource("prioritylevelconfigurations")
	schemaResource = flowcontrolv1.GroupVersion.WithResource("flowschemas")
)

// keepEvery is the time between two looks at the objects.
const keepEvery = time.Minute

// Run calls Ensure each minute until ctx ends, for the first time a minute after the call. It logs
// errors and goes on.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := k.Ensure(ctx); err != nil && ctx.Err() == nil {
			k.Log.Warn("flow schemas and priority levels cannot all be written; it will be tried again", zap.Error(err))
		}
	}
}

// Ensure creates, resets and deletes objects as Keeper says. Levels are created before schemas and
// deleted after them, because schemas refer to levels. An object stays as it is if it cannot be
// read, or if another client writes it at the same time. The error joins those of single objects.
func (k *Keeper) Ensure(ctx context.Context) error {
	mandatory, suggested := flowcontrol.Mandatory(), flowcontrol.Suggested()
	levels := kept[*flowcontrolv1.PriorityLevelConfiguration]{
		objects:   client.For[*flowcontrolv1.PriorityLevelConfiguration](k.Client, levelResource),
		mandatory: mandatory.Levels, suggested: suggested.Levels, setSpec: setLevelSpec,
		log: k.Log.With(zap.String("resource", levelResource.Resource)),
	}
	schemas := kept[*flowcontrolv1.FlowSchema]{
		objects:   client.For[*flowcontrolv1.FlowSchema](k.Client, schemaResource),
		mandatory: mandatory.Schemas, suggested: suggested.Schemas, setSpec: setSchemaSpec,
		log: k.Log.With(zap.String("resource", schemaResource.Resource)),
	}
	if err := levels.ensure(ctx); err != nil {
		return err
	}
	if err := schemas.ensure(ctx); err != nil {
		return err
	}
	if err := schemas.drop(ctx); err != nil {
		return err
	}
	return levels.drop(ctx)
}

// setLevelSpec sets the spec of level to that of want, and reports whether the spec changed.
// Administrators may change spec.exempt of the level exempt, so a difference there alone does not
// count. If the spec differs elsewhere, spec.exempt is set, too, as in kube-apiserver.
func setLevelSpec(level, want *flowcontrolv1.PriorityLevelConfiguration) bool {
	spec := want.Spec
	if level.Name == flowcontrolv1.NameExempt && level.Spec.Exempt != nil {
		spec.Exempt = level.Spec.Exempt
	}
	if scheme.Equal(&level.Spec, &spec) {
		return false
	}
	level.Spec = want.Spec
	return true
}

// setSchemaSpec sets the spec of schema to that of want, and reports whether the spec changed.
func setSchemaSpec(schema, want *flowcontrolv1.FlowSchema) bool {
	if scheme.Equal(&schema.Spec, &want.Spec) {
		return false
	}
	schema.Spec = want.Spec
	return true
}

// kept is one run of Ensure over the objects of one resource.
type kept[T meta.Object] struct {
	objects              client.Resource[T]
	mandatory, suggested []T
	setSpec              func(obj, want T) bool // sets the spec of obj, and reports whether it changed
	log                  *zap.Logger

	unwanted []T // objects that are neither mandatory nor suggested; set by ensure
}

// keptWriters is the number of objects that are written at once. Concurrent writes share a commit
// of the store.
const keptWriters = 8

// ensure lists the objects, creates the missing ones, and updates those that mend has changed. It
// skips objects that cannot be read.
func (k *kept[T]) ensure(ctx context.Context) error {
	list, err := k.objects.List(meta.WithUnread(ctx), meta.ListOptions{})
	if err != nil {
		return err
	}
	byName, unread := map[string]T{}, map[string]bool{}
	for _, obj := range list.Items {
		byName[obj.GetObjectMeta().Name] = obj
	}
	for _, u := range list.Unread {
		unread[u.Name] = true
	}
	var wg sync.WaitGroup
	writing, errs := make(chan struct{}, keptWriters), make([]error, len(k.mandatory)+len(k.suggested))
	for i, want := range slices.Concat(k.mandatory, k.suggested) {
		name := want.GetObjectMeta().Name
		have, exists := byName[name]
		delete(byName, name)
		if unread[name] || exists && !k.mend(have, want, i < len(k.mandatory)) {
			continue
		}
		writing <- struct{}{}
		wg.Go(func() {
			defer func() { <-writing }()
			if exists {
				_, errs[i] = k.objects.Update(ctx, have, meta.UpdateOptions{FieldManager: keeperManager})
			} else {
				_, errs[i] = k.objects.Create(ctx, want, meta.CreateOptions{FieldManager: keeperManager})
			}
			errs[i] = k.written("wrote a bootstrap object", name, errs[i])
		})
	}
	wg.Wait()
	for _, obj := range byName {
		k.unwanted = append(k.unwanted, obj)
	}
	return errors.Join(errs...)
}

// mend sets the spec and the annotation of obj as Keeper says, and reports whether obj changed.
func (k *kept[T]) mend(obj, want T, mandatory bool) bool {
	m := obj.GetObjectMeta()
	said, err := strconv.ParseBool(m.Annotations[flowcontrol.AutoUpdate])
	keep := mandatory || said || err != nil && m.Generation == 1
	changed := keep && k.setSpec(obj, want)
	if err == nil && said == keep {
		return changed
	}
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[flowcontrol.AutoUpdate] = strconv.FormatBool(keep)
	return true
}

// drop deletes the unwanted objects whose annotation is true. The precondition makes sure that
// nobody has changed the object since ensure read it. drop is called after ensure.
func (k *kept[T]) drop(ctx context.Context) error {
	var errs []error
	for _, obj := range k.unwanted {
		m := obj.GetObjectMeta()
		if made, err := strconv.ParseBool(m.Annotations[flowcontrol.AutoUpdate]); err != nil || !made {
			continue
		}
		precondition := &meta.Preconditions{UID: &m.UID, ResourceVersion: &m.ResourceVersion}
		err := k.objects.Delete(ctx, m.Name, meta.DeleteOptions{Preconditions: precondition})
		errs = append(errs, k.written("deleted a bootstrap object of an earlier version", m.Name, err))
	}
	return errors.Join(errs...)
}

// written logs a write that succeeded, with the message what. It drops the error of a write that
// came too late because another client has written the object: the next run of Ensure looks at the
// object again.
func (k *kept[T]) written(what, name string, err error) error {
	switch {
	case err == nil:
		k.log.Debug(what, zap.String("name", name))
	case meta.IsConflict(err), meta.IsAlreadyExists(err), meta.IsNotFound(err):
		return nil
	}
	return err
}
