package registry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

const handmadeKey = "/registry/test.example.com/widgets/ns/a"

// handmade returns the value of a widget with these metadata, as a person writes it by hand:
// without what the server adds.
func handmade(metadata string) []byte {
	return []byte(`{"apiVersion":"test.example.com/v1","kind":"Widget","metadata":{"name":"a"` + metadata + `},"spec":{"color":"red"}}`)
}

// TestHandmade: a value that is written straight to the store gets the UID and the creation time
// that only the server gives.
func TestHandmade(t *testing.T) {
	k := newKit(t, options{})
	born := registry.Identity{UID: "born", Created: &meta.Time{Time: now}}
	complete := handmade(`,"namespace":"ns","uid":"u","creationTimestamp":"2030-05-06T07:08:09Z"`)
	for _, tt := range []struct {
		name, value, old string
		uid              meta.UID
		created          time.Time
	}{
		{"bare", string(handmade(``)), ``, "born", now},
		{"with a uid", string(handmade(`,"uid":"own"`)), ``, "own", now},
		{"with a time", string(handmade(`,"creationTimestamp":"2020-01-01T00:00:00Z"`)), ``, "born", time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"in its namespace", string(handmade(`,"namespace":"ns","resourceVersion":"7"`)), ``, "born", now},
		{"once more", string(handmade(``)), string(handmade(`,"uid":"before","creationTimestamp":"2021-01-01T00:00:00Z"`)), "before", time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"after what nobody could read", string(handmade(``)), `}{`, "born", now},
	} {
		t.Run(tt.name, func(t *testing.T) {
			value, added, err := k.AcceptValue(handmadeKey, []byte(tt.value), []byte(tt.old), born)
			if err != nil {
				t.Fatal(err)
			}
			w := k.parse(value)
			if w.UID != tt.uid || !w.CreationTimestamp.Time.Equal(tt.created) || w.Namespace != "ns" || w.ResourceVersion != "" || w.Spec.Color != "red" {
				t.Errorf("got %s, want uid %s, created %v, in ns, red", value, tt.uid, tt.created)
			}
			if added.UID != tt.uid || !added.Created.Time.Equal(tt.created) {
				t.Errorf("got the identity %v, want %s, %v", added, tt.uid, tt.created)
			}
		})
	}
	if value, added, err := k.AcceptValue(handmadeKey, complete, nil, born); err != nil || string(value) != string(complete) || added != (registry.Identity{}) {
		t.Errorf("a complete value: got %s, %v, %v, want it unchanged", value, added, err)
	}
	if value, _, err := k.AcceptValue(handmadeKey, handmade(``), nil, registry.Identity{}); err != nil || k.parse(value).UID == "" {
		t.Errorf("without a birth: got %s, %v, want a uid", value, err)
	}
	proto, err := k.Kind().Append(nil, k.parse(handmade(``)), codec.Media{Type: codec.Protobuf})
	if err != nil {
		t.Fatal(err)
	}
	if value, _, err := k.AcceptValue(handmadeKey, proto, nil, born); err != nil || !codec.IsProtobuf(value) || k.parse(value).UID != "born" {
		t.Errorf("protobuf: got %q, %v, want protobuf with a uid", value, err)
	}
}

func TestHandmadeRefused(t *testing.T) {
	k := newKit(t, options{})
	for _, tt := range []struct{ name, key, value, want string }{
		{"garbage", handmadeKey, `}{`, ""},
		{"another kind", handmadeKey, `{"apiVersion":"test.example.com/v1","kind":"Gadget","metadata":{"name":"a"}}`, `the kind "Gadget"`},
		{"a wrong type", handmadeKey, strings.Replace(string(handmade(``)), `"red"`, `1`, 1), ""},
		{"no place", "/registry/test.example.com/widgets/ns", string(handmade(``)), "not the key of an object of widgets.test.example.com"},
		{"too deep", handmadeKey + "/b", string(handmade(``)), "not the key of an object of widgets.test.example.com"},
		{"another name", handmadeKey + "b", string(handmade(``)), `metadata.name is "a", but the key has "ab"`},
		{"another namespace", handmadeKey, string(handmade(`,"namespace":"other"`)), `metadata.namespace is "other", but the key has "ns"`},
	} {
		if value, _, err := k.AcceptValue(tt.key, []byte(tt.value), nil, registry.Identity{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %s, %v, want an error with %q", tt.name, value, err, tt.want)
		}
	}
}

// TestHandmadeOverIncomplete replaces a value that was stored before the resource could complete
// it. The new value keeps the UID and the creation time of the old one; what the old one lacks
// comes from the given identity.
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
		_, got, err := k.AcceptValue("/registry/test.example.com/widgets/ns/w", value(""), value(before), born)
		if err != nil {
			t.Fatal(err)
		}
		if got.UID != want.UID || !got.Created.Equal(want.Created) {
			t.Errorf("over %q: got %q of %v, want %q of %v", before, got.UID, got.Created, want.UID, want.Created)
		}
	}
}

// parse reads a stored widget.
func (k *kit) parse(value []byte) *widget {
	k.tb.Helper()
	req := codec.DecodeRequest{Data: value}
	if codec.IsProtobuf(value) {
		req.Type = codec.Protobuf
	}
	out, err := k.Kind().Decode(req)
	if err != nil {
		k.tb.Fatalf("%v in %s", err, value)
	}
	return out.Object.(*widget)
}
