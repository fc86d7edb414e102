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

// Keeper keeps the flow schemas and priority levels that every cluster has. Of each of them, the
// annotation flowcontrol.AutoUpdate says whether its spec is kept, too. It is always kept of the
// mandatory ones. Of a suggested one that has no such annotation it is kept if nobody has changed
// the spec since it was made, and the annotation is added.
//
// A schema or level that is neither mandatory nor suggested is deleted if it has the annotation
// with the value true: an earlier version has made it.
type Keeper struct {
	Client *client.Client
	Log    *zap.Logger
}

// keeperManager owns what is written, as in kube-apiserver.
const keeperManager = "api-priority-and-fairness-config-producer-v1"

// The resources.
var (
	levelResource  = flowcontrolv1.GroupVersion.WithResource("prioritylevelconfigurations")
	schemaResource = flowcontrolv1.GroupVersion.WithResource("flowschemas")
)

// keepEvery is after which time it is looked again whether all is as it should be.
const keepEvery = time.Minute

// Run keeps the objects until ctx ends, from a minute after it was called.
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
			k.Log.Warn("cannot keep all flow schemas and priority levels; it will be tried again", zap.Error(err))
		}
	}
}

// Ensure brings all objects to where they should be: levels first, as schemas refer to them. An
// object that another client writes at the same time, and one that cannot be read, stays as it is.
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

// setLevelSpec gives a level the spec that it should have, and reports whether that is another than
// it had. What the level exempt counts for beside others is left to administrators.
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

// setSchemaSpec gives a schema the spec that it should have, and reports whether that is another
// than it had.
func setSchemaSpec(schema, want *flowcontrolv1.FlowSchema) bool {
	if scheme.Equal(&schema.Spec, &want.Spec) {
		return false
	}
	schema.Spec = want.Spec
	return true
}

// kept are the objects of a resource.
type kept[T meta.Object] struct {
	objects              client.Resource[T]
	mandatory, suggested []T
	setSpec              func(obj, want T) bool
	log                  *zap.Logger

	unwanted []T // there, and neither mandatory nor suggested; known after ensure
}

// keptWriters is how many objects are written at once: those that come together share a write to
// the disk.
const keptWriters = 8

// ensure makes and mends the objects that should be there.
func (k *kept[T]) ensure(ctx context.Context) error {
	list, err := k.objects.List(meta.WithUnread(ctx), meta.ListOptions{})
	if err != nil {
		return err
	}
	there, unread := map[string]T{}, map[string]bool{}
	for _, obj := range list.Items {
		there[obj.GetObjectMeta().Name] = obj
	}
	for _, u := range list.Unread {
		unread[u.Name] = true
	}
	var wg sync.WaitGroup
	room, errs := make(chan struct{}, keptWriters), make([]error, len(k.mandatory)+len(k.suggested))
	for i, want := range slices.Concat(k.mandatory, k.suggested) {
		name := want.GetObjectMeta().Name
		have, exists := there[name]
		delete(there, name)
		if unread[name] || exists && !k.mend(have, want, i < len(k.mandatory)) {
			continue
		}
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if exists {
				_, errs[i] = k.objects.Update(ctx, have, meta.UpdateOptions{FieldManager: keeperManager})
			} else {
				_, errs[i] = k.objects.Create(ctx, want, meta.CreateOptions{FieldManager: keeperManager})
			}
			errs[i] = k.written("wrote a bootstrap object", name, errs[i])
		})
	}
	wg.Wait()
	for _, obj := range there {
		k.unwanted = append(k.unwanted, obj)
	}
	return errors.Join(errs...)
}

// mend changes an object to what it should be, and reports whether there was something to change.
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

// drop deletes the objects that an earlier version has made.
func (k *kept[T]) drop(ctx context.Context) error {
	var errs []error
	for _, obj := range k.unwanted {
		m := obj.GetObjectMeta()
		if made, err := strconv.ParseBool(m.Annotations[flowcontrol.AutoUpdate]); err != nil || !made {
			continue
		}
		this := &meta.Preconditions{UID: &m.UID, ResourceVersion: &m.ResourceVersion}
		err := k.objects.Delete(ctx, m.Name, meta.DeleteOptions{Preconditions: this})
		errs = append(errs, k.written("deleted a bootstrap object of an earlier version", m.Name, err))
	}
	return errors.Join(errs...)
}

// written logs what was done. It drops the error of a write that another client was faster than:
// the next round looks at what is there then.
func (k *kept[T]) written(what, name string, err error) error {
	switch {
	case err == nil:
		k.log.Debug(what, zap.String("name", name))
	case meta.IsConflict(err), meta.IsAlreadyExists(err), meta.IsNotFound(err):
		return nil
	}
	return err
}
