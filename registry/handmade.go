package registry

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Identity is what the server gives an object that is created.
type Identity struct {
	UID     meta.UID
	Created *meta.Time
}

// Handmade judges a value that somebody has put into the store past the API, at key. It returns the
// object as it is to be stored, with the identity and the namespace that people leave out, and what
// of that was added; or why it is refused: it does not decode, is of another kind, or belongs
// elsewhere. It is not validated, and gets no defaults.
//
// The identity is that of old, the value before, if there is one; what that lacks comes from born,
// where a missing UID is made.
func (s *Store) Handmade(key string, value, old []byte, born Identity) ([]byte, Identity, error) {
	obj, err := s.handmade(value)
	if err != nil {
		return nil, Identity{}, err
	}
	m := obj.GetObjectMeta()
	namespace, name := s.split(key)
	switch {
	case name == "" || strings.Contains(name, "/"):
		return nil, Identity{}, fmt.Errorf("not the place of an object of %s", s.res.GroupResource)
	case m.Name != name:
		return nil, Identity{}, fmt.Errorf("metadata.name is %q, in the place of %q", m.Name, name)
	case m.Namespace != namespace && m.Namespace != "":
		return nil, Identity{}, fmt.Errorf("metadata.namespace is %q, in the place of %q", m.Namespace, namespace)
	case m.Namespace == namespace && m.UID != "" && !m.CreationTimestamp.IsZero():
		return value, Identity{}, nil
	}
	if before, err := s.handmade(old); err == nil {
		b := before.GetObjectMeta()
		if born.UID = cmp.Or(b.UID, born.UID); !b.CreationTimestamp.IsZero() {
			born.Created = b.CreationTimestamp
		}
	}
	if m.Namespace = namespace; m.UID == "" {
		m.UID = cmp.Or(born.UID, NewUID())
	}
	if m.CreationTimestamp.IsZero() {
		m.CreationTimestamp = born.Created
	}
	m.ResourceVersion = ""
	var media codec.Media
	if codec.IsProtobuf(value) {
		media.Type = codec.Protobuf
	}
	value, err = s.reader.kind.Append(nil, obj, media)
	return value, Identity{m.UID, m.CreationTimestamp}, err
}

// handmade decodes a stored value in the version that it is in.
func (s *Store) handmade(value []byte) (meta.Object, error) {
	if _, err := s.reader.look("", value); err != nil {
		return nil, err
	}
	decoded, err := s.reader.kind.Decode(storedAs(value))
	if err != nil {
		return nil, err
	}
	obj, ok := decoded.Object.(meta.Object)
	if !ok {
		return nil, errors.New("no object metadata")
	}
	return obj, nil
}
