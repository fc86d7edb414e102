package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// This file deals with objects that cannot be read: how lists show them to lenient readers
// (meta.WithUnread), how their errors name the stored version, and Check, with which the server
// tests whether stored entries can be read.

// lenient is an object for a lenient reader: one whose context was made by meta.WithUnread. If a
// form of the object cannot be made, that form is a meta.Unread instead of an error, so that the
// list or watch goes on.
type lenient struct {
	*cache.Object
	s       *Store
	version string // of the request
}

// Form returns the form that build makes, or an Unread.
func (l *lenient) Form(form uint32, build func() ([]byte, error)) ([]byte, error) {
	data, err := l.Object.Form(form, build)
	if meta.IsUnreadable(err) {
		return l.s.unread(l.Object, l.Object.Rev, l.version, err).data, nil
	}
	return data, err
}

// unread stands for an object that cannot be read. It is the same in all forms.
type unread struct {
	key  string
	data []byte
	head int
	form uint32
	rev  storage.Revision
	err  error // why it cannot be read
}

// Stored returns the JSON of a meta.Unread, with the form of JSON in the version of the request.
func (u *unread) Stored() ([]byte, uint32) { return u.data, u.form }

// Head returns the length in bytes of apiVersion and kind, which lists of built-in kinds leave out.
func (u *unread) Head() int { return u.head }

// Revision returns the revision of the object.
func (u *unread) Revision() uint64 { return uint64(u.rev) }

// Form returns the same JSON for every form.
func (u *unread) Form(uint32, func() ([]byte, error)) ([]byte, error) { return u.data, nil }

// unread makes the stand-in for the object o at revision rev, which cannot be read because of err.
func (s *Store) unread(o *cache.Object, rev storage.Revision, version string, err error) *unread {
	gvk := s.shown(version)
	head := `{"kind":"` + gvk.Kind + `","apiVersion":"` + gvk.GroupVersion().String() + `",`
	u := meta.Unread{ResourceVersion: formatRevision(rev), Why: err.Error()}
	u.Namespace, u.Name = s.split(o.Key)
	return &unread{
		key: o.Key, data: u.AppendJSON(nil, head), head: len(head), form: s.FormOf(version, codec.Media{}), rev: rev,
		err: err,
	}
}

// lenient returns an object for a lenient reader. rev is the revision to show.
func (s *Store) lenient(o *cache.Object, rev storage.Revision, version string) request.Encoded {
	if err := o.Err(); err != nil {
		return s.unread(o, rev, version, s.apiError(err, ""))
	}
	return &lenient{o, s, version}
}

// lenientItems yields objects for a lenient reader.
func (s *Store) lenientItems(objects []*cache.Object, version string) iter.Seq[request.Encoded] {
	return func(yield func(request.Encoded) bool) {
		for _, o := range objects {
			if !yield(s.lenient(o, o.Rev, version)) {
				return
			}
		}
	}
}

// Unreadable returns why an item of a list cannot be read, nil if it can be read. Only lists whose
// context was made by meta.WithUnread have such items.
func Unreadable(item request.Encoded) error {
	if u, ok := item.(*unread); ok {
		return u.err
	}
	return nil
}

// unwrapped returns the cached object inside a lenient one, and any other enc unchanged.
func unwrapped(enc request.Encoded) request.Encoded {
	if l, ok := enc.(*lenient); ok {
		return l.Object
	}
	return enc
}

// storedIn returns the apiVersion in the bytes of a stored object, "" if none can be found.
func (r *reader) storedIn(value []byte) string {
	var peek codec.Peek
	if !codec.IsProtobuf(value) {
		var t meta.TypeMeta
		_ = json.Unmarshal(value, &t) // bytes that are not JSON have no apiVersion
		return t.APIVersion
	}
	for _, l := range r.lookers {
		if l.written.proto != nil {
			// the envelope has the apiVersion, even if the object in it is broken
			_ = l.written.proto.Peek(value, &peek)
			break
		}
	}
	return peek.APIVersion
}

// explained adds the version that value is stored in to the error of reading it, unless the error
// names it already.
func (r *reader) explained(value []byte, err error) error {
	if err == nil {
		return nil
	}
	version := r.storedIn(value)
	switch {
	case version != "" && strings.Contains(err.Error(), strconv.Quote(version)):
		return err
	case version == "":
		return fmt.Errorf("stored in no version that can be made out: %w", err)
	}
	return fmt.Errorf("stored in version %q: %w", version, err)
}

// explaining wraps a cache.DecodeFunc so that its errors name the stored version.
func (r *reader) explaining(decode cache.DecodeFunc) cache.DecodeFunc {
	return func(key string, value []byte) (cache.Decoded, error) {
		d, err := decode(key, value)
		return d, r.explained(value, err)
	}
}

// Check reads an entry of the store as the Store would, and returns the error if it cannot be read.
// version is the apiVersion that the entry is stored in, "" if none can be found. Check asks no
// conversion webhook: custom resources are decoded but not converted.
func (s *Store) Check(ctx context.Context, e *storage.Entry) (version string, err error) {
	if e.Err != nil {
		return "", e.Err
	}
	version = s.reader.storedIn(e.Value)
	if _, err := s.reader.load(e.Key, e.Value); err != nil {
		return version, s.reader.explained(e.Value, err)
	}
	decoded, err := s.reader.kind.Decode(storedAs(e.Value))
	if err == nil && !s.res.Custom {
		_, err = kind.ToHub(ctx, s.reader.kind, decoded.Object)
	}
	return version, s.reader.explained(e.Value, err)
}
