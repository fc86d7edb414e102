package meta

import "github.com/google/uuid"

// UUID returns random bytes as the text of a UUID of version 4. The caller has chosen where they come from: an identity
// wants those of crypto/rand, an id in a log can do with less. uuid.New would read the system's for each, and allocate
// once more.
func UUID(random [16]byte) string {
	random[6] = random[6]&0x0f | 0x40 // the version
	random[8] = random[8]&0x3f | 0x80 // the variant of RFC 9562
	return uuid.UUID(random).String()
}
