package cache_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const things = "/registry/things/"

// body returns the object that tests store. In its JSON, name comes after the place of
// resourceVersion.
func body(key, value string, labels map[string]string) []byte {
	l, _ := json.Marshal(labels)
	return fmt.Appendf(nil, `{"kind":"Thing","apiVersion":"v1","metadata":{"labels":%s,"name":%q},"value":%q}`, l, name(key), value)
}

func name(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// decode reads what body wrote. The label color is a selectable field as well.
func decode(key string, value []byte) (cache.Decoded, error) {
	var v struct {
		Metadata struct{ Labels map[string]string }
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return cache.Decoded{}, err
	}
	d := cache.Decoded{Data: value, Splice: bytes.Index(value, []byte(`"labels"`)), Head: bytes.Index(value, []byte(`"metadata"`)),
		Fields: cache.Pairs{{Key: "metadata.name", Value: name(key)}}}
	if color, ok := v.Metadata.Labels["color"]; ok {
		d.Fields = cache.Pairs{{Key: "color", Value: color}, d.Fields[0]}
	}
	for _, k := range slices.Sorted(maps.Keys(v.Metadata.Labels)) {
		d.Labels = append(d.Labels, cache.Pair{Key: k, Value: v.Metadata.Labels[k]})
	}
	return d, nil
}

// open returns a cached resource over a new memory store.
func open(t testing.TB, cfg cache.Config) (*cache.Resource, storage.Store, *cache.Cache) {
	return openOn(t, memory.New(memory.Config{}), cfg)
}

func openOn(t testing.TB, store storage.Store, cfg cache.Config) (*cache.Resource, storage.Store, *cache.Cache) {
	t.Helper()
	c := cache.New(store, cfg)
	t.Cleanup(func() {
		c.Close()
		store.Close()
	})
	return c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: decode, GroupBy: []string{"metadata.name", "color"}}), store, c
}

// put writes to the store, past the cache.
func put(t testing.TB, store storage.Store, key, value string, labels map[string]string) storage.Revision {
	t.Helper()
	e, err := store.Put(t.Context(), key, body(key, value, labels), storage.Pre{}, 0)
	if err != nil {
		t.Fatalf("Put(%q): %v", key, err)
	}
	return e.Rev
}

func remove(t testing.TB, store storage.Store, key string) storage.Revision {
	t.Helper()
	rev, err := store.Delete(t.Context(), key, storage.Pre{})
	if err != nil {
		t.Fatalf("Delete(%q): %v", key, err)
	}
	return rev
}

func value(o *cache.Object) string {
	var v struct{ Value string }
	_ = json.Unmarshal(o.JSON(), &v)
	return v.Value
}

// show prints objects as name=value@revision.
func show(objects []*cache.Object) string {
	var out []string
	for _, o := range objects {
		out = append(out, fmt.Sprintf("%s=%s@%d", strings.TrimPrefix(o.Key, things), value(o), o.Rev))
	}
	return strings.Join(out, " ")
}

func TestReadYourWrites(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	for i := range 100 {
		if i == 50 { // before, the store may answer the reads
			settle(t, r)
		}
		key := fmt.Sprintf("%sa/%d", things, i%7)
		rev := put(t, store, key, fmt.Sprint(i), nil)
		o, err := r.Get(t.Context(), key, cache.Want{})
		if err != nil || o.Rev != rev || value(o) != fmt.Sprint(i) {
			t.Fatalf("Get(%q): got %+v, %v, want value %d at %d", key, o, err, i, rev)
		}
		if got, err := r.Exists(t.Context(), key); err != nil || got != rev {
			t.Errorf("Exists(%q): got %d, %v, want %d", key, got, err, rev)
		}
		if want := fmt.Sprintf(`"resourceVersion":"%d",`, rev); !strings.Contains(string(o.JSON()), want) {
			t.Errorf("JSON: got %s, want %s in it", o.JSON(), want)
		}
	}
	remove(t, store, things+"a/0")
	if _, err := r.Get(t.Context(), things+"a/0", cache.Want{}); !errors.Is(err, storage.NotFound) {
		t.Errorf("Get after Delete: got %v, want %v", err, storage.NotFound)
	}
	if got, err := r.Exists(t.Context(), things+"a/0"); err != nil || got != 0 {
		t.Errorf("Exists after Delete: got %d, %v", got, err)
	}
	if err := r.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}
