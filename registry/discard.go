package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// verbDiscard is the verb that errors name as the right to use meta.IgnoreReadErrors (KEP-3926).
const verbDiscard = "unsafe-delete-ignore-read-errors"

// discard deletes an object that cannot be decrypted or decoded. It skips finalizers, admission and
// reservations, because they need the object. Preconditions and a dry run were refused before
// (meta.ValidateDeleteOptions). discard refuses an object that can be read. If the object becomes
// readable while discard runs, discard deletes it like any other.
func (s *Store) discard(
	ctx context.Context, req *request.Write, opts *meta.DeleteOptions,
) (*request.DeleteResult, error) {
	if req.Annotate != nil {
		req.Annotate("apiserver.k8s.io/unsafe-delete-ignore-read-error", "")
	}
	if u := req.User; u != nil && !u.InGroup(request.GroupMasters) {
		return nil, meta.NewForbidden(s.res.GroupResource, req.Name,
			fmt.Errorf("not permitted to do %q, reason: it is for the group %s", verbDiscard, request.GroupMasters))
	}
	key, err := s.key(req.Namespace, req.Name)
	if err != nil {
		return nil, err
	}
	for {
		rev, err := s.unreadable(ctx, key)
		if err != nil || rev == 0 {
			return nil, s.notCorrupt(req.Name, err)
		}
		res, err := s.deleteKey(ctx, key, req, opts, req.Name)
		if !errors.Is(err, storage.Corrupt) {
			return res, s.apiError(err, req.Name)
		}
		err = s.objects.Discard(ctx, key, rev)
		if errors.Is(err, storage.Conflict) { // it was written again, and may be readable
			continue
		}
		if err != nil && !errors.Is(err, storage.NotFound) {
			return nil, s.apiError(err, req.Name)
		}
		return &request.DeleteResult{Done: true, Status: &meta.Status{
			Status: meta.StatusSuccess, Code: 200, Details: &meta.StatusDetails{Name: req.Name, Kind: s.res.Kind},
		}}, nil
	}
}

// unreadable returns the revision of the object at key if the object cannot be read, 0 if it can
// be.
func (s *Store) unreadable(ctx context.Context, key string) (storage.Revision, error) {
	obj, err := s.objects.Get(ctx, key, cache.Want{Match: cache.Consistent})
	if err == nil {
		_, err = s.reader.hub(ctx, obj)
	}
	var e *storage.Error
	if errors.As(err, &e) && e.Kind == storage.Corrupt {
		return e.Rev, nil
	}
	return 0, err
}

// notCorrupt returns the error for an object that does not exist or can be read: the option is
// refused. Another err is returned as an answer.
func (s *Store) notCorrupt(name string, err error) error {
	if err != nil && !errors.Is(err, storage.NotFound) {
		return s.apiError(err, name)
	}
	gr := s.res.GroupResource
	return meta.NewInvalid(meta.GroupKind{Group: gr.Group, Kind: gr.Resource}, name, field.ErrorList{
		field.Invalid(
			field.NewPath(meta.IgnoreReadErrors), true,
			"is exclusively used to delete corrupt object(s), try again by removing this option",
		),
	})
}
