package registry_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/encryption"
)

// unread has values that cannot be read. The cache cannot read some of them. It can read others,
// which fail when they are decoded.
var unread = map[string]struct{ value, cause string }{
	"garbage":     {"}{", "object not decodable revision=5: "},
	"no object":   {`"text"`, "object not decodable revision=5: "},
	"other kind":  {`{"kind":"Gadget","apiVersion":"test.example.com/v1","metadata":{"name":"x","namespace":"ns"}}`, `the kind "Gadget"`},
	"other group": {`{"kind":"Widget","apiVersion":"else/v1","metadata":{"name":"x","namespace":"ns"}}`, `stored in version "else/v1"`},
	"wrong type": {`{"kind":"Widget","apiVersion":"test.example.com/v1","metadata":{"name":"x","namespace":"ns","finalizers":["a.b/c"]},"spec":{"size":"x"}}`,
		"object not decodable revision=5: "},
	"sealed": {"k8s:enc:aesgcm:v1:lost:xxxx", "data from the storage is not transformable revision=5: no provider has the key"},
}

// withUnread makes a kit with an object x, whose value cannot be read, beside a good one.
func withUnread(t *testing.T, value string, config func(*registry.Config), wrap func(storage.Store) storage.Store) *kit {
	t.Helper()
	k := newKit(t, options{config: config, entries: []storage.Entry{
		entry("good", `{"kind":"Widget","apiVersion":"test.example.com/v1",`+strings.Replace(meta1, `"a"`, `"good"`, 1)+`}`), entry("x", value)},
		wrap: func(s storage.Store) storage.Store {
			if wrap != nil {
				s = wrap(s)
			}
			return encryption.Wrap(s, func(string) encryption.Chain { return nil })
		}})
	return k
}

func (k *kit) master() {
	k.info.User = &request.User{Name: "root", Groups: []string{request.GroupMasters}}
}

// TestUnread: every request that needs an unreadable object fails, with kube-apiserver's message,
// which names the object.
func TestUnread(t *testing.T) {
	for name, tt := range unread {
		t.Run(name, func(t *testing.T) {
			k := withUnread(t, tt.value, nil, nil)
			for what, try := range map[string]func() error{
				"a get for a table": func() error {
					enc, err := k.Get(k.ctx, "ns", "x", "")
					if err == nil {
						_, _, err = k.Row(k.ctx, enc, now)
					}
					return err
				},
				"a get as protobuf": func() error {
					enc, err := k.Get(k.ctx, "ns", "x", "")
					if err == nil {
						_, err = k.Encode(k.ctx, enc, "v1", codec.Media{Type: codec.Protobuf})
					}
					return err
				},
				"a get in another version": func() error {
					enc, err := k.Get(k.ctx, "ns", "x", "")
					if err == nil {
						_, err = k.Encode(k.ctx, enc, "v1beta1", codec.Media{})
					}
					return err
				},
				"update": func() error { _, err := k.change("x", func(*widget) {}); return err },
				"delete": func() error { return second(k.delete("x", meta.DeleteOptions{})) },
				"delete of the collection": func() error {
					_, err := k.deleteCollection(k.ctx, &request.ListRequest{Namespace: "ns"}, &meta.DeleteOptions{DryRun: []string{meta.DryRunAll}})
					if status := meta.StatusOf(err); status.Reason == meta.StatusReasonStoreReadError {
						return fmt.Errorf("%w: %s", meta.NewInternalError(err), status.Details.Causes[0].Message)
					}
					return err
				},
			} {
				err := try()
				fault := "corrupt object, Code: 7"
				if name == "other group" { // the cache can read its bytes
					fault = "object of an unknown version"
				}
				if !meta.IsInternalError(err) || !strings.Contains(err.Error(), "StorageError: "+fault+", Key: /registry/test.example.com/widgets/ns/x, ") ||
					!strings.Contains(err.Error(), tt.cause) {
					t.Errorf("%s: got %v, want the key and %q", what, err, tt.cause)
				}
			}
			if w := k.get("good"); w.Name != "good" {
				t.Errorf("the other: got %s", text(w))
			}
		})
	}
}

// TestListOfUnread: the error of a list names the objects that the cache cannot read, up to a
// bound.
func TestListOfUnread(t *testing.T) {
	entries := []storage.Entry{entry("a", "}{"), entry("b", "k8s:enc:aesgcm:v1:lost:xxxx")}
	k := newKit(t, options{entries: entries, wrap: func(s storage.Store) storage.Store {
		return encryption.Wrap(s, func(string) encryption.Chain { return nil })
	}})
	_, err := k.List(k.ctx, &request.ListRequest{Namespace: "ns"})
	status := meta.StatusOf(err)
	if status.Code != 500 || status.Reason != "StorageReadError" || status.Message != "failed to read one or more widgets.test.example.com from the storage" ||
		status.Details.Name != "list" || status.Details.Kind != "widgets" || status.Details.Group != "test.example.com" || len(status.Details.Causes) != 2 {
		t.Fatalf("got %s", text(status))
	}
	for i, cause := range status.Details.Causes {
		want := []string{"object not decodable revision=5: ", "not transformable revision=5: no provider has the key"}[i]
		if cause.Type != "UnexpectedServerResponse" || cause.Field != entries[i].Key || !strings.Contains(cause.Message, want) {
			t.Errorf("cause %d: got %s, want %q", i, text(cause), want)
		}
	}
	entries = nil
	for i := range 150 {
		entries = append(entries, entry(fmt.Sprintf("%03d", i), "}{"))
	}
	k = newKit(t, options{entries: entries})
	_, err = k.List(k.ctx, &request.ListRequest{Namespace: "ns"})
	causes := meta.StatusOf(err).Details.Causes
	if len(causes) != 101 || causes[99].Field != entries[99].Key || causes[100].Type != meta.CauseTypeTooMany || causes[100].Message != "too many errors, the list is truncated" {
		t.Errorf("of many: got %d causes, the last %s", len(causes), text(causes[len(causes)-1]))
	}
}

// TestDiscard deletes unreadable objects in spite of their finalizers. Only members of
// system:masters may do that, and only if an object cannot be read.
func TestDiscard(t *testing.T) {
	yes := true
	unsafe := meta.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: &yes}
	for name, tt := range unread {
		t.Run(name, func(t *testing.T) {
			k := withUnread(t, tt.value, nil, nil)
			_, err := k.delete("x", unsafe)
			want := `widgets.test.example.com "x" is forbidden: not permitted to do "unsafe-delete-ignore-read-errors", reason: `
			if !meta.IsForbidden(err) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("by an ordinary user: got %v, want %q", err, want)
			}
			k.master()
			cursor, err := k.Watch(k.ctx, &request.ListRequest{Namespace: "ns", ResourceVersion: "5"})
			if err != nil {
				t.Fatal(err)
			}
			defer cursor.Close()
			noted := ""
			req := k.deletion("x", &unsafe)
			req.Annotate = func(key, _ string) { noted = key }
			res, err := k.Delete(k.ctx, req, &unsafe)
			if err != nil || !res.Done || res.Encoded != nil || res.Status.Status != "Success" || text(res.Status.Details) != `{"name":"x","kind":"Widget"}` {
				t.Fatalf("got %s, %v", text(res), err)
			}
			if noted != "apiserver.k8s.io/unsafe-delete-ignore-read-error" {
				t.Errorf("the audit record has %q", noted)
			}
			wantNames(t, "the list", k.names(request.ListRequest{}), "good")
			if _, err := k.Get(k.ctx, "ns", "x", ""); !meta.IsNotFound(err) {
				t.Errorf("Get: got %v, want that it is gone", err)
			}
			// A watcher that may have seen the object while it was readable must learn that it is
			// gone.
			events, err := cursor.Next(k.ctx)
			if name == "wrong type" { // the cache can still show the object
				if err != nil || len(events) != 1 || events[0].Type != request.Deleted {
					t.Errorf("the watch: got %v, %v, want a deletion", events, err)
				}
			} else if status := meta.StatusOf(err); status.Reason != meta.StatusReasonStoreReadError ||
				!strings.HasPrefix(status.Message, "saw a DELETED event, but object data is corrupt - ") {
				t.Errorf("the watch: got %v, %v", events, err)
			}
		})
	}
	k := withUnread(t, "}{", nil, nil)
	k.master()
	for _, name := range []string{"good", "none"} {
		_, err := k.delete(name, unsafe)
		if want := fmt.Sprintf("widgets.test.example.com %q is invalid: ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: "+
			"is exclusively used to delete corrupt object(s), try again by removing this option", name); !meta.IsInvalid(err) || err.Error() != want {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	if k.get("good") == nil {
		t.Error("a readable object was deleted")
	}
}

// overtaking is a store that replaces the value of a key just before the first deletion.
type overtaking struct {
	storage.Store
	once  sync.Once
	value string
}

func (s *overtaking) Delete(ctx context.Context, key string, pre storage.Pre) (rev storage.Revision, err error) {
	s.once.Do(func() { _, err = s.Store.Put(ctx, key, []byte(s.value), storage.Pre{}, 0) })
	if err != nil {
		return 0, err
	}
	return s.Store.Delete(ctx, key, pre)
}

// TestDiscardOvertaken: another write replaces an unreadable object while it is deleted. If the new
// value is readable, the object stays; if not, the object is deleted.
func TestDiscardOvertaken(t *testing.T) {
	yes := true
	unsafe := meta.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: &yes}
	good := `{"kind":"Widget","apiVersion":"test.example.com/v1",` + strings.Replace(meta1, `"a"`, `"x"`, 1) + `}`
	for value, stays := range map[string]bool{good: true, "}}": false} {
		k := withUnread(t, "}{", nil, func(s storage.Store) storage.Store { return &overtaking{Store: s, value: value} })
		k.master()
		_, err := k.delete("x", unsafe)
		if stays && (!meta.IsInvalid(err) || k.get("x") == nil) || !stays && (err != nil || k.get("x") != nil) {
			t.Errorf("overtaken by %s: got %v, and then %s", value, err, text(k.get("x")))
		}
	}
}

// TestUnreadableIsTold: the server is told of objects that the cache can read but that cannot be
// decoded.
func TestUnreadableIsTold(t *testing.T) {
	var told []string
	k := withUnread(t, unread["wrong type"].value, func(c *registry.Config) {
		c.Unreadable = func(err *storage.Error) { told = append(told, fmt.Sprint(err.Key, " ", err.Rev)) }
	}, nil)
	enc, err := k.Get(k.ctx, "ns", "x", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Decode(k.ctx, enc); err == nil || fmt.Sprint(told) != "[/registry/test.example.com/widgets/ns/x 5]" {
		t.Errorf("got %v, told %q", err, told)
	}
	ctx, cancel := context.WithCancel(k.ctx)
	cancel()
	if _, err := k.Decode(ctx, enc); err != context.Canceled || len(told) != 1 { // a client that has gone is no fault of the object
		t.Errorf("without a client: got %v, told %q", err, told)
	}
}
