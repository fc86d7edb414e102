package meta

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
)

// Unread stands for a stored object that cannot be read. Lists and watches with a context of
// WithUnread, which only the process of the server can make, have an Unread in the object's place.
type Unread struct {
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Why             string `json:"why"` // why the object cannot be read
}

// unreadKey is the context key of WithUnread.
type unreadKey struct{}

// WithUnread returns a context whose lists and watches show the objects that can be read, and an
// Unread for each that cannot be read. Without it one object that cannot be read fails the list,
// and ends the watch. The mark is a value in the context, so it reaches the server only from inside
// its own process.
func WithUnread(ctx context.Context) context.Context {
	return context.WithValue(ctx, unreadKey{}, true)
}

// ShowsUnread reports whether ctx was made by WithUnread.
func ShowsUnread(ctx context.Context) bool { return ctx.Value(unreadKey{}) != nil }

// unreadMark is the name of the JSON member that holds an Unread. It differs in each process, so
// that no client can write it into an object.
var unreadMark = []byte(`"` + rand.Text() + `":`)

// AppendJSON appends to dst an object that carries u. head is the beginning of its JSON, `{` or
// `{"kind":...,"apiVersion":...,`.
func (u Unread) AppendJSON(dst []byte, head string) []byte {
	dst = append(append(dst, head...), unreadMark...)
	text, err := json.Marshal(u)
	if err != nil {
		panic(err) // all fields of u have a JSON form
	}
	return append(append(dst, text...), '}')
}

// maxUnreadHead is the largest offset of unreadMark: kind and apiVersion are shorter.
const maxUnreadHead = 1 << 10

// ParseUnread returns the Unread that AppendJSON wrote into the JSON of an object; ok is false if
// there is none.
func ParseUnread(data []byte) (u Unread, ok bool) {
	at := bytes.Index(data[:min(len(data), maxUnreadHead)], unreadMark)
	if at < 0 {
		return u, false
	}
	err := json.Unmarshal(bytes.TrimSuffix(data[at+len(unreadMark):], []byte("}")), &u)
	return u, err == nil
}

// Beginnings of the error for a stored object that cannot be read. Kubernetes has the first one,
// and clients look for it.
const (
	CorruptObject = "StorageError: corrupt object, Code: 7, "
	StrangeObject = "StorageError: object of an unknown version, " // its bytes may be sound
)

// IsUnreadable reports whether err says that an object in the store cannot be read, although it
// exists and the store works.
func IsUnreadable(err error) bool {
	if !IsInternalError(err) {
		return is(err, StatusReasonStoreReadError, 0)
	}
	text := StatusOf(err).Message
	return strings.Contains(text, CorruptObject) || strings.Contains(text, StrangeObject)
}

// UnreadableKey returns the store key of the first object that an error of IsUnreadable names, ""
// if it names none, and why the object cannot be read.
func UnreadableKey(err error) (key, why string) {
	status := StatusOf(err)
	why = status.Message
	if d := status.Details; d != nil && len(d.Causes) > 0 {
		why = d.Causes[0].Message
	}
	if _, rest, ok := strings.Cut(why, ", Key: "); ok {
		key, _, _ = strings.Cut(rest, ", ")
	}
	return key, why
}
