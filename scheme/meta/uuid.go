package meta

import "encoding/hex"

// UUIDSize is the length of a UUID as text.
const UUIDSize = 36

// UUID returns the text of a UUID of version 4 (RFC 9562) made of random bytes. The caller chooses
// their source: an identity needs crypto/rand, an id in a log does not.
func UUID(random [16]byte) string {
	var text [UUIDSize]byte
	PutUUID(&text, random)
	return string(text[:])
}

// PutUUID stores in text the UUID that is made of random bytes; see UUID.
func PutUUID(text *[UUIDSize]byte, random [16]byte) {
	random[6] = random[6]&0x0f | 0x40 // the version
	random[8] = random[8]&0x3f | 0x80 // the variant of RFC 9562
	at := 0
	for _, group := range [...][]byte{random[:4], random[4:6], random[6:8], random[8:10], random[10:]} {
		if at > 0 {
			text[at] = '-'
			at++
		}
		at += hex.Encode(text[at:], group)
	}
}
