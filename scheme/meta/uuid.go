package meta

import "encoding/hex"

// UUIDSize is how long a UUID is as text.
const UUIDSize = 36

// UUID returns random bytes as the text of a UUID of version 4. The caller has chosen where they come from: an identity
// wants those of crypto/rand, an id in a log can do with less.
func UUID(random [16]byte) string {
	var text [UUIDSize]byte
	PutUUID(&text, random)
	return string(text[:])
}

// PutUUID is UUID where there is a place for the text already.
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
