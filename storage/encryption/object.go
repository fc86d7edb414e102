package encryption

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// sealed is what stands behind the prefix of KMS v2, as protobuf (EncryptedObject of kube-apiserver's kmsv2): a value, and the
// encrypted seed of its key.
type sealed struct {
	data []byte
	wrapped
}

// wrapped is a seed, or a key itself, that a plugin has encrypted.
type wrapped struct {
	KMSCipher
	kind uint64
}

// The kinds of what a plugin has encrypted.
const (
	kindKey  = 0 // the key of AES-GCM that the value is encrypted with; old servers wrote that
	kindSeed = 1 // the seed that the key of each value is derived from
)

// Numbers of the fields.
const (
	fieldData        protowire.Number = 1
	fieldKeyID       protowire.Number = 2
	fieldSource      protowire.Number = 3
	fieldAnnotations protowire.Number = 4
	fieldKind        protowire.Number = 5
)

// Bounds of what a plugin may say, in bytes.
const (
	maxKeyID       = 1 << 10
	maxSource      = 1 << 10
	maxAnnotations = 32 << 10
)

// appendTo adds the fields of w, in the order of their numbers.
func (w *wrapped) appendTo(b []byte) []byte {
	b = appendBytes(b, fieldKeyID, []byte(w.KeyID))
	b = appendBytes(b, fieldSource, w.Data)
	for _, key := range slices.Sorted(maps.Keys(w.Annotations)) {
		entry := appendBytes(appendBytes(nil, 1, []byte(key)), 2, w.Annotations[key])
		b = appendBytes(b, fieldAnnotations, entry)
	}
	return protowire.AppendVarint(protowire.AppendTag(b, fieldKind, protowire.VarintType), w.kind)
}

func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

var errProto = errors.New("the value is no message of protobuf")

// readSealed reads what appendTo has written behind fieldData, in any order. It shares b's memory.
func readSealed(b []byte) (s sealed, err error) {
	for len(b) > 0 {
		field, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return s, errProto
		}
		b = b[n:]
		var value []byte
		switch {
		case typ == protowire.BytesType && field >= fieldData && field <= fieldAnnotations:
			value, n = protowire.ConsumeBytes(b)
		case typ == protowire.VarintType && field == fieldKind:
			s.kind, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(field, typ, b)
		}
		if n < 0 {
			return s, errProto
		}
		b = b[n:]
		switch {
		case typ != protowire.BytesType:
		case field == fieldData:
			s.data = value
		case field == fieldKeyID:
			if s.KeyID = string(value); !utf8.ValidString(s.KeyID) {
				return s, errProto
			}
		case field == fieldSource:
			s.Data = value
		case field == fieldAnnotations:
			if err := s.readAnnotation(value); err != nil {
				return s, err
			}
		}
	}
	if len(s.data) == 0 {
		return s, errors.New("encrypted data is empty")
	}
	return s, s.validate()
}

// readAnnotation reads an entry of the map.
func (w *wrapped) readAnnotation(b []byte) error {
	var key string
	value := []byte{}
	for len(b) > 0 {
		field, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errProto
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(field, typ, b); n < 0 {
			return errProto
		}
		if typ == protowire.BytesType {
			content, _ := protowire.ConsumeBytes(b[:n])
			switch field {
			case 1:
				key = string(content)
			case 2:
				value = content
			}
		}
		b = b[n:]
	}
	if !utf8.ValidString(key) {
		return errProto
	}
	if w.Annotations == nil {
		w.Annotations = map[string][]byte{}
	}
	w.Annotations[key] = value
	return nil
}

// label is one of the parts of a domain name.
var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// validate says what a plugin must not have said.
func (w *wrapped) validate() error {
	switch {
	case w.kind != kindKey && w.kind != kindSeed:
		return fmt.Errorf("unknown encryptedDEKSourceType: %d", w.kind)
	case len(w.Data) == 0:
		return errors.New("failed to validate encrypted DEK source: encrypted DEK source is empty")
	case len(w.Data) > maxSource:
		return fmt.Errorf("failed to validate encrypted DEK source: encrypted DEK source is %d bytes, which exceeds the max size of %d", len(w.Data), maxSource)
	}
	if _, err := validateKeyID(w.KeyID); err != nil {
		return fmt.Errorf("failed to validate key id: %w", err)
	}
	size := 0
	for key, value := range w.Annotations {
		size += len(key) + len(value)
		if !qualified(key) {
			return fmt.Errorf("failed to validate annotations: annotations: Invalid value: %q: should be a domain with at least two segments separated by dots", key)
		}
	}
	if size > maxAnnotations {
		return fmt.Errorf("failed to validate annotations: total size of annotations is %d, which exceeds the max size of %d", size, maxAnnotations)
	}
	return nil
}

// qualified reports whether name is a domain name of at least two parts.
func qualified(name string) bool {
	name = strings.TrimSuffix(name, ".")
	parts := strings.Split(name, ".")
	return len(name) <= 253 && len(parts) >= 2 && !slices.ContainsFunc(parts, func(p string) bool { return !label.MatchString(p) })
}

// validateKeyID says what is wrong with the name of a plugin's key, for people and for a metric.
func validateKeyID(id string) (code string, err error) {
	switch {
	case id == "":
		return "empty", errors.New("keyID is empty")
	case len(id) > maxKeyID:
		return "too_long", fmt.Errorf("keyID is %d bytes, which exceeds the max size of %d", len(id), maxKeyID)
	}
	return "ok", nil
}

// seedID names a wrapped seed.
type seedID [sha256.Size]byte

// id names w by everything that a plugin is asked with.
func (w *wrapped) id() seedID {
	h := sha256.New()
	var size [4]byte
	add := func(part []byte) {
		binary.BigEndian.PutUint32(size[:], uint32(len(part)))
		h.Write(size[:])
		h.Write(part)
	}
	h.Write([]byte{byte(w.kind)})
	add(w.Data)
	add([]byte(w.KeyID))
	for _, key := range slices.Sorted(maps.Keys(w.Annotations)) {
		add([]byte(key))
		add(w.Annotations[key])
	}
	return seedID(h.Sum(nil))
}
