package server

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// statusManager is who owns the status of definitions, as in Kubernetes.
const statusManager = "kube-apiserver"

// errOvertaken ends a write of what was decided from a state that is not the present one. It is a Status, which a Store hands on as it
// is.
var errOvertaken = meta.NewConflict(customResourceDefinitions, "", errors.New("the definition has changed meanwhile"))

// now is the time of a condition.
func now() meta.Time { return meta.Time{Time: time.Now().UTC().Truncate(time.Second)} }

// writeStatus stores the status that was decided, unless the definition has changed meanwhile: its new state is on its way here.
func (d *definitions) writeStatus(f *definition) {
	written := make(chan storage.Revision, 1)
	f.written = written
	name, rev := f.Name, f.rev
	names, conditions := f.Status.AcceptedNames, f.Status.Conditions
	d.work.Run(func(ctx context.Context) {
		select {
		case d.writing <- struct{}{}:
			defer func() { <-d.writing }()
		case <-ctx.Done():
			return
		}
		d.untilDone(ctx, name, func() error {
			enc, err := d.update(ctx, name, func(cur request.Encoded, def *apiextensionsv1.CustomResourceDefinition) error {
				if storage.Revision(cur.Revision()) != rev {
					return errOvertaken
				}
				def.Status.AcceptedNames, def.Status.Conditions = names, conditions
				return nil
			})
			if err == nil {
				written <- storage.Revision(enc.Revision())
			}
			return err
		})
	})
}

// update changes a definition through the door of its status.
func (d *definitions) update(ctx context.Context, name string, change func(cur request.Encoded, def *apiextensionsv1.CustomResourceDefinition) error) (request.Encoded, error) {
	enc, _, err := d.store.Subresource("status").Update(ctx, &request.Write{
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
			err = change(cur.Encoded, def)
			outline.Status, outline.Finalizers = def.Status, def.Finalizers
			return outline, err
		},
	})
	return enc, err
}

// updateAgain is how long after a failure a definition is written again.
const updateAgain = time.Second

// untilDone tries a write of a definition until it succeeds, or the definition is gone or another, and reports whether it has
// succeeded.
func (d *definitions) untilDone(ctx context.Context, name string, write func() error) bool {
	for {
		err := write()
		if err == nil || ctx.Err() != nil || meta.IsNotFound(err) || errors.Is(err, errOvertaken) {
			return err == nil
		}
		d.log.Warn("the status of a custom resource definition cannot be written; it will be tried again",
			zap.String("definition", name), zap.Error(err))
		select {
		case <-ctx.Done():
			return false
		case <-time.After(updateAgain):
		}
	}
}
