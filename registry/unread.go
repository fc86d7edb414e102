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

// lenient is an object for a reader who wants to see the others, if this one cannot be read
// (meta.WithUnread): then it has a meta.Unread in each form.
type lenient struct {
	*cache.Object
	s       *Store
	version string // that the request is in
}

// Form returns the form that build makes, or an Unread.
func (l *lenient) Form(form uint32, build func() ([]byte, error)) ([]byte, error) {
	data, err := l.Object.Form(form, build)
	if meta.IsUnreadable(err) {
		return l.s.unread(l.Object, l.Object.Rev, l.version, err).data, nil
	}
	return data, err
}

// unread stands for an object that cannot be read. All forms of it are the same.
type unread struct {
	key  string
	data []byte
	head int
	form uint32
	rev  storage.Revision
	err  error // why it cannot be read
}

// Stored returns JSON that carries a meta.Unread, as the form of objects in the version of the
// request.
func (u *unread) Stored() ([]byte, uint32) { return u.data, u.form }

// Head is the length of what lists of built-in kinds leave out.
func (u *unread) Head() int { return u.head }

// Revision is that of the object.
func (u *unread) Revision() uint64 { return uint64(u.rev) }

// Form returns what Stored does.
func (u *unread) Form(uint32, func() ([]byte, error)) ([]byte, error) { return u.data, nil }

// unread makes what stands for an object at a revision that cannot be read, because of err.
func (s *Store) unread(o *cache.Object, rev storage.Revision, version string, err error) *unread {
	gvk := s.shown(version)
	head := `{"kind":"` + gvk.Kind + `","apiVersion":"` + gvk.GroupVersion().String() + `",`
	u := meta.Unread{ResourceVersion: formatRevision(rev), Why: err.Error()}
	u.Namespace, u.Name = s.split(o.Key)
	return &unread{key: o.Key, data: u.AppendJSON(nil, head), head: len(head), form: s.FormOf(version, codec.Media{}), rev: rev, err: err}
}

// lenient returns an object as those see it whose context is of meta.WithUnread. rev is the
// revision that it is shown at.
func (s *Store) lenient(o *cache.Object, rev storage.Revision, version string) request.Encoded {
	if err := o.Err(); err != nil {
		return s.unread(o, rev, version, s.apiError(err, ""))
	}
	return &lenient{o, s, version}
}

// lenientItems yields objects as those see them whose context is of meta.WithUnread.
func (s *Store) lenientItems(objects []*cache.Object, version string) iter.Seq[request.Encoded] {
	return func(yield func(request.Encoded) bool) {
		for _, o := range objects {
			if !yield(s.lenient(o, o.Rev, version)) {
				return
			}
		}
	}
}

// Unreadable returns why an item of a list cannot be read, whose context is of meta.WithUnread; nil
// if it can be.
func Unreadable(item request.Encoded) error {
	if u, ok := item.(*unread); ok {
		return u.err
	}
	return nil
}

// unwrapped is enc without what a lenient reader has around it.
func unwrapped(enc request.Encoded) request.Encoded {
	if l, ok := enc.(*lenient); ok {
		return l.Object
	}
	return enc
}

// storedIn returns the apiVersion that a stored object says it is in, "" if that cannot be made
// out.
func (r *reader) storedIn(value []byte) string {
	var peek codec.Peek
	if !codec.IsProtobuf(value) {
		var t meta.TypeMeta
		_ = json.Unmarshal(value, &t) // what is no JSON has no version
		return t.APIVersion
	}
	for _, l := range r.lookers {
		if l.written.proto != nil {
			_ = l.written.proto.Peek(value, &peek) // the envelope says the version, whatever is wrong with the rest
			break
		}
	}
	return peek.APIVersion
}

// explained is the error of reading value, which names the version that the object is stored in.
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

// explaining is a cache.DecodeFunc with errors that are explained.
func (r *reader) explaining(decode cache.DecodeFunc) cache.DecodeFunc {
	return func(key string, value []byte) (cache.Decoded, error) {
		d, err := decode(key, value)
		return d, r.explained(value, err)
	}
}

// Check reads an entry of the store as the Store would, and returns why it cannot be read, nil if
// it can be. version is the apiVersion that it is stored in, "" if that cannot be made out. Custom
// resources are not converted: a webhook is not asked.
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
