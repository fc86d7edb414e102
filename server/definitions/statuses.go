package definitions

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
)

// statusManager owns the status of definitions, as in Kubernetes.
const statusManager = "kube-apiserver"

// statusWriters is how many statuses are written at a time.
const statusWriters = 8

// updateAgain is how long after a failure a definition is written again.
const updateAgain = time.Second

// errOvertaken ends a write whose definition has changed since the write was decided. It is a
// Status, which a Store returns as it is.
var errOvertaken = meta.NewConflict(customResourceDefinitions, "", errors.New("the definition has changed meanwhile"))

// now is the time of a condition.
func now() meta.Time { return meta.Time{Time: time.Now().UTC().Truncate(time.Second)} }

// statuses writes the statuses of definitions. All methods may be called at once.
type statuses struct {
	host    generic.Host
	store   *registry.Store // of the definitions, as outlines
	log     *zap.Logger
	writing chan struct{} // has a place for each status that is written at the same time
}

func newStatuses(host generic.Host, store *registry.Store, log *zap.Logger) *statuses {
	return &statuses{host: host, store: store, log: log, writing: make(chan struct{}, statusWriters)}
}

// write has the status stored that was decided, unless the definition has changed meanwhile: the
// loop then gets the new state. The channel gets the revision that this write has made.
func (s *statuses) write(f *definition) (written chan storage.Revision) {
	written = make(chan storage.Revision, 1)
	name, rev := f.Name, f.rev
	names, conditions := f.Status.AcceptedNames, f.Status.Conditions
	decided := func(cur request.Encoded, def *apiextensionsv1.CustomResourceDefinition) error {
		if storage.Revision(cur.Revision()) != rev {
			return errOvertaken
		}
		def.Status.AcceptedNames, def.Status.Conditions = names, conditions
		return nil
	}
	s.host.Go(func(ctx context.Context) {
		select {
		case s.writing <- struct{}{}:
			defer func() { <-s.writing }()
		case <-ctx.Done():
			return
		}
		s.untilDone(ctx, name, func() error {
			enc, err := s.update(ctx, name, decided)
			if err == nil {
				written <- storage.Revision(enc.Revision())
			}
			return err
		})
	})
	return written
}

// change is what a write does to a definition, whose stored state is cur.
type change func(cur request.Encoded, def *apiextensionsv1.CustomResourceDefinition) error

// update changes a definition through its subresource status.
func (s *statuses) update(ctx context.Context, name string, apply change) (request.Encoded, error) {
	enc, _, err := s.store.Subresource("status").Update(ctx, &request.Write{
		Name: name, Manager: statusManager, Options: &meta.UpdateOptions{}, Admitted: true,
		Change: func(_ context.Context, cur request.Current) (meta.Typed, error) {
			if cur.Encoded == nil {
				return nil, errOvertaken
			}
			obj, err := cur.Object()
			if err != nil {
				return nil, err
			}
			outline := obj.(*extensions.Outline)
			def, err := outline.Definition()
			if err != nil {
				return nil, err
			}
			err = apply(cur.Encoded, def)
			outline.Status, outline.Finalizers = def.Status, def.Finalizers
			return outline, err
		},
	})
	return enc, err
}

// untilDone tries a write of a definition until it succeeds, and reports whether it has succeeded.
// It gives up when the definition is gone or has changed, or ctx ends.
func (s *statuses) untilDone(ctx context.Context, name string, write func() error) bool {
	for {
		err := write()
		if err == nil || ctx.Err() != nil || meta.IsNotFound(err) || errors.Is(err, errOvertaken) {
			return err == nil
		}
		s.log.Warn("the status of a custom resource definition cannot be written; it will be tried again",
			zap.String("definition", name), zap.Error(err))
		select {
		case <-ctx.Done():
			return false
		case <-time.After(updateAgain):
		}
	}
}
