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

// forms hands out the numbers of the forms in which the objects of one resource are shown. Reading
// takes no lock: the map is copied when a new form gets its number. That happens only a few times,
// because there are few combinations of version and media type.
//
// A number belongs to a Kind, not to its name: what one Kind has made of an object is not shown for
// one that replaces it.
type forms struct {
	mu    sync.Mutex
	last  *atomic.Uint32 // shared by all forms of one cache
	known atomic.Pointer[map[formKey]uint32]
}

type formKey struct {
	gvk   meta.GroupVersionKind
	media codec.Media
}

// asStored marks the form of protobuf as it is stored: without resourceVersion, so that nobody is
// sent it.
const asStored = "stored"

func newForms(last *atomic.Uint32) *forms { return &forms{last: last} }

func (f *forms) of(gvk meta.GroupVersionKind, m codec.Media) uint32 {
	key := formKey{gvk, m}
	if known := f.known.Load(); known != nil {
		if n, ok := (*known)[key]; ok {
			return n
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next := map[formKey]uint32{}
	if known := f.known.Load(); known != nil {
		for k, n := range *known {
			next[k] = n
		}
	}
	if n, ok := next[key]; ok {
		return n
	}
	n := f.last.Add(1)
	next[key] = n
	f.known.Store(&next)
	return n
}

// FormOf returns the number of a form: an encoding of objects in a version that the store shows.
// The same arguments give the same number for the life of the Store; numbers start at 1. It
// allocates only the first time.
func (s *Store) FormOf(version string, m codec.Media) uint32 {
	m.Pretty, m.Stream = false, false
	return s.forms.of(s.shown(version), m)
}

// Encode makes a form of an object: in a version that the store shows, whole or metadata only, in a
// media type. The bytes are without a final newline if they are JSON, and the caller's only to
// read. The error names the object.
func (s *Store) Encode(ctx context.Context, enc request.Encoded, version string, m codec.Media) ([]byte, error) {
	enc = unwrapped(enc)
	data, err := s.transform(ctx, enc, version, m)
	if err != nil {
		return nil, s.namedError(ctx, enc, err)
	}
	return data, nil
}

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

// partial makes a form of an object that is encoded as JSON: of its metadata alone.
func (c *Config) partial(data []byte, m codec.Media) ([]byte, error) {
	data, err := codec.AppendPartial(nil, data, m.Version)
	if err != nil || m.Type == codec.JSON {
		return data, err
	}
	return c.Codecs.Transcode(nil, data, codec.Media{Type: m.Type})
}

// settled reports whether stored bytes are in a version, and need not be completed.
func (s *Store) settled(data []byte, form uint32, version string) bool {
	l := s.reader.looker(s.shown(version).GroupVersion().String())
	return l != nil && form == l.jsonForm && l.version.Settled != nil && l.version.Settled(data)
}

// object decodes an object and converts it to a version, whose apiVersion and kind it carries.
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

// namedError tells which object cannot be read or shown. What has a Status of its own keeps it, and
// that the request has ended is no fault of the object.
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
