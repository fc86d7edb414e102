package registry

import (
	"crypto/rand"

	"github.com/coracle-project/coracle/scheme/meta"
)

// fixNamespace lets an object take the namespace of its path, and refuses another. An object of a
// kind outside of namespaces has none, whatever it says.
func fixNamespace(namespaced bool, namespace string, m *meta.ObjectMeta) error {
	if !namespaced {
		m.Namespace = ""
		return nil
	}
	if m.Namespace == "" {
		m.Namespace = namespace
	}
	if m.Namespace != namespace {
		return meta.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// NewUID returns an identity that nobody can guess.
func NewUID() meta.UID {
	var random [16]byte
	rand.Read(random[:]) // never fails
	return meta.UID(meta.UUID(random))
}

// generateName appends five random characters to base, which is cut so that the name stays a label.
// The alphabet has no vowels and no look-alikes.
func generateName(base string) string {
	const alphabet, suffix, maxLength = "bcdfghjklmnpqrstvwxz2456789", 5, 63
	if len(base) > maxLength-suffix {
		base = base[:maxLength-suffix]
	}
	var r [suffix]byte
	rand.Read(r[:])
	for i := range r {
		r[i] = alphabet[int(r[i])%len(alphabet)]
	}
	return base + string(r[:])
}
