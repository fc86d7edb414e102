package encryption

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

var key32 = base64.StdEncoding.EncodeToString(secret(5))

func TestParse(t *testing.T) {
	c, err := Parse(fmt.Appendf(nil, `
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets, configmaps, widgets.example.com]
  providers:
  - aescbc:
      keys:
      - {name: key1, secret: %[1]s}
      - {name: key2, secret: %[1]s}
  - identity: {}
- resources: ["*.apps"]
  providers:
  - identity: {}
- resources: ["*."]
  providers:
  - secretbox: {keys: [{name: box, secret: %[1]s}]}
- resources: ["*.*"]
  providers:
  - aesgcm: {keys: [{name: gcm, secret: %[1]s}]}
`, key32))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ group, resource, want string }{
		{"", "secrets", "k8s:enc:aescbc:v1:key1: k8s:enc:aescbc:v1:key2: identity"},
		{"", "configmaps", "k8s:enc:aescbc:v1:key1: k8s:enc:aescbc:v1:key2: identity"},
		{"example.com", "widgets", "k8s:enc:aescbc:v1:key1: k8s:enc:aescbc:v1:key2: identity"},
		{"other.com", "widgets", "k8s:enc:aesgcm:v1:gcm:"},
		{"other.com", "secrets", "k8s:enc:aesgcm:v1:gcm:"},
		{"apps", "deployments", "identity"},
		{"", "pods", "k8s:enc:secretbox:v1:box:"},
	} {
		var got []string
		for _, p := range c.For(tt.group, tt.resource) {
			name := string(p.prefix)
			if name == "" {
				name = "identity"
			}
			got = append(got, name)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("For(%q, %q): got %v, want %s", tt.group, tt.resource, got, tt.want)
		}
	}
	if got := (*Config)(nil).For("", "secrets"); got != nil {
		t.Errorf("For of no configuration: got %v, want nil", got)
	}
}

func TestParseErrors(t *testing.T) {
	resources := func(r, p string) string {
		return "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [" + r + "]\n  providers: [" + p + "]\n"
	}
	key := "{name: k, secret: " + key32 + "}"
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", "the file is empty"},
		{"other kind", "kind: Pod\napiVersion: v1", `got "Pod" of "v1"`},
		{"unknown field", resources("secrets", "identity: {}") + "extra: 1\n", "extra"},
		{"no resources", "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration", "resources: at least one"},
		{"no names", resources("", "identity: {}"), "resources[0].resources: at least one"},
		{"no providers", resources("secrets", ""), "resources[0].providers: at least one"},
		{"kms", resources("secrets", "kms: {name: x, endpoint: 'unix:///x'}"), "resources[0].providers[0].kms: KMS plugins are not supported"},
		{"two in one", resources("secrets", "{identity: {}, aesgcm: {keys: ["+key+"]}}"), "exactly one of"},
		{"none in one", resources("secrets", "{}"), "exactly one of"},
		{"no keys", resources("secrets", "aesgcm: {keys: []}"), "providers[0].aesgcm.keys: at least one"},
		{"no key name", resources("secrets", "aesgcm: {keys: [{secret: "+key32+"}]}"), "keys[0].name"},
		{"colon", resources("secrets", "aesgcm: {keys: [{name: 'a:b', secret: "+key32+"}]}"), "without a colon"},
		{"same name", resources("secrets", "aesgcm: {keys: ["+key+","+key+"]}"), "keys[1].name: \"k\": there is another"},
		{"no secret", resources("secrets", "aesgcm: {keys: [{name: k}]}"), "keys[0].secret: a secret is required"},
		{"bad base64", resources("secrets", "aesgcm: {keys: [{name: k, secret: '%%'}]}"), "not valid base64"},
		{"short", resources("secrets", "secretbox: {keys: [{name: k, secret: YWJj}]}"), "3 bytes: the secret must have 32"},
		{"odd", resources("secrets", "aesgcm: {keys: [{name: k, secret: YWJj}]}"), "3 bytes"},
		{"star", resources("'*'", "identity: {}"), `use "*."`},
		{"resource in all groups", resources("'events.*'", "identity: {}"), "want *.*"},
		{"half star", resources("'sec*'", "identity: {}"), "whole name"},
		{"subresource", resources("pods/status", "identity: {}"), "without subresource"},
		{"dot", resources("'secrets.'", "identity: {}"), "want resource"},
		{"twice", resources("secrets, secrets", "identity: {}"), "has no effect"},
		{"masked", resources("'*.*', secrets", "identity: {}"), "has no effect"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), key32) {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{resources: [a], providers: [{identity: {}}]}]")
	f.Add("resources: [{providers: [{aesgcm: {keys: [{name: a, secret: YQ==}]}, kms: 1}]}]")
	f.Fuzz(func(t *testing.T, in string) {
		if c, err := Parse([]byte(in)); err == nil {
			c.For("", "secrets")
		}
	})
}
