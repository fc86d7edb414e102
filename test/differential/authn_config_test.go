package differential

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"

	"github.com/coracle-project/coracle/filters/authn/jwt"
)

// issuing is an OpenID Connect provider.
type issuing struct {
	*httptest.Server
	key *ecdsa.PrivateKey
	ca  string
}

func newIssuing(t *testing.T) *issuing {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	p := &issuing{key: key}
	b64 := base64.RawURLEncoding.EncodeToString
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, p.URL, p.URL+"/keys")
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","use":"sig","x":%q,"y":%q}]}`, b64(point[1:33]), b64(point[33:]))
	})
	p.Server = httptest.NewTLSServer(mux)
	p.ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}))
	t.Cleanup(p.Close)
	return p
}

func (p *issuing) token(t *testing.T, claims map[string]any) string {
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	text := b64([]byte(`{"alg":"ES256"}`)) + "." + b64(body)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, p.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + b64(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

// configWriter makes up AuthenticationConfigurations.
type configWriter struct {
	rnd    *mathrand.Rand
	issuer *issuing
	right  bool // only expressions may be wrong
}

// often is true n times out of m, and always if right is set.
func (w *configWriter) often(n, m int) bool { return w.right || w.rnd.IntN(m) < n }

func (w *configWriter) some(n, m int) bool { return w.rnd.IntN(m) < n }

var claimExpressions = []string{
	"claims.sub", "claims.email", "claims.?email.orValue('none')", "claims.email_verified ? claims.email : ''", "claims.groups", "claims.nested.a__dot__b",
	"string(claims.n)", "claims.list[0].x__dash__y", "claims.odd__dot__claim", "claims['odd.claim']", "'fixed'", "''", "['a', '', 'b']", "[1]", "1", "null", "claims.none",
	"dyn(claims.groups).map(g, 'p:' + g)", "dyn(claims).map(k, k)", "has(claims.sub) ? 'yes' : 'no'", "has(claims.gone) ? 'yes' : 'no'", "claims.gone", "string(size(claims) > 3)",
	"type(claims) == map ? 'map' : 'other'", "'sub' in claims ? 'in' : 'out'", "string(claims == claims)", "dyn(claims.list).map(e, e['x-y'])", "claims.groups[0]", "claims.n + 1",
	"claims.nested.namespace", "claims.nested.__namespace__", "claims.sub.split('')", "claims.groups + ['x']", "claims.", "claims +", "user.username", "unknown(1)", "claims.sub.lowerAscii()",
	"claims.nested", "claims.list", "claims.n", "claims.bool", "claims.email.matches('@')", "claims.exists(c, c == 'alice')", "claims.all(c, true) ? 'a' : 'b'",
}

var claimConditions = []string{
	"claims.n == 7.0", "claims.n == 7", "claims.sub == 'alice'", "claims.bool", "claims.bool == true", "true", "false", "claims.email_verified == true", "claims.?email_verified.orValue(true) == true",
	"claims.gone == 1", "has(claims.groups)", "'a' in claims.groups", "claims.groups.size() > 1", "claims.nested.a__dot__b == 'v'", "claims.sub", "1", "claims.sub ==", "claims.sub.startsWith('a')",
	"dyn(claims.groups).exists(g, g == 'b')", "dyn(claims.groups).all(g, g != '')", "claims.exists(c, c == 'alice')", "claims.exp > 1.0", "sets.contains(claims.groups, ['a'])", "user.uid == ''",
}

var userConditions = []string{
	"user.username == 'alice'", "!user.username.startsWith('system:')", "user.groups.all(g, g != 'x')", "size(user.groups) < 3", "user.extra.all(k, k != '')", "user.uid == ''", "has(user.uid)",
	"'example.com/a' in user.extra", "user.extra.example__dot__com__slash__a == ['x']", "user.extra['example.com/a'].size() == 1", "user.unknown == ''", "user.username", "user == user", "claims.sub == ''",
	"type(user) == kubernetes.UserInfo", "user.groups[0] == 'a'", "kubernetes.UserInfo{username: 'a'} == user", "user.groups.exists(g, g.startsWith('g:'))", "",
}

// many is a random number of rules. It is small, since a user must fulfil every rule.
func (w *configWriter) many() int {
	if w.right && w.some(2, 3) {
		return 0
	}
	return w.rnd.IntN(3)
}

func (w *configWriter) config() map[string]any {
	c := map[string]any{"apiVersion": "apiserver.config.k8s.io/" + pick(w.rnd, "v1", "v1beta1", "v1alpha1"), "kind": "AuthenticationConfiguration"}
	var issuers []any
	n := 1
	if !w.right {
		n = w.rnd.IntN(4)
	}
	for range n {
		issuers = append(issuers, w.jwt())
	}
	c["jwt"] = issuers
	if !w.right && w.some(1, 3) {
		c["anonymous"] = map[string]any{"enabled": w.some(1, 2), "conditions": []any{map[string]any{"path": "/livez"}}[:w.rnd.IntN(2)]}
	}
	if !w.right && w.some(1, 10) {
		c[pick(w.rnd, "JWT", "other", "Kind")] = 1
	}
	return c
}

func (w *configWriter) jwt() map[string]any {
	i := map[string]any{"issuer": w.source(), "claimMappings": w.mappings()}
	var rules []any
	for range w.many() {
		rules = append(rules, w.rule())
	}
	if rules != nil {
		i["claimValidationRules"] = rules
	}
	rules = nil
	for range w.many() {
		r := map[string]any{"expression": pickString(w.rnd, userConditions)}
		if w.some(1, 2) {
			r["message"] = "no"
		}
		rules = append(rules, r)
	}
	if rules != nil {
		i["userValidationRules"] = rules
	}
	return i
}

func (w *configWriter) source() map[string]any {
	s := map[string]any{"url": w.issuer.URL, "audiences": []any{"us"}, "certificateAuthority": w.issuer.ca}
	if w.right {
		if w.some(1, 2) {
			s["audiences"], s["audienceMatchPolicy"] = []any{"us", "them"}, "MatchAny"
		}
		return s
	}
	if w.some(1, 2) {
		s["url"] = pick(w.rnd, "https://a", "https://b/", "http://a", "", "https://u:p@a", "https://a?q=1", "https://a#f", "::", "https://%zz", "https://forbidden", "a", "https://a?")
	}
	if w.some(1, 3) {
		s["discoveryURL"] = pick(w.rnd, "https://a", "https://a/", "https://c/x", "http://c", "", "https://forbidden", "::")
	}
	if w.some(1, 3) {
		s["audiences"] = pick(w.rnd, []any{}, []any{""}, []any{"a", "a"}, []any{"a", "b"}, []any{"a", "", "", "b"})
	}
	if w.some(1, 3) {
		s["audienceMatchPolicy"] = pick(w.rnd, "MatchAny", "", "MatchAll")
	}
	if w.some(1, 6) {
		s["certificateAuthority"] = pick(w.rnd, "", "no", "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n", "-----BEGIN OTHER-----\nYQ==\n-----END OTHER-----\n")
	}
	if w.some(1, 6) {
		s["egressSelectorType"] = pick(w.rnd, "cluster", "controlplane", "other")
	}
	if w.some(1, 20) {
		s[pick(w.rnd, "URL", "extra")] = "x"
	}
	return s
}

func (w *configWriter) rule() map[string]any {
	r := map[string]any{}
	if w.some(1, 3) {
		r["claim"] = pick(w.rnd, "sub", "hd", "n", "gone")
		if w.some(3, 4) {
			r["requiredValue"] = pick(w.rnd, "alice", "example.com", "", "7")
		}
	} else {
		r["expression"] = pickString(w.rnd, claimConditions)
		if w.some(1, 2) {
			r["message"] = "no"
		}
	}
	if !w.often(5, 6) {
		r[pick(w.rnd, "claim", "expression", "requiredValue", "message")] = pick(w.rnd, "true", "", "sub")
	}
	return r
}

func (w *configWriter) mapping(claims ...string) map[string]any {
	m := map[string]any{}
	if w.some(1, 2) {
		m["claim"], m["prefix"] = pick(w.rnd, claims...), pick(w.rnd, "", "p:")
	} else {
		m["expression"] = pickString(w.rnd, claimExpressions)
	}
	if !w.often(4, 5) {
		m[pick(w.rnd, "claim", "expression", "prefix")] = pick(w.rnd, "", "sub", "'x'")
	}
	if !w.often(9, 10) {
		delete(m, "prefix")
	}
	return m
}

func (w *configWriter) mappings() map[string]any {
	m := map[string]any{"username": w.mapping("sub", "email", "n", "gone")}
	if w.right && w.some(1, 2) {
		m["username"] = map[string]any{"claim": "sub", "prefix": pick(w.rnd, "", "p:")}
	}
	if w.some(2, 3) {
		m["groups"] = w.mapping("groups", "sub", "n", "gone", "none")
	}
	if w.some(1, 2) {
		uid := w.mapping("sub", "n", "gone")
		delete(uid, "prefix")
		m["uid"] = uid
	}
	var extra []any
	for range w.rnd.IntN(3) {
		key := pick(w.rnd, "example.com/a", "example.com/b", "example.com/c")
		if !w.often(2, 3) {
			key = pick(w.rnd, "", "a", "/a", "a/", "Example.com/a", "example.com/A", "k8s.io/a", "x.kubernetes.io/a", "example.com/ü", "-a/b", "example.com/a b", "notk8s.io/a", "a/b/c")
		}
		extra = append(extra, map[string]any{"key": key, "valueExpression": pickString(w.rnd, append(claimExpressions, ""))})
	}
	if extra != nil {
		m["extra"] = extra
	}
	return m
}

// theirConfig reads a configuration as kube-apiserver does.
var theirConfig = func() func(text []byte) (*apiserver.AuthenticationConfiguration, error) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	return func(text []byte) (*apiserver.AuthenticationConfiguration, error) {
		obj, err := runtime.Decode(codecs.UniversalDecoder(), text)
		if err != nil {
			return nil, err
		}
		return obj.(*apiserver.AuthenticationConfiguration), nil
	}
}()

// TestAuthenticationConfigurations has both sides read and judge configurations, right and wrong
// ones.
func TestAuthenticationConfigurations(t *testing.T) {
	w := &configWriter{rnd: random("authentication configurations"), issuer: newIssuing(t)}
	compiler := authenticationcel.NewDefaultCompiler()
	disallowed := []string{"https://forbidden", "https://another"}
	valid, differ := 0, 0
	for n := range times(3000) {
		text, err := json.Marshal(w.config())
		if err != nil {
			t.Fatal(err)
		}
		got, gotErr := jwt.Read(text)
		want, wantErr := theirConfig(text)
		ours, theirs := fmt.Sprint(gotErr), fmt.Sprint(wantErr)
		if gotErr == nil && wantErr == nil {
			ours, theirs = "", ""
			for _, e := range jwt.Validate(got, disallowed) {
				ours += e.Error() + "\n"
			}
			for _, e := range validation.ValidateAuthenticationConfiguration(compiler, want, disallowed) {
				theirs += e.Error() + "\n"
			}
			if theirs == "" {
				valid++
			}
		}
		if ours != theirs {
			if differ++; differ <= 5 {
				t.Errorf("%d: %s\ngot:\n%s\nwant:\n%s", n, strings.ReplaceAll(string(text), strings.ReplaceAll(w.issuer.ca, "\n", `\n`), "CA"), ours, theirs)
			}
		}
	}
	t.Logf("%d were valid, %d differ", valid, differ)
}

// TestClaims has both sides turn claims of tokens into users, by made-up configurations.
func TestClaims(t *testing.T) {
	p := newIssuing(t)
	rnd := random("claims")
	w := &configWriter{rnd: rnd, issuer: p, right: true}
	compiler := authenticationcel.NewDefaultCompiler()
	users, differ := 0, 0
	for n := range times(400) {
		text, err := json.Marshal(w.config())
		if err != nil {
			t.Fatal(err)
		}
		config, err := jwt.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		their, err := theirConfig(text)
		if err != nil {
			t.Fatal(err)
		}
		us, err := jwt.New(config, jwt.Options{})
		them, theirErr := oidc.New(t.Context(), oidc.Options{
			JWTAuthenticator: their.JWT[0], Client: p.Client(), Compiler: compiler, SupportedSigningAlgs: oidc.AllValidSigningAlgorithms(),
		})
		if (err == nil) != (theirErr == nil) {
			t.Fatalf("%s: got %v, want %v", text, err, theirErr)
		}
		if err != nil {
			continue
		}
		if err := us.Found(t.Context()); err != nil {
			t.Fatal(err)
		}
		for them.HealthCheck() != nil {
			time.Sleep(time.Millisecond)
		}
		for range 12 {
			claims := someClaims(rnd, p.URL)
			token := p.token(t, claims)
			got, _, err := us.AuthenticateToken(t.Context(), token, nil)
			want, ok, theirErr := them.AuthenticateToken(t.Context(), token)
			if (err == nil) != (theirErr == nil) || (got != nil) != ok {
				if differ++; differ <= 5 {
					t.Errorf("%d: %s\n%v:\ngot  %v, %v\nwant %v, %v", n, text, claims, got, err, ok, theirErr)
				}
				continue
			}
			if ok {
				users++
				compareUsers(t, fmt.Sprintf("%d: %s\n%v", n, text, claims), got, want.User)
			}
		}
		us.Close()
	}
	t.Logf("%d users, %d differences", users, differ)
}

func someClaims(rnd *mathrand.Rand, issuer string) map[string]any {
	c := map[string]any{
		"iss": issuer, "aud": "us", "exp": time.Now().Add(time.Hour).Unix(), "sub": "alice", "email": "a@b", "email_verified": true, "groups": []any{"a", "b"},
		"nested": map[string]any{"a.b": "v", "namespace": "ns"}, "n": 7, "list": []any{map[string]any{"x-y": "z"}}, "odd.claim": "o", "none": nil, "bool": true, "hd": "example.com",
		"jti": "id",
	}
	odd := []any{nil, "", "x", 7, 1.5, true, false, []any{}, []any{"a", 1}, []any{"", "b"}, map[string]any{"k": "v"}, "system:anonymous", "system:authenticated"}
	for range rnd.IntN(4) {
		name := pick(rnd, "sub", "email", "email_verified", "groups", "nested", "n", "list", "odd.claim", "bool", "hd", "jti", "aud", "exp", "iss", "nbf")
		if rnd.IntN(2) == 0 {
			delete(c, name)
		} else if name != "iss" && name != "exp" && name != "nbf" {
			c[name] = pick(rnd, odd...)
		} else if name != "iss" {
			c[name] = time.Now().Add(time.Duration(rnd.IntN(5)-2) * time.Hour).Unix()
		}
	}
	return c
}
