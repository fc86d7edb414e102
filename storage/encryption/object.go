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

// The stored bytes of KMS v2 behind their prefix: a protobuf message of Kubernetes, written and
// read here field by field. kms.go writes with appendTo and reads with readSealed; validate holds
// both, and the answers of plugins, to Kubernetes' bounds.

// sealed is one stored value: EncryptedObject of kube-apiserver's kmsv2 package, as protobuf.
type sealed struct {
	data []byte // the encrypted value
	wrapped
}

// wrapped is a seed that a plugin has encrypted, or a key itself in values of old servers.
type wrapped struct {
	KMSCipher
	kind uint64
}

// These are the kinds of secrets that a plugin has encrypted (EncryptedDEKSourceType).
const (
	kindKey  = 0 // the key of AES-GCM that encrypts the value; only old servers wrote it
	kindSeed = 1 // the seed from which the key of each value is derived
)

// These are the field numbers of EncryptedObject.
const (
	fieldData        protowire.Number = 1
	fieldKeyID       protowire.Number = 2
	fieldSource      protowire.Number = 3
	fieldAnnotations protowire.Number = 4
	fieldKind        protowire.Number = 5
)

// These bound the answers of a plugin, in bytes.
const (
	maxKeyID       = 1 << 10
	maxSource      = 1 << 10
	maxAnnotations = 32 << 10
)

// appendTo appends the fields of w in the order of their numbers, annotations sorted by key.
func (w *wrapped) appendTo(b []byte) []byte {
	b = appendBytes(b, fieldKeyID, []byte(w.KeyID))
	b = appendBytes(b, fieldSource, w.Data)
	for _, key := range slices.Sorted(maps.Keys(w.Annotations)) {
		entry := appendBytes(appendBytes(nil, 1, []byte(key)), 2, w.Annotations[key])
		b = appendBytes(b, fieldAnnotations, entry)
	}
	return protowire.AppendVarint(protowire.AppendTag(b, fieldKind, protowire.VarintType), w.kind)
}

// appendBytes appends a field of bytes.
func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

var errProto = errors.New("the value is not a protobuf message")

// readSealed reads a stored value: the fields of sealed in any order. Unknown fields are ignored.
// The result shares b's memory.
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

// readAnnotation reads one entry of the map of annotations.
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

// label matches one part of a domain name.
var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// validate returns an error if w breaks one of Kubernetes' bounds, in kube-apiserver's words.
func (w *wrapped) validate() error {
	switch {
	case w.kind != kindKey && w.kind != kindSeed:
		return fmt.Errorf("unknown encryptedDEKSourceType: %d", w.kind)
	case len(w.Data) == 0:
		return errors.New("failed to validate encrypted DEK source: encrypted DEK source is empty")
	case len(w.Data) > maxSource:
		return fmt.Errorf("failed to validate encrypted DEK source: encrypted DEK source is %d bytes, "+
			"which exceeds the max size of %d", len(w.Data), maxSource)
	}
	if _, err := validateKeyID(w.KeyID); err != nil {
		return fmt.Errorf("failed to validate key id: %w", err)
	}
	size := 0
	for key, value := range w.Annotations {
		size += len(key) + len(value)
		if !qualified(key) {
			return fmt.Errorf("failed to validate annotations: annotations: Invalid value: %q: "+
				"should be a domain with at least two segments separated by dots", key)
		}
	}
	if size > maxAnnotations {
		return fmt.Errorf("failed to validate annotations: total size of annotations is %d, "+
			"which exceeds the max size of %d", size, maxAnnotations)
	}
	return nil
}

// qualified reports whether name is a domain name of at least two parts.
func qualified(name string) bool {
	name = strings.TrimSuffix(name, ".")
	parts := strings.Split(name, ".")
	return len(name) <= 253 && len(parts) >= 2 && !slices.ContainsFunc(parts,
		func(p string) bool { return !label.MatchString(p) })
}

// validateKeyID returns what is wrong with a plugin's name for its key: a code for the metric and
// an error for people.
func validateKeyID(id string) (code string, err error) {
	switch {
	case id == "":
		return "empty", errors.New("keyID is empty")
	case len(id) > maxKeyID:
		return "too_long", fmt.Errorf("keyID is %d bytes, which exceeds the max size of %d", len(id), maxKeyID)
	}
	return "ok", nil
}

// seedID is a hash that identifies a wrapped seed in the cache.
type seedID [sha256.Size]byte

// id returns the hash of everything that a plugin gets to decrypt w.
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
