package registry

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// errStale is the reason of a conflict: the client's resourceVersion is not the current one.
var errStale = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// verbs maps the operations of a store that may end in doubt to the verb that a timeout names.
var verbs = map[string]string{"put": "write", "delete": "delete"}

// apiError maps a storage error to the Status that kube-apiserver returns for it. All verbs use
// this one table. A Status and an error of the context pass unchanged; any other error becomes a
// 500.
func (s *Store) apiError(err error, name string) error {
	var status *meta.StatusError
	var e *storage.Error
	if err == nil || errors.As(err, &status) || !errors.As(err, &e) {
		return statusError(err)
	}
	gr := s.res.GroupResource
	switch e.Kind {
	case storage.NotFound:
		return meta.NewNotFound(gr, name)
	case storage.Exists:
		return meta.NewAlreadyExists(gr, name)
	case storage.Conflict:
		return meta.NewConflict(gr, name, errStale)
	case storage.Compacted:
		return meta.NewResourceExpired("The resourceVersion for the provided list is too old.")
	case storage.TooLarge:
		// one text for all engines; kube-apiserver answers with a 500
		return meta.NewBadRequest("etcdserver: request is too large")
	case storage.InDoubt:
		return meta.NewServerTimeout(gr, verbs[e.Op], 0)
	case storage.NoLease, storage.Fenced:
		// Nothing is stored, and the same request may succeed a moment later: with another lease,
		// or when the fence stands still. A 409 would say that the client's object is stale, and
		// clients do not send a create again after it.
		return meta.NewServerTimeout(gr, verbs[e.Op], 1)
	case storage.Unavailable, storage.Closed:
		return meta.NewServiceUnavailable("the store is not available")
	case storage.Corrupt:
		return meta.NewInternalError(errors.New(corruptStorage(e)))
	default:
		return meta.NewInternalError(err)
	}
}

// corruptStorage returns the text of storage.Corrupt in kube-apiserver's words, by which people and
// tools recognise objects that they may delete unread (see discard). An object in an unknown
// version is not called corrupt, because a newer server may be able to read it.
func corruptStorage(e *storage.Error) string {
	what := meta.CorruptObject
	if e.Err != nil && strings.HasSuffix(e.Err.Error(), notKnown) {
		what = meta.StrangeObject
	}
	return fmt.Sprintf("%sKey: %s, ResourceVersion: 0, AdditionalErrorMsg: %s", what, e.Key, corruptObject(e))
}

// corruptObject returns the end of that text: whether the value could not be decrypted or not be
// decoded, its revision, and the error.
func corruptObject(e *storage.Error) string {
	what := "data from the storage is not transformable"
	if e.Op == "decode" || e.Op == "delete" {
		what = "object not decodable"
	}
	return fmt.Sprintf("%s revision=%d: %v", what, e.Rev, e.Err)
}

// listError is readError for a list. It names all objects that cannot be read, up to
// cache.MaxCorrupt.
func (s *Store) listError(err error, want storage.Revision) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || !errors.Is(err, storage.Corrupt) {
		return s.readError(err, "", want)
	}
	gr := s.res.GroupResource
	details := &meta.StatusDetails{Group: gr.Group, Kind: gr.Resource, Name: "list"}
	for i, err := range joined.Unwrap() {
		if i == cache.MaxCorrupt {
			details.Causes = append(
				details.Causes,
				meta.StatusCause{Type: meta.CauseTypeTooMany, Message: "too many errors, the list is truncated"},
			)
			break
		}
		e := err.(*storage.Error)
		details.Causes = append(details.Causes, meta.StatusCause{
			Type: meta.CauseTypeUnexpectedServerResponse, Field: e.Key, Message: meta.Excerpt(corruptStorage(e)),
		})
	}
	return meta.NewStoreReadError(fmt.Sprintf("failed to read one or more %s from the storage", gr), details)
}

// watchError is apiError for a watch. The deletion of an unreadable object is an error of its own,
// because there is no object to send in a DELETED event.
func (s *Store) watchError(err error) error {
	e, ok := err.(*storage.Error)
	if !ok || e.Kind != storage.Corrupt || e.Op != "delete" {
		return s.apiError(err, "")
	}
	return meta.NewStoreReadError("saw a DELETED event, but object data is corrupt - "+corruptObject(e), nil)
}

// statusError turns err into a 500, unless it is a Status or an error of the context.
func statusError(err error) error {
	var status *meta.StatusError
	if err == nil || errors.As(err, &status) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled) {
		return err
	}
	return meta.NewInternalError(err)
}

// parseRevision reads a resourceVersion. "" and "0" are 0.
func parseRevision(rv string) (storage.Revision, error) {
	if rv == "" || rv == "0" {
		return 0, nil
	}
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		return 0, err
	}
	return storage.Revision(n), nil
}

// badRevision returns the 400 for a resourceVersion that is not a number, in kube-apiserver's
// words.
func badRevision(rv string, err error) error {
	return meta.NewBadRequest(
		field.Invalid(field.NewPath("resourceVersion"), meta.Excerpt(rv), meta.Excerpt(err.Error())).Error(),
	)
}

func formatRevision(r storage.Revision) string { return strconv.FormatUint(uint64(r), 10) }

func quote(s string) string { return strconv.Quote(s) }

// joinAnd lists several complaints about one name.
func joinAnd(list []string) string { return strings.Join(list, ", ") }
