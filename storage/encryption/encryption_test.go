package encryption

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
	"github.com/coracle-project/coracle/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func secret(c byte) []byte { return bytes.Repeat([]byte{c}, 32) }

func must(t testing.TB, build func(string, []byte) (Provider, error), name string, c byte) Provider {
	t.Helper()
	p, err := build(name, secret(c))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func always(c Chain) func(string) Chain { return func(string) Chain { return c } }

func TestLaws(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first Provider
	}{
		{"aesgcm", must(t, AESGCM, "k", 1)},
		{"secretbox", must(t, Secretbox, "k", 1)},
		{"aescbc", must(t, AESCBC, "k", 1)},
		{"identity", Identity()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			storagetest.Run(t, storagetest.Engine{Open: func(*testing.T) storage.Store {
				return Wrap(memory.New(memory.Config{}), always(Chain{tt.first, Identity()}))
			}})
		})
	}
}

func TestStoredForm(t *testing.T) {
	plain := []byte(`{"kind":"Secret"}`)
	for _, tt := range []struct {
		name     string
		provider Provider
		prefix   string
		size     int // of stored bytes
	}{
		{"aesgcm", must(t, AESGCM, "key1", 1), "k8s:enc:aesgcm:v1:key1:", 23 + 12 + len(plain) + 16},
		{"secretbox", must(t, Secretbox, "key1", 1), "k8s:enc:secretbox:v1:key1:", 26 + 24 + 16 + len(plain)},
		{"aescbc", must(t, AESCBC, "key1", 1), "k8s:enc:aescbc:v1:key1:", 23 + 16 + 32},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Chain{tt.provider}
			a, err := c.Encrypt(t.Context(), "/registry/secrets/ns/x", plain)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(a), tt.prefix) || len(a) != tt.size || bytes.Contains(a, plain) {
				t.Errorf("got %q, %d bytes, want prefix %q, %d bytes", a, len(a), tt.prefix, tt.size)
			}
			if b, _ := c.Encrypt(t.Context(), "/registry/secrets/ns/x", plain); bytes.Equal(a, b) {
				t.Error("two encryptions of one value are equal")
			}
			got, stale, err := c.Decrypt(t.Context(), "/registry/secrets/ns/x", a)
			if err != nil || stale || !bytes.Equal(got, plain) {
				t.Errorf("Decrypt: got %q, stale %v, %v", got, stale, err)
			}
			for i := range a {
				changed := bytes.Clone(a)
				changed[i] ^= 1
				if got, _, err := c.Decrypt(t.Context(), "/registry/secrets/ns/x", changed); err == nil && tt.name != "aescbc" {
					t.Fatalf("byte %d changed: got %q, want an error", i, got)
				}
			}
		})
	}
}

// TestGCMByHand decrypts a value that the test itself made, by the description of the format.
func TestGCMByHand(t *testing.T) {
	const key = "/registry/secrets/default/x"
	block, _ := aes.NewCipher(secret(7))
	aead, _ := cipher.NewGCM(block)
	nonce := []byte("abcdefghijkl")
	data := append([]byte("k8s:enc:aesgcm:v1:key2:"), nonce...)
	data = aead.Seal(data, nonce, []byte("hello"), []byte(key))
	c := Chain{must(t, AESGCM, "key1", 1), must(t, AESGCM, "key2", 7)}
	got, stale, err := c.Decrypt(t.Context(), key, data)
	if err != nil || !stale || string(got) != "hello" {
		t.Errorf("got %q, stale %v, %v, want hello, stale", got, stale, err)
	}
	if _, _, err := c.Decrypt(t.Context(), "/registry/secrets/default/y", data); err == nil {
		t.Error("a value moved to another key was accepted")
	}
}

func TestRotation(t *testing.T) {
	mem := memory.New(memory.Config{})
	defer mem.Close()
	old, fresh := must(t, AESCBC, "old", 1), must(t, Secretbox, "new", 2)
	stores := map[string]storage.Store{
		"plain":        Wrap(mem, always(Chain{Identity()})),
		"old":          Wrap(mem, always(Chain{old, Identity()})),
		"new":          Wrap(mem, always(Chain{fresh, old, Identity()})),
		"only new":     Wrap(mem, always(Chain{fresh})),
		"back":         Wrap(mem, always(Chain{Identity(), fresh})),
		"unconfigured": Wrap(mem, always(nil)),
	}
	put := func(by string) {
		t.Helper()
		if _, err := stores[by].Put(t.Context(), "/a/x", []byte(by), storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	check := func(by, want string, stale bool) {
		t.Helper()
		e, err := stores[by].Get(t.Context(), "/a/x")
		if want == "" {
			if !errors.Is(err, storage.Corrupt) {
				t.Errorf("%s reads: got %q, %v, want Corrupt", by, e.Value, err)
			}
			return
		}
		if err != nil || string(e.Value) != want || e.Stale != stale {
			t.Errorf("%s reads: got %q, stale %v, %v, want %q, stale %v", by, e.Value, e.Stale, err, want, stale)
		}
	}
	put("plain")
	check("old", "plain", true)
	check("only new", "", false)
	put("old")
	check("old", "old", false)
	check("new", "old", true)
	check("plain", "", false)
	put("new")
	check("new", "new", false)
	check("only new", "new", false)
	check("back", "new", true)
	check("old", "", false)
	check("unconfigured", "", false)
	put("back")
	check("plain", "back", false)
	check("unconfigured", "back", false)
}

func TestWatchCorrupt(t *testing.T) {
	mem := memory.New(memory.Config{})
	defer mem.Close()
	s := Wrap(mem, always(Chain{must(t, AESGCM, "k", 1), must(t, AESGCM, "old", 2)}))
	c, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/a/", Prev: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	Wrap(mem, always(Chain{must(t, AESGCM, "old", 2)})).Put(t.Context(), "/a/x", []byte("1"), storage.Pre{}, 0)
	b, err := c.Next(t.Context())
	if err != nil || !b.Events[0].Stale {
		t.Errorf("an event written with the old key: got %+v, %v, want stale", b, err)
	}
	mem.Put(t.Context(), "/a/y", []byte("k8s:enc:aesgcm:v1:k:garbage"), storage.Pre{}, 0)
	mem.Put(t.Context(), "/a/z", []byte("k8s:enc:aesgcm:v1:k:garbage"), storage.Pre{}, 0)
	s.Put(t.Context(), "/a/z", []byte("2"), storage.Pre{}, 0)
	for n := 0; n < 3; {
		b, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range b.Events {
			if mended := n == 2; mended != (ev.Err == nil) || mended != (string(ev.Value) == "2") || ev.Prev != nil || !mended && !errors.Is(ev.Err, storage.Corrupt) {
				t.Errorf("event %d: got %+v", n, ev)
			}
			n++
		}
	}
	res, err := s.Range(t.Context(), storage.RangeRequest{Prefix: "/a/"})
	if err != nil || len(res.Entries) != 3 || res.Entries[0].Err != nil || res.Entries[2].Err != nil {
		t.Fatalf("Range: got %+v, %v", res, err)
	}
	if y := res.Entries[1]; !errors.Is(y.Err, storage.Corrupt) || y.Value != nil || !strings.Contains(y.Err.Error(), "/a/y") {
		t.Errorf("Range: got %+v, want Corrupt, naming the key, and no value", y)
	}
	if _, err := s.Get(t.Context(), "/a/y"); !errors.Is(err, storage.Corrupt) {
		t.Errorf("Get: got %v, want Corrupt", err)
	}
}

func FuzzDecrypt(f *testing.F) {
	c := Chain{must(f, AESGCM, "k", 1), must(f, Secretbox, "k", 2), must(f, AESCBC, "k", 3), Identity()}
	for i := range c {
		data, _ := c[i:].Encrypt(f.Context(), "/a/x", []byte("seed"))
		f.Add(data)
	}
	f.Add([]byte("k8s:enc:"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c.Decrypt(t.Context(), "/a/x", data)
		for i := range c {
			sealed, err := c[i:].Encrypt(t.Context(), "/a/x", data)
			if err != nil {
				t.Fatal(err)
			}
			if i == 3 && bytes.HasPrefix(data, encrypted) {
				continue // identity cannot tell this value from an encrypted one
			}
			if got, _, err := c.Decrypt(t.Context(), "/a/x", sealed); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("provider %d: got %q, %v, want %q", i, got, err, data)
			}
		}
	})
}

func BenchmarkGet(b *testing.B) {
	value := bytes.Repeat([]byte("x"), 1536)
	for _, tt := range []struct {
		name  string
		build func(string, []byte) (Provider, error)
	}{{"aesgcm", AESGCM}, {"secretbox", Secretbox}, {"aescbc", AESCBC}} {
		b.Run("method="+tt.name, func(b *testing.B) {
			mem := memory.New(memory.Config{})
			defer mem.Close()
			s := Wrap(mem, always(Chain{must(b, tt.build, "k", 1)}))
			s.Put(b.Context(), "/a/x", value, storage.Pre{}, 0)
			b.ReportAllocs()
			b.SetBytes(int64(len(value)))
			for b.Loop() {
				if _, err := s.Get(b.Context(), "/a/x"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestPadding decrypts values of one block with each last byte, which is the length of the padding.
// Only a padding as in PKCS #7 is accepted.
func TestPadding(t *testing.T) {
	block, err := aes.NewCipher(secret(1))
	if err != nil {
		t.Fatal(err)
	}
	c := Chain{must(t, AESCBC, "key1", 1)}
	for last := range 256 {
		plain := bytes.Repeat([]byte{byte(last)}, aes.BlockSize)
		for _, whole := range []bool{true, false} {
			if !whole {
				plain[aes.BlockSize-2] ^= 1 // belongs to the padding if that is longer than one byte
			}
			data := append([]byte("k8s:enc:aescbc:v1:key1:"), make([]byte, 2*aes.BlockSize)...)
			iv := data[len(data)-2*aes.BlockSize : len(data)-aes.BlockSize]
			cipher.NewCBCEncrypter(block, iv).CryptBlocks(data[len(data)-aes.BlockSize:], plain)
			got, _, err := c.Decrypt(t.Context(), "/registry/secrets/ns/x", data)
			if good := last == 1 || whole && last > 0 && last <= aes.BlockSize; good != (err == nil) || good && len(got) != aes.BlockSize-last {
				t.Errorf("padding of %d, %t: got %q, %v", last, whole, got, err)
			}
		}
	}
}
