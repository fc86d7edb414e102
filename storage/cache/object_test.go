package cache_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

func TestObject(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	key := things + "ns/a"
	rev := put(t, store, key, "1", map[string]string{"app": "web", "tier": "front"})
	o, err := r.Get(t.Context(), key, cache.Want{})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"kind":"Thing","apiVersion":"v1","metadata":{"resourceVersion":"%d","labels":{"app":"web","tier":"front"},"name":"a"},"value":"1"}`, rev)
	if got := string(o.JSON()); got != want {
		t.Errorf("JSON: got %s, want %s", got, want)
	}
	if got, want := string(o.JSON()[:o.Head()]), `{"kind":"Thing","apiVersion":"v1",`; got != want {
		t.Errorf("Head: got %s, want %s", got, want)
	}
	if got, want := string(o.Value()), string(body(key, "1", map[string]string{"app": "web", "tier": "front"})); got != want {
		t.Errorf("Value: got %s, want %s", got, want)
	}
	if v, ok := o.Labels.Get("tier"); v != "front" || !ok {
		t.Errorf("Labels.Get: got %q, %t", v, ok)
	}
	if v, ok := o.Labels.Get("none"); ok {
		t.Errorf("Labels.Get of an absent label: got %q", v)
	}
	at := o.At(12345)
	if got, want := string(at.JSON()), strings.Replace(want, fmt.Sprintf(`"%d"`, rev), `"12345"`, 1); got != want || at.Rev != 12345 {
		t.Errorf("At: got %s, want %s", got, want)
	}
	if got, want := string(o.At(0).JSON()), string(o.Value()); got != want {
		t.Errorf("At(0): got %s, want %s", got, want)
	}
}

// TestAliasing: strings of the decoder that alias the stored value are moved to the served bytes,
// so that the cache keeps the served bytes alone.
func TestAliasing(t *testing.T) {
	_, store, c := open(t, cache.Config{})
	r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: func(key string, value []byte) (cache.Decoded, error) {
		array := append(bytes.Clone(value), "behind"...)
		value = array[:len(value):len(value)]
		d, err := decode(key, value)
		part := func(s string) string {
			i := bytes.Index(array, []byte(s))
			return unsafe.String(&array[i], len(s))
		}
		d.Labels = cache.Pairs{{Key: part("app"), Value: part("web")}, {Key: "elsewhere", Value: part(`"labels"`)}, // the place of resourceVersion
			{Key: part("behind"), Value: part("")}}
		d.Fields = cache.Pairs{{Key: part("kind"), Value: part("Thing")}}
		return d, err
	}})
	key := things + "ns/a"
	put(t, store, key, "1", map[string]string{"app": "web"})
	o, err := r.Get(t.Context(), key, cache.Want{})
	if err != nil {
		t.Fatal(err)
	}
	inside := func(s string) bool {
		off := uintptr(unsafe.Pointer(unsafe.StringData(s))) - uintptr(unsafe.Pointer(&o.JSON()[0]))
		return off < uintptr(len(o.JSON()))
	}
	for _, tt := range []struct {
		got, want string
		inside    bool
	}{
		{o.Labels[0].Key, "app", true}, {o.Labels[0].Value, "web", true}, {o.Fields[0].Key, "kind", true}, {o.Fields[0].Value, "Thing", true},
		{o.Labels[1].Key, "elsewhere", false}, {o.Labels[1].Value, `"labels"`, true},
		{o.Labels[2].Key, "behind", false}, {o.Labels[2].Value, "", true},
	} {
		if tt.got != tt.want || inside(tt.got) != tt.inside {
			t.Errorf("got %q, inside the JSON: %t; want %q, %t", tt.got, inside(tt.got), tt.want, tt.inside)
		}
	}
}

// asWritten decodes JSON as decode does. It keeps values with the prefix of protobuf as they are.
func asWritten(key string, value []byte) (cache.Decoded, error) {
	if !bytes.HasPrefix(value, []byte("k8s\x00")) {
		return decode(key, value)
	}
	return cache.Decoded{Data: value, Form: 7, Fields: cache.Pairs{{Key: "metadata.name", Value: name(key)}}}, nil
}

// TestAsWritten: values without a place for resourceVersion are kept and served as they are. Other
// objects of the resource may be JSON.
func TestAsWritten(t *testing.T) {
	_, store, c := open(t, cache.Config{})
	r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: asWritten})
	key, raw := things+"ns/a", []byte("k8s\x00raw")
	w := watch(t, r, cache.WatchOptions{Prefix: things})
	check := func(o *cache.Object, err error, rev storage.Revision) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if data, form := o.Stored(); !bytes.Equal(data, raw) || form != 7 || o.Rev != rev || o.Head() != 0 || !bytes.Equal(o.Value(), raw) {
			t.Errorf("got %q in form %d at %d, want %q in form 7 at %d", data, form, o.Rev, raw, rev)
		}
	}
	made, err := r.Create(t.Context(), key, raw, 0)
	if err != nil {
		t.Fatal(err)
	}
	check(made, nil, made.Rev)
	o, err := r.Get(t.Context(), key, cache.Want{})
	check(o, err, made.Rev)
	o, err = r.Preview(key, raw)
	check(o, err, 0)
	same := func(*cache.Object) ([]byte, storage.LeaseID, error) { return bytes.Clone(raw), 0, nil }
	o, err = r.Update(t.Context(), key, cache.UpdateOptions{}, same)
	check(o, err, made.Rev)
	check(o.At(77), nil, 77)
	check(o.At(0), nil, 0)
	e, err := store.Get(t.Context(), key)
	if err != nil || !bytes.Equal(e.Value, raw) {
		t.Errorf("stored: got %q, %v, want %q", e.Value, err, raw)
	}
	asJSON := put(t, store, key, "1", nil) // by another writer
	o, err = r.Get(t.Context(), key, cache.Want{})
	if err != nil || value(o) != "1" {
		t.Errorf("Get of the JSON: got %v, %v", o, err)
	}
	o, err = r.Update(t.Context(), key, cache.UpdateOptions{}, same)
	check(o, err, asJSON+1)
	gone := remove(t, store, key)
	settle(t, r)
	events, err := w.Next(t.Context())
	if err != nil || len(events) != 4 {
		t.Fatalf("Next: got %v, %v, want 4 events", events, err)
	}
	check(events[0].Object, nil, made.Rev)
	check(events[3].Object, nil, gone)
}

// TestSetDecode: a new decoder decodes the values that are read after the change. The watch goes
// on.
func TestSetDecode(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	w := watch(t, r, cache.WatchOptions{Prefix: things})
	next := func() *cache.Object {
		t.Helper()
		events, err := w.Next(t.Context())
		if err != nil || len(events) != 1 {
			t.Fatalf("Next: got %v, %v, want one event", events, err)
		}
		return events[0].Object
	}
	put(t, store, things+"ns/a", "1", nil)
	before := next()
	r.SetDecode(func(key string, value []byte) (cache.Decoded, error) {
		d, err := decode(key, value)
		d.Form, d.Stale = 2, true
		return d, err
	}, nil)
	put(t, store, things+"ns/b", "1", nil)
	if _, form := next().Stored(); form != 2 {
		t.Errorf("form of a later object: got %d, want 2", form)
	}
	if o, err := r.Get(t.Context(), things+"ns/a", cache.Want{}); err != nil || o != before {
		t.Errorf("Get of an earlier object: got %v, %v, want %v", o, err, before)
	}
}

// TestSetDecodeMends: a new decoder may read objects that the old one could not read.
func TestSetDecodeMends(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	var lenient atomic.Bool
	picky := func(key string, value []byte) (cache.Decoded, error) {
		if strings.HasSuffix(key, "/b") && !lenient.Load() {
			return cache.Decoded{}, errors.New("not known yet")
		}
		return decode(key, value)
	}
	r.SetDecode(picky, nil)
	for _, name := range []string{"a", "b"} {
		put(t, store, things+"ns/"+name, "1", nil)
	}
	list := func() (int, error) {
		l, err := r.List(t.Context(), cache.ListOptions{Prefix: things})
		return len(l.Objects), err
	}
	if _, err := list(); !errors.Is(err, storage.Corrupt) {
		t.Fatalf("List: got %v, want Corrupt", err)
	}
	lenient.Store(true)
	r.SetDecode(picky, nil)
	if n, err := list(); err != nil || n != 2 {
		t.Errorf("List: got %d objects, %v, want 2", n, err)
	}
	for _, want := range []cache.Want{{}, {Match: cache.Any}} {
		if o, err := r.Get(t.Context(), things+"ns/b", want); err != nil || o.Key != things+"ns/b" {
			t.Errorf("Get: got %v, %v", o, err)
		}
	}
	countStoreReads(t, r, cache.Unreadable, 4)
}

func TestPairs(t *testing.T) {
	for _, n := range []int{0, 1, 5, 100} {
		var p cache.Pairs
		for i := range n {
			p = append(p, cache.Pair{Key: fmt.Sprintf("k%03d", i), Value: fmt.Sprint(i)})
		}
		for i := range n {
			if v, ok := p.Get(fmt.Sprintf("k%03d", i)); v != fmt.Sprint(i) || !ok {
				t.Errorf("Get(%d) of %d: got %q, %t", i, n, v, ok)
			}
		}
		if v, ok := p.Get("k"); ok {
			t.Errorf("Get of an absent key of %d: got %q", n, v)
		}
	}
}

func TestContinue(t *testing.T) {
	token := func(rev int, start string) string {
		return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"v":"meta.k8s.io/v1","rv":%d,"start":%q}`, rev, start))
	}
	longest := strings.Repeat("a", 4096*3/4-len(`{"v":"meta.k8s.io/v1","rv":1,"start":"\u0000"}`))
	for _, tt := range []struct {
		rev  storage.Revision
		last string
	}{{1, "a"}, {1 << 40, "ns/name"}, {0, "x"}, {7, "ünï/c"}, {1, longest}} {
		token := cache.EncodeContinue(tt.rev, tt.last)
		rev, after, err := cache.DecodeContinue(token, things)
		if err != nil || rev != tt.rev || after != things+tt.last {
			t.Errorf("DecodeContinue(EncodeContinue(%d, %q)): got %d, %q, %v", tt.rev, tt.last, rev, after, err)
		}
	}
	for _, tt := range []struct{ token, want string }{
		{"abc", "continue key is not valid: invalid character 'i' looking for beginning of value"},
		{"eyJ2IjoieCIsInJ2IjoxLCJzdGFydCI6ImEifQ", "continue key is not valid: server does not recognize this encoded version x"},
		{"!", "continue key is not valid: illegal base64 data at input byte 0"},
		{cache.EncodeContinue(1, strings.Repeat("a", 4000)), "continue key is not valid: longer than 4096 bytes"},
		{token(0, "a"), "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)"},
		{token(-2, "a"), "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)"},
		{token(1, ""), "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)"},
		{cache.EncodeContinue(1, "../secrets/x"), "continue key is not valid: ../secrets/x\x00"},
		{cache.EncodeContinue(1, "a/../../secrets/x"), "continue key is not valid: a/../../secrets/x\x00"},
		{cache.EncodeContinue(1, "a//x"), "continue key is not valid: a//x\x00"},
	} {
		if _, _, err := cache.DecodeContinue(tt.token, things); err == nil || err.Error() != tt.want {
			t.Errorf("DecodeContinue(%.20q): got %v, want %s", tt.token, err, tt.want)
		}
	}
}

func FuzzDecodeContinue(f *testing.F) {
	f.Add(cache.EncodeContinue(1, "a"))
	f.Add(cache.EncodeContinue(0, "ns/a"))
	f.Add("eyJ2IjoieCIsInJ2IjoxLCJzdGFydCI6ImEifQ")
	f.Fuzz(func(t *testing.T, token string) {
		_, after, err := cache.DecodeContinue(token, things)
		if err != nil {
			return
		}
		if !strings.HasPrefix(after, things) || strings.Contains(after, "/../") || strings.HasSuffix(after, "/..") {
			t.Errorf("DecodeContinue(%q): got %q, outside %q", token, after, things)
		}
	})
}
