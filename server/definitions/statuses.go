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

// statusManager is the field manager that owns the status of definitions in managedFields, as in
// Kubernetes.
const statusManager = "kube-apiserver"

// statusWriters is the number of statuses that are written at a time.
const statusWriters = 8

// updateAgain is the pause after a failed write of a definition.
const updateAgain = time.Second

// errOvertaken ends a write whose definition has changed since the write was decided. It is a
// Status, because registry.Store returns a Status unchanged, so untilDone can recognize this value.
// After any other conflict the write is tried again.
var errOvertaken = meta.NewConflict(customResourceDefinitions, "", errors.New("the definition has changed meanwhile"))

// now returns the transition time of a condition: the present, in whole seconds as in JSON.
func now() meta.Time { return meta.Time{Time: time.Now().UTC().Truncate(time.Second)} }

// statuses writes the statuses of definitions. All methods may be called at once.
type statuses struct {
	host    generic.Host
	store   *registry.Store // of the definitions, as outlines
	log     *zap.Logger
	writing chan struct{} // a semaphore for statusWriters writes
}

func newStatuses(host generic.Host, store *registry.Store, log *zap.Logger) *statuses {
	return &statuses{host: host, store: store, log: log, writing: make(chan struct{}, statusWriters)}
}

// write stores the names and conditions that the loop decided on for f, in the background. It gives
// up if the definition has changed since f.rev: the loop then sees the new state and decides again.
// It keeps status.storedVersions, which the registry maintains. The channel gets the revision of a
// write that succeeded, and is never closed. write copies from f what it needs before it returns.
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

// change changes def, the decoded form of the stored state cur. An error of it ends the write.
type change func(cur request.Encoded, def *apiextensionsv1.CustomResourceDefinition) error

// update applies a change to a definition through its subresource status, and returns the new
// state. It takes the status and the finalizers from the changed definition, nothing else. It does
// not decode the schemas, and it skips admission.
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

// untilDone tries write until it succeeds, with pauses of updateAgain, and reports whether it
// succeeded. It gives up if the definition is gone, if write returns errOvertaken, or if ctx ends.
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
