package encryption

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
	"github.com/coracle-project/coracle/storage/storagetest"
)

// fakeKMS is a plugin. It encrypts by putting the key's ID before the text.
type fakeKMS struct {
	mu                          sync.Mutex
	version, healthz, keyID     string
	encryptWith                 string // "" means keyID
	annotations                 map[string][]byte
	down                        error
	statuses, encrypted, opened atomic.Int32
	closed                      bool
}

func newFakeKMS(keyID string) *fakeKMS {
	return &fakeKMS{version: "v2", healthz: "ok", keyID: keyID}
}

func (f *fakeKMS) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeKMS) Status(context.Context) (KMSStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.statuses.Add(1)
	return KMSStatus{f.version, f.healthz, f.keyID}, f.down
}

func (f *fakeKMS) Encrypt(_ context.Context, _ string, plain []byte) (KMSCipher, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.encrypted.Add(1)
	id := f.encryptWith
	if id == "" {
		id = f.keyID
	}
	return KMSCipher{Data: append([]byte(id+"|"), plain...), KeyID: id, Annotations: f.annotations}, f.down
}

func (f *fakeKMS) Decrypt(_ context.Context, _ string, c KMSCipher) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened.Add(1)
	if f.down != nil {
		return nil, f.down
	}
	plain, ok := bytes.CutPrefix(c.Data, []byte(c.KeyID+"|"))
	if !ok || len(c.Annotations) != len(f.annotations) {
		return nil, errors.New("no such key")
	}
	return plain, nil
}

func (f *fakeKMS) Close() { f.set(func() { f.closed = true }) }

const kmsConfig = `
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - kms: {apiVersion: v2, name: %s, endpoint: "unix:///nowhere"}
  - identity: {}
`

// withPlugin returns a Set with one plugin, whose status has been checked, and its chain for
// secrets.
func withPlugin(t testing.TB, f *fakeKMS, hooks Hooks) (*Set, Chain) {
	t.Helper()
	s := opened(t, fmt.Sprintf(kmsConfig, "plug"), Options{Hooks: hooks, Dial: func(name, endpoint string) (KMS, error) {
		if name != "plug" || endpoint != "unix:///nowhere" {
			t.Errorf("dialled %s at %s", name, endpoint)
		}
		return f, nil
	}})
	s.Check(t.Context())
	return s, s.For("", "secrets")
}

func TestKMSLaws(t *testing.T) {
	_, chain := withPlugin(t, newFakeKMS("1"), Hooks{})
	storagetest.Run(t, storagetest.Engine{Open: func(*testing.T) storage.Store {
		return Wrap(memory.New(memory.Config{}), always(chain))
	}})
}

func TestKMSStoredForm(t *testing.T) {
	f := newFakeKMS("key-1")
	f.annotations = map[string][]byte{"b.example.com": []byte("2"), "a.example.com": []byte("1")}
	_, chain := withPlugin(t, f, Hooks{})
	data, err := chain.Encrypt(t.Context(), "/registry/secrets/ns/x", []byte("plain"))
	if err != nil {
		t.Fatal(err)
	}
	body, ok := bytes.CutPrefix(data, []byte("k8s:enc:kms:v2:plug:"))
	if !ok {
		t.Fatalf("got %q", data)
	}
	s, err := readSealed(body)
	if err != nil || s.KeyID != "key-1" || s.kind != kindSeed || len(s.data) != 32+12+5+16 || len(s.Annotations) != 2 || string(s.Annotations["a.example.com"]) != "1" {
		t.Errorf("got %+v, %v", s, err)
	}
	again, _ := chain.Encrypt(t.Context(), "/registry/secrets/ns/x", []byte("plain"))
	if bytes.Equal(data, again) {
		t.Error("two encryptions of one value are equal")
	}
	if f.encrypted.Load() != 1 {
		t.Errorf("the plugin has encrypted %d seeds, want 1", f.encrypted.Load())
	}
	// Another server has another seed.
	_, other := withPlugin(t, f, Hooks{})
	for range 3 {
		got, stale, err := other.Decrypt(t.Context(), "/registry/secrets/ns/x", data)
		if err != nil || stale || string(got) != "plain" {
			t.Errorf("got %q, stale %v, %v", got, stale, err)
		}
	}
	if f.opened.Load() != 1 {
		t.Errorf("the plugin has decrypted %d seeds, want 1", f.opened.Load())
	}
	if _, _, err := other.Decrypt(t.Context(), "/registry/secrets/ns/y", data); err == nil {
		t.Error("a value moved to another key was accepted")
	}
	for i := range body {
		changed := bytes.Clone(data)
		changed[len(data)-len(body)+i] ^= 1
		if got, _, err := other.Decrypt(t.Context(), "/registry/secrets/ns/x", changed); err == nil && string(got) != "plain" {
			t.Fatalf("byte %d changed: got %q", i, got)
		}
	}
}

// TestKMSKeyWritten decrypts a value of an older server, in which the plugin has encrypted the key
// itself and not a seed.
func TestKMSKeyWritten(t *testing.T) {
	_, chain := withPlugin(t, newFakeKMS("1"), Hooks{})
	aead, _ := newGCM(secret(9))
	value, _ := gcm{aead}.seal(t.Context(), []byte("old"), []byte("/a/x"))
	w := wrapped{KMSCipher: KMSCipher{Data: append([]byte("1|"), secret(9)...), KeyID: "1"}, kind: kindKey}
	data := w.appendTo(appendBytes([]byte("k8s:enc:kms:v2:plug:"), fieldData, value))
	got, stale, err := chain.Decrypt(t.Context(), "/a/x", data)
	if err != nil || !stale || string(got) != "old" {
		t.Errorf("got %q, stale %v, %v, want old, stale", got, stale, err)
	}
}

func TestKMSRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeKMS("1")
		var named []string
		s, chain := withPlugin(t, f, Hooks{KeyNamed: func(_, key, wrong string) { named = append(named, key+wrong) }})
		first, err := chain.Encrypt(t.Context(), "/a/x", []byte("v"))
		if err != nil {
			t.Fatal(err)
		}
		f.set(func() { f.keyID = "2" })
		if _, stale, err := chain.Decrypt(t.Context(), "/a/x", first); stale || err != nil {
			t.Errorf("before the next look: stale %v, %v", stale, err)
		}
		time.Sleep(checkInterval + time.Second)
		if _, stale, err := chain.Decrypt(t.Context(), "/a/x", first); !stale || err != nil || f.opened.Load() != 0 {
			t.Errorf("after it: stale %v, %v, and the plugin was asked %d times for a seed that was known", stale, err, f.opened.Load())
		}
		second, _ := chain.Encrypt(t.Context(), "/a/x", []byte("v"))
		if o, err := readSealed(bytes.TrimPrefix(second, chain[0].prefix)); o.KeyID != "2" || err != nil {
			t.Errorf("written with key %q, %v", o.KeyID, err)
		}
		if f.encrypted.Load() != 2 || strings.Join(named, " ") != "1 2" {
			t.Errorf("%d seeds for the keys %v", f.encrypted.Load(), named)
		}

		// While the plugin is not healthy, its last key is used for writes for 3 minutes, and for
		// reads without a limit.
		f.set(func() { f.down = errors.New("no power"); f.keyID = "3" })
		time.Sleep(2 * time.Minute)
		if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "kms-provider-0: failed to perform status section of the healthz check for KMS Provider plug, error: no power") {
			t.Errorf("the check says %v", err)
		}
		before := f.statuses.Load()
		s.Check(t.Context())
		if f.statuses.Load() != before {
			t.Error("a check asked again at once")
		}
		if _, err := chain.Encrypt(t.Context(), "/a/x", nil); err != nil {
			t.Errorf("a write after 2 minutes: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if _, err := chain.Encrypt(t.Context(), "/a/x", nil); err == nil || !strings.Contains(err.Error(), "expired at") {
			t.Errorf("a write after 4 minutes: %v", err)
		}
		if _, _, err := chain.Decrypt(t.Context(), "/a/x", second); err != nil {
			t.Errorf("a read after 4 minutes: %v", err)
		}
		f.set(func() { f.down = nil })
		time.Sleep(retryInterval + time.Second)
		if _, err := chain.Encrypt(t.Context(), "/a/x", nil); err != nil || s.Check(t.Context()) != nil {
			t.Errorf("when it is well again: %v, %v", err, s.Check(t.Context()))
		}
		s.Close()
		if !f.closed {
			t.Error("the connection is still open")
		}
	})
}

// TestKMSUnwell: a plugin with an invalid answer is not healthy.
func TestKMSUnwell(t *testing.T) {
	for want, change := range map[string]func(*fakeKMS){
		"got unexpected healthz status: tired":     func(f *fakeKMS) { f.healthz = "tired" },
		"expected KMSv2 API version v2, got v1":    func(f *fakeKMS) { f.version = "v1" },
		"keyID is empty":                           func(f *fakeKMS) { f.keyID = "" },
		"keyID is 1025 bytes, which exceeds":       func(f *fakeKMS) { f.keyID = strings.Repeat("k", 1025) },
		"encrypted DEK source is 1034 bytes":       func(f *fakeKMS) { f.keyID = strings.Repeat("k", 1001) },
		"total size of annotations is 32780":       func(f *fakeKMS) { f.annotations = map[string][]byte{"a.example.co": make([]byte, 32<<10)} },
		`Invalid value: "one": should be a domain`: func(f *fakeKMS) { f.annotations = map[string][]byte{"one": nil} },
		"failed to rotate DEK: statusKeyIDHash=":   func(f *fakeKMS) { f.encryptWith = "other" },
	} {
		t.Run(want, func(t *testing.T) {
			f := newFakeKMS("1")
			change(f)
			s, _ := withPlugin(t, f, Hooks{})
			if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "kmsv2 Provider plug is not healthy, error: ") {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
	f := newFakeKMS("1")
	synctest.Test(t, func(t *testing.T) {
		s, _ := withPlugin(t, f, Hooks{})
		f.set(func() { f.version = "v2beta1" })
		time.Sleep(2 * time.Minute)
		if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "should not change after the initial status response version v2, got v2beta1") {
			t.Errorf("got %v", err)
		}
		s.Close()
	})
}

// TestKMSAway: until a plugin has answered, reads fail with an error that allows another try, and
// no value counts as corrupt.
func TestKMSAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		defer mem.Close()
		f := newFakeKMS("1")
		s, chain := withPlugin(t, f, Hooks{})
		defer s.Close()
		if _, err := Wrap(mem, always(chain)).Put(t.Context(), "/a/x", []byte("v"), storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
		f.set(func() { f.down = passingError{errors.New("away")} })
		late, chain := withPlugin(t, f, Hooks{})
		defer late.Close()
		store := Wrap(mem, always(chain))
		check := func(want storage.Kind) {
			t.Helper()
			if e, err := store.Get(t.Context(), "/a/x"); storage.KindOf(err) != want || err == nil && string(e.Value) != "v" {
				t.Errorf("Get: %+v, %v", e, err)
			}
			if res, err := store.Range(t.Context(), storage.RangeRequest{Prefix: "/a/"}); storage.KindOf(err) != want || err == nil && res.Entries[0].Err != nil {
				t.Errorf("Range: %+v, %v", res, err)
			}
			if _, err := store.Put(t.Context(), "/a/y/z", nil, storage.Pre{}, 0); storage.KindOf(err) != want {
				t.Errorf("Put: %v", err)
			}
		}
		check(storage.Unavailable) // no seed to write with
		f.set(func() { f.down = nil })
		time.Sleep(retryInterval + time.Second)
		f.set(func() { f.down = context.DeadlineExceeded })
		if _, err := store.Get(t.Context(), "/a/x"); storage.KindOf(err) != storage.Unavailable {
			t.Errorf("a seed that cannot be had: %v", err)
		}
		asked := f.opened.Load()
		if _, err := store.Get(t.Context(), "/a/x"); storage.KindOf(err) != storage.Unavailable || f.opened.Load() != asked {
			t.Errorf("%v, and the plugin was asked again at once", err)
		}
		f.set(func() { f.down = nil })
		time.Sleep(missTime + time.Millisecond)
		check(0)
		f.set(func() { f.down = errors.New("no such key") })
		garbled := wrapped{KMSCipher: KMSCipher{Data: []byte("g"), KeyID: "1"}, kind: kindSeed}
		mem.Put(t.Context(), "/a/x", garbled.appendTo(appendBytes([]byte("k8s:enc:kms:v2:plug:"), fieldData, []byte("g"))), storage.Pre{}, 0)
		if _, err := store.Get(t.Context(), "/a/x"); storage.KindOf(err) != storage.Corrupt {
			t.Errorf("what the plugin refuses: %v", err)
		}
	})
}

func FuzzSealed(f *testing.F) {
	w := wrapped{KMSCipher: KMSCipher{Data: []byte("d"), KeyID: "k", Annotations: map[string][]byte{"a.b": []byte("c")}}, kind: kindSeed}
	f.Add(w.appendTo(appendBytes(nil, fieldData, []byte("x"))))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := readSealed(data)
		if err != nil {
			return
		}
		again, err := readSealed(s.appendTo(appendBytes(nil, fieldData, s.data)))
		if err != nil || again.id() != s.id() || !bytes.Equal(again.data, s.data) {
			t.Errorf("%+v was read again as %+v, %v", s, again, err)
		}
	})
}

func BenchmarkKMS(b *testing.B) {
	_, chain := withPlugin(b, newFakeKMS("1"), Hooks{})
	value := bytes.Repeat([]byte("x"), 1536)
	data, _ := chain.Encrypt(b.Context(), "/a/x", value)
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			chain.Decrypt(b.Context(), "/a/x", data)
		}
	})
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			chain.Encrypt(b.Context(), "/a/x", value)
		}
	})
}
