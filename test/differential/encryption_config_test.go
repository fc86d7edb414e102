package differential

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2"
	kmsservice "k8s.io/kms/pkg/service"

	"github.com/coracle-project/coracle/storage/encryption"
)

// secretsShown finds the secrets that Kubernetes prints if a provider has several methods.
var secretsShown = regexp.MustCompile(`\{[^}]*("AES|"Secretbox|"KMS)[^ ]*: more than one`)

// TestEncryptionConfigurations has both sides judge made-up configurations.
func TestEncryptionConfigurations(t *testing.T) {
	encryptionconfig.EnvelopeKMSv2ServiceFactory = func(context.Context, string, string, time.Duration) (kmsservice.Service, error) {
		return newXorKMS("k", nil), nil
	}
	t.Cleanup(func() { encryptionconfig.EnvelopeKMSv2ServiceFactory = kmsv2.NewGRPCService })
	file := filepath.Join(t.TempDir(), "encryption.json")
	right, wrong := 0, map[string]int{}
	rnd := random("configurations of encryption")
	for range times(3000) {
		text, err := json.Marshal(madeUpEncryption(rnd))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		theirs, want := encryptionconfig.LoadEncryptionConfig(ctx, file, false, "id")
		config, got := encryption.Parse(text)
		if got == nil {
			right++
			compareChains(t, text, config, theirs)
		} else {
			wrong[strings.SplitN(got.Error(), ":", 2)[0]]++
		}
		if !sameWords(got, want) {
			t.Errorf("%s\nwe say  %v\nthey say %v", text, got, want)
		}
		cancel()
	}
	t.Logf("%d were right, others wrong: %v", right, wrong)
	if right < 10 {
		t.Error("hardly any configuration was right")
	}
}

// sameWords compares errors. Theirs may show secrets, and the errors of both decoders have words of
// their own.
func sameWords(got, want error) bool {
	if got == nil || want == nil {
		return got == nil && want == nil
	}
	if strings.Contains(want.Error(), "error decoding encryption provider configuration file") {
		return strings.HasPrefix(got.Error(), "error while parsing file: ")
	}
	return got.Error() == secretsShown.ReplaceAllString(want.Error(), `"REDACTED": more than one`)
}

// compareChains has each side read, for some resources, the values that both sides write, and a
// value without encryption.
func compareChains(t *testing.T, text []byte, config *encryption.Config, theirs *encryptionconfig.EncryptionConfiguration) {
	t.Helper()
	set, err := config.Open(encryption.Options{Dial: func(string, string) (encryption.KMS, error) { return plugged{newXorKMS("k", nil)}, nil }})
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	defer set.Close()
	if err := set.Check(t.Context()); err != nil {
		t.Error(err)
	}
	transformers := encryptionconfig.StaticTransformers(theirs.Transformers)
	for _, gr := range []schema.GroupResource{{Resource: "secrets"}, {Resource: "pods"}, {Group: "apps", Resource: "deployments"}, {Group: "b.c", Resource: "a"}} {
		chain, by := set.For(gr.Group, gr.Resource), transformers.TransformerForResource(gr)
		const key = "/registry/x/y"
		for _, write := range []func() ([]byte, error){
			func() ([]byte, error) { return chain.Encrypt(t.Context(), key, []byte(`{"a":1}`)) },
			func() ([]byte, error) {
				return by.TransformToStorage(t.Context(), []byte(`{"a":1}`), value.DefaultContext(key))
			},
			func() ([]byte, error) { return []byte(`{"a":1}`), nil },
		} {
			data, err := write()
			if err != nil {
				t.Errorf("%s: %s: %v", text, gr, err)
				continue
			}
			got, gotStale, gotErr := chain.Decrypt(t.Context(), key, data)
			want, wantStale, wantErr := by.TransformFromStorage(t.Context(), data, value.DefaultContext(key))
			if (gotErr == nil) != (wantErr == nil) || gotStale != wantStale || wantErr == nil && !bytes.Equal(got, want) {
				t.Errorf("%s: %s: of %.60q we read %q, stale %v, %v; they %q, stale %v, %v", text, gr, data, got, gotStale, gotErr, want, wantStale, wantErr)
			}
		}
	}
}

// madeUpEncryption is a configuration, mostly with few mistakes.
func madeUpEncryption(rnd *rand.Rand) map[string]any {
	some := func(n int) bool { return rnd.IntN(n) == 0 }
	c := map[string]any{"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration"}
	if some(60) {
		c[pick(rnd, "apiVersion", "kind", "more")] = "x"
	}
	var rules []any
	for range 1 + rnd.IntN(3) - rnd.IntN(20)/19 {
		r := map[string]any{}
		names := []any{}
		for range 1 + rnd.IntN(3) - rnd.IntN(20)/19 {
			name := pick(rnd, "secrets", "pods", "deployments.apps", "a.b.c", "configmaps", "events", "*.apps", "*.", "*.*", "secrets.", "x/y")
			if some(20) {
				name = pick(rnd, "*", "Secrets", "secrets.*", "events.events.k8s.io", "*.events.k8s.io", "a.extensions", "apiserveripinfo", "serviceipallocations", "servicenodeportallocations", "", ".")
			}
			names = append(names, name)
		}
		r["resources"] = names
		providers := []any{}
		for range 1 + rnd.IntN(3) - rnd.IntN(20)/19 {
			p := map[string]any{}
			for range 1 + rnd.IntN(20)/19 - rnd.IntN(30)/29 {
				kind := pick(rnd, "aesgcm", "aescbc", "secretbox", "identity", "kms")
				switch kind {
				case "identity":
					p[kind] = map[string]any{}
				case "kms":
					p[kind] = madeUpPlugin(rnd)
				default:
					keys := []any{}
					for range 1 + rnd.IntN(2) - rnd.IntN(30)/29 {
						keys = append(keys, madeUpKey(rnd, kind))
					}
					p[kind] = map[string]any{"keys": keys}
				}
			}
			providers = append(providers, p)
		}
		r["providers"] = providers
		rules = append(rules, r)
	}
	c["resources"] = rules
	return c
}

func madeUpKey(rnd *rand.Rand, kind string) map[string]any {
	size := 32
	if kind != "secretbox" {
		size = []int{16, 24, 32}[rnd.IntN(3)]
	}
	k := map[string]any{"name": pick(rnd, "a", "b", "a:b", "c"), "secret": base64.StdEncoding.EncodeToString(randomBytes(rnd, size))}
	switch rnd.IntN(80) {
	case 0:
		k["name"] = ""
	case 1:
		k["secret"] = pick(rnd, "", "%%", "YQ==", "YWJjZGVmZ2hpamtsbW5vcA")
	case 2:
		delete(k, pick(rnd, "name", "secret"))
	}
	return k
}

func madeUpPlugin(rnd *rand.Rand) map[string]any {
	k := map[string]any{"apiVersion": "v2", "name": fmt.Sprint("p", rnd.IntN(20)), "endpoint": "unix:///x"}
	if rnd.IntN(2) == 0 {
		k["timeout"] = pick(rnd, "1s", "3m", "1h1s")
	}
	switch rnd.IntN(20) {
	case 0:
		k["name"] = pick(rnd, "", "a:b", "a<b")
	case 1:
		k["endpoint"] = pick(rnd, "", "http://x", "unix:x", "::", "%zz", "/x")
	case 2:
		k["timeout"] = pick(rnd, "0s", "-1s", "x", "1")
	case 3:
		k["cachesize"] = rnd.IntN(3) - 1
	case 4:
		k["apiVersion"] = pick(rnd, "v1", "", "v3")
		if rnd.IntN(2) == 0 {
			k["cachesize"] = rnd.IntN(3) - 1
		}
	}
	return k
}
