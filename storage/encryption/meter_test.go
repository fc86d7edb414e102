package encryption

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTransforms: each value is counted by method and by key, as kube-apiserver counts it.
func TestTransforms(t *testing.T) {
	const aescbc, aesgcm, identity = "aescbc: {keys: [{name: %[1]s, secret: %[2]s}]}", "aesgcm: {keys: [{name: %[1]s, secret: %[2]s}]}", "identity: {}"
	key, other := key32, strings.Replace(key32, "B", "C", 1)
	provider := func(form, name, secret string) string {
		return "  - " + strings.NewReplacer("%[1]s", name, "%[2]s", secret).Replace(form) + "\n"
	}
	for _, tt := range []struct {
		name          string
		writes, reads string // the providers of writes, and of reads
		want          string
	}{
		{"one key", provider(aesgcm, "a", key), provider(aesgcm, "a", key),
			"write k8s:enc:aesgcm:v1: ok, write a: ok, read k8s:enc:aesgcm:v1: ok, read a: ok"},
		{"plain", provider(identity, "", ""), provider(aesgcm, "a", key) + provider(identity, "", ""),
			"write  ok, read identity ok"},
		{"plain, and none reads it", provider(identity, "", ""), provider(aesgcm, "a", key),
			"write  ok, read unknown failed"},
		{"a method that is gone", provider(aescbc, "a", key), provider(aesgcm, "a", key) + provider(identity, "", ""),
			"write k8s:enc:aescbc:v1: ok, write a: ok, read unknown failed"},
		{"two keys of a name", provider(aesgcm, "a", key), provider(aesgcm, "a", other) + provider(aesgcm, "a", key),
			"write k8s:enc:aesgcm:v1: ok, write a: ok, read k8s:enc:aesgcm:v1: failed, read a: failed, read k8s:enc:aesgcm:v1: ok, read a: ok"},
	} {
		var got []string
		hooks := Hooks{Transforms: func(resource, provider string, written bool) func(time.Duration, error) {
			if resource != "widgets.example.com" {
				t.Errorf("%s: resource %s", tt.name, resource)
			}
			return func(took time.Duration, err error) {
				line := map[bool]string{true: "write ", false: "read "}[written] + provider + map[bool]string{true: " ok", false: " failed"}[err == nil]
				if got = append(got, line); took < 0 || took > time.Minute {
					t.Errorf("%s took %v", line, took)
				}
			}
		}}
		chain := func(providers string) Chain {
			var now Current
			now.Use(opened(t, "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"+
				"- resources: [widgets.example.com]\n  providers:\n"+providers, Options{Hooks: hooks}))
			return now.For("example.com", "widgets").Chain()
		}
		data, err := chain(tt.writes).Encrypt(t.Context(), "/x", []byte("value"))
		if err != nil {
			t.Fatal(err)
		}
		value, _, err := chain(tt.reads).Decrypt(t.Context(), "/x", data)
		if unreadable := slices.Contains(got, "read unknown failed"); unreadable == (err == nil) || err == nil && string(value) != "value" {
			t.Errorf("%s: read %q, %v", tt.name, value, err)
		}
		if lines := strings.Join(got, ", "); lines != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, lines, tt.want)
		}
	}
	var now Current
	now.Use(opened(t, fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"+
		"- resources: [widgets.example.com]\n  providers:\n%s", provider(identity, "", "")), Options{}))
	if chain := now.For("", "secrets").Chain(); chain != nil {
		t.Errorf("what is not named is encrypted by %v", chain)
	}
}
