package registry

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Identity is the metadata that the server assigns when an object is created.
type Identity struct {
	UID     meta.UID
	Created *meta.Time
}

// AcceptValue checks a value that somebody has put into the store at key past the API, such as a
// file of the file engine. It returns the bytes to store, completed with the namespace and Identity
// if they lack them, and the Identity of the object if it was completed (zero if the value is
// complete). It fails if the value does not decode, is of another kind, or does not belong at key.
// The object is not validated and gets no defaults.
//
// The Identity is that of old, the previous value at key, if that can be decoded. Fields that old
// lacks come from born. If both lack the UID, a new one is made.
func (s *Store) AcceptValue(key string, value, old []byte, born Identity) ([]byte, Identity, error) {
	obj, err := s.decodeValue(value)
	if err != nil {
		return nil, Identity{}, err
	}
	m := obj.GetObjectMeta()
	namespace, name := s.split(key)
	switch {
	case name == "" || strings.Contains(name, "/"):
		return nil, Identity{}, fmt.Errorf("not the key of an object of %s", s.res.GroupResource)
	case m.Name != name:
		return nil, Identity{}, fmt.Errorf("metadata.name is %q, but the key has %q", m.Name, name)
	case m.Namespace != namespace && m.Namespace != "":
		return nil, Identity{}, fmt.Errorf("metadata.namespace is %q, but the key has %q", m.Namespace, namespace)
	case m.Namespace == namespace && m.UID != "" && !m.CreationTimestamp.IsZero():
		return value, Identity{}, nil
	}
	if before, err := s.decodeValue(old); err == nil {
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

// decodeValue decodes a stored value in its own version.
func (s *Store) decodeValue(value []byte) (meta.Object, error) {
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
