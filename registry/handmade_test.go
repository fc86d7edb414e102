package registry_test

import (
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestHandmadeOverIncomplete puts a value in the place of one that was stored before the resource was there to complete it: what
// that lacks of an identity comes from what is born.
func TestHandmadeOverIncomplete(t *testing.T) {
	k := newKit(t, options{})
	since := meta.NewTime(now)
	born := registry.Identity{UID: "born", Created: &since}
	value := func(metadata string) []byte {
		return []byte(`{"kind":"Widget","apiVersion":"test.example.com/v1","metadata":{"name":"w"` + metadata + `}}`)
	}
	for before, want := range map[string]registry.Identity{
		``:               born,
		`,"uid":"known"`: {UID: "known", Created: &since},
		`,"uid":"known","creationTimestamp":"2001-05-06T07:08:09Z"`: {UID: "known", Created: &meta.Time{Time: now.AddDate(-29, 0, 0)}},
	} {
		_, got, err := k.Handmade("/registry/test.example.com/widgets/ns/w", value(""), value(before), born)
		if err != nil {
			t.Fatal(err)
		}
		if got.UID != want.UID || !got.Created.Equal(want.Created) {
			t.Errorf("over %q: got %q of %v, want %q of %v", before, got.UID, got.Created, want.UID, want.Created)
		}
	}
}
