package registry

import (
	"crypto/rand"

	"github.com/coracle-project/coracle/scheme/meta"
)

// fixNamespace sets the namespace of an object to that of the request path, and refuses an object
// that names another. It clears the namespace of an object of a cluster-scoped kind.
func fixNamespace(namespaced bool, namespace string, m *meta.ObjectMeta) error {
	if !namespaced {
		m.Namespace = ""
		return nil
	}
	if m.Namespace == "" {
		m.Namespace = namespace
	}
	if m.Namespace != namespace {
		return meta.NewBadRequest(
			"the namespace of the provided object does not match the namespace sent on the request",
		)
	}
	return nil
}

// NewUID returns a random UID, a UUID of version 4 (RFC 9562).
func NewUID() meta.UID {
	var random [16]byte
	rand.Read(random[:]) // never fails
	return meta.UID(meta.UUID(random))
}

// GenerateName appends five random characters to base. It cuts base so that the name has at most 63
// characters, the length of a DNS label. The alphabet is that of Kubernetes: it has no vowels, so
// that no words appear, and no characters that look alike.
func GenerateName(base string) string {
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
