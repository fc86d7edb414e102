package encryption

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

var key32 = base64.StdEncoding.EncodeToString(secret(5))

// opened returns the Set of a configuration.
func opened(t testing.TB, config string, o Options) *Set {
	t.Helper()
	c, err := Parse([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestParse(t *testing.T) {
	s := opened(t, fmt.Sprintf(`
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: ["*."]
  providers:
  - secretbox: {keys: [{name: box, secret: %[1]s}]}
- resources: [widgets.example.com]
  providers:
  - aescbc:
      keys:
      - {name: key1, secret: %[1]s}
      - {name: key2, secret: %[1]s}
  - identity: {}
- resources: [deployments.apps]
  providers:
  - aesgcm: {keys: [{name: "with:colon", secret: %[1]s}]}
- resources: ["*.apps", widgets.example.com]
  providers:
  - identity: {}
- resources: ["*.*"]
  providers:
  - aesgcm: {keys: [{name: gcm, secret: %[1]s}]}
`, key32), Options{})
	for _, tt := range []struct{ group, resource, want string }{
		{"example.com", "widgets", "k8s:enc:aescbc:v1:key1: k8s:enc:aescbc:v1:key2: identity identity"},
		{"other.com", "widgets", "k8s:enc:aesgcm:v1:gcm:"},
		{"other.com", "secrets", "k8s:enc:aesgcm:v1:gcm:"},
		{"apps", "deployments", "k8s:enc:aesgcm:v1:with:colon:"},
		{"apps", "replicasets", "identity"},
		{"", "pods", "k8s:enc:secretbox:v1:box:"},
	} {
		var got []string
		for _, p := range s.For(tt.group, tt.resource) {
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
	if got := (*Current)(nil).For("", "secrets").Chain(); got != nil {
		t.Errorf("For of no configuration: got %v, want nil", got)
	}
}

func TestCurrent(t *testing.T) {
	with := func(provider string) *Set {
		return opened(t, "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers: ["+provider+"]\n", Options{})
	}
	first, second := with("identity: {}"), with("aesgcm: {keys: [{name: k, secret: "+key32+"}]}")
	var c Current
	c.Use(first)
	choice := c.For("", "secrets")
	for range 2 {
		if chain := choice.Chain(); len(chain) != 1 || len(chain[0].prefix) != 0 {
			t.Errorf("got %v, want identity", chain)
		}
	}
	if before := c.Use(second); before != first {
		t.Error("Use did not return what was in force")
	}
	if chain := choice.Chain(); len(chain) != 1 || string(chain[0].prefix) != "k8s:enc:aesgcm:v1:k:" {
		t.Errorf("got %v, want the new one", chain)
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
		{"another type", resources("secrets", "aesgcm: "+key32), "cannot unmarshal"},
		{"two in one", resources("secrets", "{identity: {}, aesgcm: {keys: ["+key+"]}}"), "resources[0].providers[0]: Invalid value: \"REDACTED\": more than one provider specified in a single element"},
		{"star", resources("'*'", "identity: {}"), `resources[0].resources[0]: Invalid value: "*": use '*.' to encrypt all the resources`},
		{"several", resources("Secrets", ""), "error while parsing file: [resources[0].resources[0]: Invalid value: \"Secrets\": resource name should not contain capital letters, resources[0].providers: Required value: at least one resources[0].providers is required]"},
		{"masked", resources("'*.*'", "identity: {}") + "- {resources: [secrets], providers: [identity: {}]}", `error while building transformers: resource "secrets" is masked by earlier rule "*.*"`},
		{"masked by a group", resources("'*.'", "identity: {}") + "- {resources: [secrets], providers: [identity: {}]}", `resource "secrets" is masked by earlier rule "*."`},
		{"KMS v1", resources("secrets", "kms: {name: x, endpoint: 'unix:///x'}"), "error while building transformers: KMSv1 is deprecated and will only receive security updates going forward."},
		{"time", resources("secrets", "kms: {apiVersion: v2, name: x, endpoint: 'unix:///x', timeout: 3}"), "missing unit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), key32[:10]) {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{resources: [a], providers: [{identity: {}}]}]")
	f.Add("resources: [{providers: [{aesgcm: {keys: [{name: a, secret: YQ==}]}, kms: {timeout: 1s}}]}]")
	f.Fuzz(func(t *testing.T, in string) {
		c, err := Parse([]byte(in))
		if err != nil {
			return
		}
		s, err := c.Open(Options{Dial: func(string, string) (KMS, error) { return newFakeKMS("1"), nil }})
		if err != nil {
			t.Fatalf("it parses, but does not open: %v", err)
		}
		s.For("", "secrets")
		s.Close()
	})
}
