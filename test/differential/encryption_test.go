package differential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2"
	kmsservice "k8s.io/kms/pkg/service"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/encryption"
	"github.com/coracle-project/coracle/storage/memory"
)

// xorKMS is a KMS plugin that encrypts by XOR with its key.
type xorKMS struct {
	key         atomic.Pointer[string]
	annotations map[string][]byte
}

func newXorKMS(key string, annotations map[string][]byte) *xorKMS {
	x := &xorKMS{annotations: annotations}
	x.key.Store(&key)
	return x
}

func xored(data []byte, key string) []byte {
	out := []byte(fmt.Sprintf("%d:", len(key)))
	for i, b := range data {
		out = append(out, b^key[i%len(key)])
	}
	return out
}

func (x *xorKMS) Status(context.Context) (*kmsservice.StatusResponse, error) {
	return &kmsservice.StatusResponse{Version: "v2", Healthz: "ok", KeyID: *x.key.Load()}, nil
}

func (x *xorKMS) Encrypt(_ context.Context, uid string, data []byte) (*kmsservice.EncryptResponse, error) {
	key := *x.key.Load()
	return &kmsservice.EncryptResponse{Ciphertext: xored(data, key), KeyID: key, Annotations: x.annotations}, nil
}

func (x *xorKMS) Decrypt(_ context.Context, uid string, req *kmsservice.DecryptRequest) ([]byte, error) {
	prefix := fmt.Sprintf("%d:", len(req.KeyID))
	data, ok := bytes.CutPrefix(req.Ciphertext, []byte(prefix))
	if !ok || uid == "" {
		return nil, errors.New("not mine")
	}
	for name, want := range x.annotations {
		if !bytes.Equal(req.Annotations[name], want) {
			return nil, fmt.Errorf("the annotation %s is %q", name, req.Annotations[name])
		}
	}
	return xored(data, req.KeyID)[len(prefix):], nil
}

// plugged is a KMS plugin in this process for our side.
type plugged struct{ kmsservice.Service }

func (p plugged) Status(ctx context.Context) (encryption.KMSStatus, error) {
	s, err := p.Service.Status(ctx)
	if err != nil {
		return encryption.KMSStatus{}, err
	}
	return encryption.KMSStatus{Version: s.Version, Healthz: s.Healthz, KeyID: s.KeyID}, nil
}

func (p plugged) Encrypt(ctx context.Context, call string, plain []byte) (encryption.KMSCipher, error) {
	e, err := p.Service.Encrypt(ctx, call, plain)
	if err != nil {
		return encryption.KMSCipher{}, err
	}
	return encryption.KMSCipher{Data: e.Ciphertext, KeyID: e.KeyID, Annotations: e.Annotations}, nil
}

func (p plugged) Decrypt(ctx context.Context, call string, c encryption.KMSCipher) ([]byte, error) {
	return p.Service.Decrypt(ctx, call, &kmsservice.DecryptRequest{Ciphertext: c.Data, KeyID: c.KeyID, Annotations: c.Annotations})
}

func (plugged) Close() {}

const kmsFile = `{"apiVersion":"apiserver.config.k8s.io/v1","kind":"EncryptionConfiguration","resources":[{"resources":["secrets"],
	"providers":[{"kms":{"apiVersion":"v2","name":"plug","endpoint":"unix://%s"}}]}]}`

// chainWith is our chain of providers with a KMS plugin.
func chainWith(t *testing.T, service kmsservice.Service) encryption.Chain {
	t.Helper()
	config, err := encryption.Parse(fmt.Appendf(nil, kmsFile, "/x"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := config.Open(encryption.Options{Dial: func(string, string) (encryption.KMS, error) { return plugged{service}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	if err := set.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	return set.For("", "secrets")
}

// transformerWith is their transformer with a KMS plugin: with a seed, or in the older form without
// seeds.
func transformerWith(t *testing.T, service kmsservice.Service, seed bool) value.Transformer {
	t.Helper()
	made, object, cacheKey, err := kmsv2.GenerateTransformer(t.Context(), "uid", service, seed)
	if err != nil {
		t.Fatal(err)
	}
	return kmsv2.NewEnvelopeTransformer(service, "plug", func() (kmsv2.State, error) {
		return kmsv2.State{
			Transformer: made, EncryptedObjectKeyID: object.KeyID, EncryptedObjectEncryptedDEKSource: object.EncryptedDEKSource,
			EncryptedObjectAnnotations: object.Annotations, EncryptedObjectEncryptedDEKSourceType: object.EncryptedDEKSourceType,
			UID: "uid", ExpirationTimestamp: time.Now().Add(time.Hour), CacheKey: cacheKey,
		}, nil
	}, "")
}

const kmsPrefix = "k8s:enc:kms:v2:plug:"

// TestKMSValues has each side read values that the other side wrote, with random plugins, and judge
// garbled values.
func TestKMSValues(t *testing.T) {
	rnd := random("values of KMS")
	for range times(60) {
		annotations := map[string][]byte{}
		for i := range rnd.IntN(4) {
			annotations[fmt.Sprintf("a%d.example.com", i)] = randomBytes(rnd, rnd.IntN(20))
		}
		keys := []string{"k", strings.Repeat("key", 300), "schlüssel"}
		service := newXorKMS(keys[rnd.IntN(len(keys))], annotations)
		chain, theirs := chainWith(t, service), transformerWith(t, service, rnd.IntN(3) > 0)
		for range 20 {
			if rnd.IntN(10) == 0 {
				service.key.Store(&keys[rnd.IntN(len(keys))])
				chain = chainWith(t, service)
			}
			key, plain := fmt.Sprintf("/registry/secrets/ns/%d", rnd.Int()), randomBytes(rnd, rnd.IntN(2000))
			written, err := chain.Encrypt(t.Context(), key, plain)
			if err != nil {
				t.Fatal(err)
			}
			byThem, err := theirs.TransformToStorage(t.Context(), plain, value.DefaultContext(key))
			if err != nil {
				t.Fatal(err)
			}
			for _, data := range [][]byte{written, append([]byte(kmsPrefix), byThem...)} {
				if rnd.IntN(3) == 0 {
					data = bytes.Clone(data)
					for range 1 + rnd.IntN(3) {
						data[len(kmsPrefix)+rnd.IntN(len(data)-len(kmsPrefix))] ^= 1 << rnd.IntN(8)
					}
				}
				body, ok := bytes.CutPrefix(data, []byte(kmsPrefix))
				if !ok {
					t.Fatalf("got %.40q", data)
				}
				ours, _, oursErr := chain.Decrypt(t.Context(), key, data)
				want, _, wantErr := theirs.TransformFromStorage(t.Context(), body, value.DefaultContext(key))
				if (oursErr == nil) != (wantErr == nil) || wantErr == nil && !bytes.Equal(ours, want) {
					t.Errorf("%q: we read %d bytes, %v; they %d, %v", body, len(ours), oursErr, len(want), wantErr)
				}
			}
		}
	}
}

func randomBytes(rnd *rand.Rand, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(rnd.IntN(256))
	}
	return out
}

// TestKMSOverSocket has our server and their transformers use one plugin, which is served by their
// code, and read each other's secrets. Values of an older key are stale for both.
func TestKMSOverSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "kms")
	service := newXorKMS("one", map[string][]byte{"a.example.com": []byte("b")})
	plugin := kmsservice.NewGRPCService(socket, 5*time.Second, service)
	served := make(chan error, 1)
	go func() { served <- plugin.ListenAndServe() }()
	file := filepath.Join(t.TempDir(), "encryption.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, kmsFile, socket), 0o600); err != nil {
		t.Fatal(err)
	}
	theirs := func() value.Transformer {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		config, err := encryptionconfig.LoadEncryptionConfig(ctx, file, true, "id")
		if err != nil {
			t.Fatal(err)
		}
		return config.Transformers[schema.GroupResource{Resource: "secrets"}]
	}
	first := theirs()
	mem := memory.New(memory.Config{})
	s := servertest.Start(t, server.Config{Storage: server.StorageConfig{Store: mem, EncryptionConfigFile: file}, Controllers: []string{}})
	t.Cleanup(func() { plugin.Close(); <-served })
	const path, key = "/api/v1/namespaces/default/secrets", "/registry/secrets/default/"
	do := func(method, path, body string) (int, string) {
		t.Helper()
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+servertest.Token)
		s.Server.Handler().ServeHTTP(w, r)
		out, _ := io.ReadAll(w.Body)
		return w.Code, string(out)
	}
	if code, body := do("POST", path, `{"metadata":{"name":"ours"},"stringData":{"k":"v"}}`); code != http.StatusCreated {
		t.Fatal(code, body)
	}
	e, err := mem.Get(t.Context(), key+"ours")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string, by value.Transformer, wantStale bool) {
		t.Helper()
		plain, stale, err := by.TransformFromStorage(t.Context(), e.Value, value.DefaultContext(key+"ours"))
		if err != nil || stale != wantStale || !strings.Contains(string(plain), `"k":"dg=="`) {
			t.Errorf("%s: they read %q, stale %v, %v", name, plain, stale, err)
		}
	}
	read("with the key", first, false)
	put := func(by value.Transformer, name string) {
		t.Helper()
		data, err := by.TransformToStorage(t.Context(), []byte(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"`+name+`","namespace":"default","uid":"u"},"data":{"k":"dGhlaXJz"}}`), value.DefaultContext(key+name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mem.Put(t.Context(), key+name, data, storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	put(first, "theirs")
	if code, body := do("GET", path+"/theirs", ""); code != http.StatusOK || !strings.Contains(body, "dGhlaXJz") {
		t.Errorf("we read %d %s", code, body)
	}
	two := "two"
	service.key.Store(&two)
	second := theirs()
	read("with another key", second, true)
	put(second, "later")
	if code, body := do("GET", path+"/later", ""); code != http.StatusOK || !strings.Contains(body, "dGhlaXJz") {
		t.Errorf("we read with an unknown key: %d %s", code, body)
	}
}
