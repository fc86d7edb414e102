package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// This file makes the forms of objects: a version and media type that differ from the stored one.
// The router asks FormOf for the number of the form that a client wants, looks beside the object
// for bytes of that number, and calls Encode if there are none.

// forms assigns numbers to the forms of the objects of one resource. Looking up a number takes no
// lock, because the map is copied when a new form gets its number. That is rare: there are few
// combinations of version and media type.
//
// Redeclare makes new forms with the same counter, so the numbers of a replaced declaration are
// never used again: no client of the new declaration is sent bytes that the old one made.
type forms struct {
	mu      sync.Mutex
	last    *atomic.Uint32 // shared by all declarations of one resource
	numbers atomic.Pointer[map[formKey]uint32]
}

type formKey struct {
	gvk   meta.GroupVersionKind
	media codec.Media
}

// asStored marks the form of bytes as they are stored. They are not sent to clients: stored
// protobuf has no resourceVersion, and stored JSON may need defaults.
const asStored = "stored"

func newForms(last *atomic.Uint32) *forms { return &forms{last: last} }

// of returns the number of the form of gvk in the media type m. It assigns a number to a new form.
func (f *forms) of(gvk meta.GroupVersionKind, m codec.Media) uint32 {
	key := formKey{gvk, m}
	if numbers := f.numbers.Load(); numbers != nil {
		if n, ok := (*numbers)[key]; ok {
			return n
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next := map[formKey]uint32{}
	if numbers := f.numbers.Load(); numbers != nil {
		for k, n := range *numbers {
			next[k] = n
		}
	}
	if n, ok := next[key]; ok {
		return n
	}
	n := f.last.Add(1)
	next[key] = n
	f.numbers.Store(&next)
	return n
}

// FormOf returns the number of a form: the encoding m of objects in a version that the Store shows.
// The same arguments give the same number for the life of the Store; numbers start at 1. It
// allocates only the first time.
func (s *Store) FormOf(version string, m codec.Media) uint32 {
	m.Pretty, m.Stream = false, false
	return s.forms.of(s.shown(version), m)
}

// Encode encodes an object in a version that the Store shows and in the media type m, whole or
// metadata only. JSON has no final newline. The caller must not change the bytes: they may be those
// of the cache. The error names the object.
func (s *Store) Encode(ctx context.Context, enc request.Encoded, version string, m codec.Media) ([]byte, error) {
	enc = unwrapped(enc)
	data, err := s.transform(ctx, enc, version, m)
	if err != nil {
		return nil, s.namedError(ctx, enc, err)
	}
	return data, nil
}

// transform returns the bytes that Encode returns. It uses the bytes of enc as they are if they are
// in the version and complete. Otherwise it asks the kind's converter, or decodes and converts the
// object if the kind has none.
func (s *Store) transform(ctx context.Context, enc request.Encoded, version string, m codec.Media) ([]byte, error) {
	data, form := enc.Stored()
	partial := m.As == codec.AsPartial || m.As == codec.AsPartialList
	switch o, _ := enc.(*cache.Object); {
	case form == s.FormOf(version, codec.Media{}) || s.settled(data, form, version):
	case o != nil && s.project == nil && s.converts(form, version):
		made, err := s.converted(ctx, []*cache.Object{o}, version)
		if err != nil {
			return nil, err
		}
		data = made[0].JSON()
	default:
		obj, err := s.object(ctx, enc, version)
		if err != nil {
			return nil, err
		}
		if m.Type == codec.Protobuf && !partial {
			return s.kind.Append(nil, obj, codec.Media{Type: codec.Protobuf})
		}
		if data, err = s.kind.Append(nil, obj, codec.Media{}); err != nil {
			return nil, err
		}
	}
	if partial {
		return s.cfg.partial(data, m)
	}
	switch m.Type {
	case codec.YAML:
		return codec.AppendYAML(nil, data)
	case codec.Protobuf:
		decoded, err := s.kind.Decode(codec.DecodeRequest{Data: data, Shared: true})
		if err != nil {
			return nil, s.reader.corrupt(ctx, enc, err)
		}
		return s.kind.Append(nil, decoded.Object, codec.Media{Type: codec.Protobuf})
	}
	return data, nil
}

// partial turns the JSON of an object into a PartialObjectMetadata in the media type m.
func (c *Config) partial(data []byte, m codec.Media) ([]byte, error) {
	data, err := codec.AppendPartial(nil, data, m.Version)
	if err != nil || m.Type == codec.JSON {
		return data, err
	}
	return c.Codecs.Transcode(nil, data, codec.Media{Type: m.Type})
}

// settled reports whether stored bytes are in a version and need no defaults, so that they can be
// sent as they are.
func (s *Store) settled(data []byte, form uint32, version string) bool {
	l := s.reader.looker(s.shown(version).GroupVersion().String())
	return l != nil && form == l.jsonForm && l.version.Settled != nil && l.version.Settled(data)
}

// object decodes an object, converts it to a version, and sets its apiVersion and kind.
func (s *Store) object(ctx context.Context, enc request.Encoded, version string) (meta.Typed, error) {
	hub, err := s.reader.hub(ctx, enc)
	if err != nil {
		return nil, err
	}
	obj, err := s.kind.Convert(ctx, hub, version)
	if err != nil {
		return nil, err
	}
	obj.GetTypeMeta().SetGroupVersionKind(s.shown(version))
	return obj, nil
}

// namedError adds the name of the object to an error of reading or encoding it. A Status passes
// unchanged. If the request has ended, the error is that of its context.
func (s *Store) namedError(ctx context.Context, enc request.Encoded, err error) error {
	var status *meta.StatusError
	obj, _ := enc.(*cache.Object)
	switch {
	case errors.As(err, &status) || obj == nil:
		return statusError(err)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, storage.Corrupt):
		return s.apiError(err, "")
	}
	return meta.NewInternalError(fmt.Errorf("%s %q: %w", s.res.GroupResource, obj.Key[len(s.root):], err))
}
