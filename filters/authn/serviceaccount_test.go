package authn

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/router/request"
)

// boundObjects holds the objects that tokens are bound to, and records the uses of tokens.
type boundObjects struct {
	mu      sync.Mutex
	objects map[string]*ObjectState // by resource/namespace/name
	used    []string
	notes   []TokenUse
	now     time.Time
}

func newBoundObjects() *boundObjects {
	return &boundObjects{now: time.Unix(1_800_000_000, 0), objects: map[string]*ObjectState{
		"serviceaccounts/n/bot": {UID: "a1", Secrets: []string{"auto"}},
		"pods/n/p":              {UID: "p1"}, "secrets/n/s": {UID: "s1"}, "nodes//w": {UID: "w1"},
	}}
}

type worldObject struct {
	*boundObjects
	key string
}

func (w *boundObjects) Object(resource, namespace, name string) Object {
	return worldObject{w, resource + "/" + namespace + "/" + name}
}

func (w *boundObjects) Used(_ context.Context, namespace, secret, day string) {
	w.used = append(w.used, namespace+"/"+secret+" "+day)
}

func (o worldObject) Get(context.Context) (*ObjectState, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.objects[o.key]; s != nil {
		return s, nil
	}
	return nil, errors.New(o.key + " not found")
}

func (w *boundObjects) put(key string, s *ObjectState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects[key] = s
}

const testIssuer = "https://issuer.example.com"

func ecKey(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func rsaKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// accounts returns ServiceAccounts with the given keys that use w.
func (w *boundObjects) accounts(t testing.TB, keys ...crypto.PublicKey) *ServiceAccounts {
	t.Helper()
	known, err := NewTokenKeys(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return NewServiceAccounts(ServiceAccountConfig{
		Issuers: []string{testIssuer, "older"}, Keys: known, Audiences: []string{"api", "more"}, Objects: w,
		Note: func(u TokenUse) { w.notes = append(w.notes, u) }, now: func() time.Time { return w.now },
	})
}

// signer returns a TokenSigner for an issuer.
func signer(t testing.TB, key crypto.Signer, issuer string) *TokenSigner {
	t.Helper()
	s, err := NewTokenSigner(key, issuer)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bot returns a token of the service account bot that is valid for an hour.
func (w *boundObjects) bot() *BoundToken {
	return &BoundToken{Namespace: "n", Account: Ref{"bot", "a1"}, Audiences: []string{"api"}, Issued: w.now, Lasts: time.Hour}
}

func signed(t testing.TB, s *TokenSigner, token *BoundToken) string {
	t.Helper()
	text, _, err := s.Sign(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestAudienceIsAList: the claim aud is a list even for one audience.
func TestAudienceIsAList(t *testing.T) {
	w := newBoundObjects()
	_, rest, _ := strings.Cut(signed(t, signer(t, ecKey(t, elliptic.P256()), testIssuer), w.bot()), ".")
	said, _, _ := strings.Cut(rest, ".")
	if payload, err := base64.RawURLEncoding.DecodeString(said); err != nil || !strings.Contains(string(payload), `"aud":["api"]`) {
		t.Errorf("got %s, %v", payload, err)
	}
}

// TestBoundTokens tries tokens of all kinds, before and after a change of an object or of the
// clock.
func TestBoundTokens(t *testing.T) {
	key := ecKey(t, elliptic.P256())
	for _, tt := range []struct {
		name   string
		token  func(b *BoundToken)
		asked  []string
		then   func(w *boundObjects) // the change, after the token has been used
		first  string                // the error before the change; "": valid
		later  string                // the error after the change
		extras string
	}{
		{name: "plain"},
		{name: "account recreated", then: func(w *boundObjects) { w.put("serviceaccounts/n/bot", &ObjectState{UID: "a2"}) },
			later: "service account UID (a2) does not match claim (a1)"},
		{name: "account gone", then: func(w *boundObjects) { w.put("serviceaccounts/n/bot", nil) }, later: "serviceaccounts/n/bot not found"},
		{name: "account going", then: func(w *boundObjects) { w.put("serviceaccounts/n/bot", &ObjectState{UID: "a1", Deleted: w.now}) }},
		{name: "account gone by now", then: func(w *boundObjects) {
			w.put("serviceaccounts/n/bot", &ObjectState{UID: "a1", Deleted: w.now.Add(-61 * time.Second)})
		}, later: "service account n/bot has been deleted"},
		{name: "account of another uid", token: func(b *BoundToken) { b.Account.UID = "a0" }, first: "service account UID (a1) does not match claim (a0)"},

		{name: "within leeway", then: func(w *boundObjects) { w.now = w.now.Add(time.Hour + 59*time.Second) }},
		{name: "expired", then: func(w *boundObjects) { w.now = w.now.Add(time.Hour + 61*time.Second) }, later: "service account token has expired"},
		{name: "expired long ago", then: func(w *boundObjects) { w.now = w.now.Add(1000 * time.Hour) }, later: "service account token has expired"},
		{name: "a clock ahead", token: func(b *BoundToken) { b.Issued = b.Issued.Add(59 * time.Second) }},
		{name: "not yet", token: func(b *BoundToken) { b.Issued = b.Issued.Add(61 * time.Second) }, first: "service account token is not valid yet"},

		{name: "pod", token: func(b *BoundToken) { b.Pod = &Ref{"p", "p1"} }, extras: "pod-name=p pod-uid=p1",
			then: func(w *boundObjects) { w.put("pods/n/p", nil) }, later: "service account token has been invalidated"},
		{name: "pod recreated", token: func(b *BoundToken) { b.Pod = &Ref{"p", "p1"} }, extras: "pod-name=p pod-uid=p1",
			then:  func(w *boundObjects) { w.put("pods/n/p", &ObjectState{UID: "p2"}) },
			later: "pod UID (p2) does not match service account pod ref claim (p1)"},
		{name: "pod going", token: func(b *BoundToken) { b.Pod = &Ref{"p", "p1"} }, extras: "pod-name=p pod-uid=p1",
			then: func(w *boundObjects) {
				w.put("pods/n/p", &ObjectState{UID: "p1", Deleted: w.now.Add(-59 * time.Second)})
			}},
		{name: "pod gone by now", token: func(b *BoundToken) { b.Pod = &Ref{"p", "p1"} }, extras: "pod-name=p pod-uid=p1",
			then: func(w *boundObjects) {
				w.put("pods/n/p", &ObjectState{UID: "p1", Deleted: w.now.Add(-61 * time.Second)})
			},
			later: "service account token has been invalidated"},
		{name: "pod on a node that has gone", token: func(b *BoundToken) { b.Pod, b.Node = &Ref{"p", "p1"}, &Ref{"x", "x1"} },
			extras: "node-name=x node-uid=x1 pod-name=p pod-uid=p1"},
		{name: "pod on a node without uid", token: func(b *BoundToken) { b.Pod, b.Node = &Ref{"p", "p1"}, &Ref{Name: "x"} },
			extras: "node-name=x pod-name=p pod-uid=p1"},
		{name: "no such pod", token: func(b *BoundToken) { b.Pod = &Ref{"q", "q1"} }, first: "service account token has been invalidated"},

		{name: "secret", token: func(b *BoundToken) { b.Secret = &Ref{"s", "s1"} },
			then: func(w *boundObjects) { w.put("secrets/n/s", nil) }, later: "service account token has been invalidated"},
		{name: "secret recreated", token: func(b *BoundToken) { b.Secret = &Ref{"s", "s1"} },
			then:  func(w *boundObjects) { w.put("secrets/n/s", &ObjectState{UID: "s2"}) },
			later: "secret UID (s2) does not match service account secret ref claim (s1)"},
		{name: "node", token: func(b *BoundToken) { b.Node = &Ref{"w", "w1"} }, extras: "node-name=w node-uid=w1",
			then: func(w *boundObjects) { w.put("nodes//w", nil) }, later: "service account token has been invalidated"},
		{name: "node recreated", token: func(b *BoundToken) { b.Node = &Ref{"w", "w1"} }, extras: "node-name=w node-uid=w1",
			then:  func(w *boundObjects) { w.put("nodes//w", &ObjectState{UID: "w2"}) },
			later: "node UID (w2) does not match service account node ref claim (w1)"},

		{name: "for others", token: func(b *BoundToken) { b.Audiences = []string{"vault"} },
			first: `token audiences ["vault"] is invalid for the target audiences ["api" "more"]`},
		{name: "others ask", asked: []string{"vault"}, first: `token audiences ["api"] is invalid for the target audiences ["vault"]`},
		{name: "for both", token: func(b *BoundToken) { b.Audiences = []string{"vault", "api"} }, asked: []string{"x", "vault"}},
		{name: "for nobody in particular", token: func(b *BoundToken) { b.Audiences = nil }},
		{name: "older issuer", token: func(b *BoundToken) { b.Namespace = "n" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newBoundObjects()
			a, token := w.accounts(t, &key.PublicKey), w.bot()
			if tt.token != nil {
				tt.token(token)
			}
			issuer := testIssuer
			if tt.name == "older issuer" {
				issuer = "older"
			}
			text := signed(t, signer(t, key, issuer), token)
			check := func(when, want string) {
				t.Helper()
				user, accepted, err := a.AuthenticateToken(t.Context(), text, tt.asked)
				if want != "" {
					if err == nil || err.Error() != want || user != nil {
						t.Errorf("%s: got %v, %v, want %s", when, user, err, want)
					}
					return
				}
				if err != nil || user == nil || user.Name != "system:serviceaccount:n:bot" || user.UID != "a1" || len(accepted) == 0 ||
					!slices.Equal(user.Groups, []string{"system:serviceaccounts", "system:serviceaccounts:n", request.GroupAuthenticated}) {
					t.Fatalf("%s: got %+v for %q, %v", when, user, accepted, err)
				}
				var extras []string
				for _, k := range slices.Sorted(maps.Keys(user.Extra)) {
					if name := strings.TrimPrefix(k, "authentication.kubernetes.io/"); name != "credential-id" {
						extras = append(extras, name+"="+user.Extra[k][0])
					} else if !strings.HasPrefix(user.Extra[k][0], "JTI=") {
						t.Errorf("credential: got %q", user.Extra[k])
					}
				}
				if got := strings.Join(extras, " "); got != tt.extras {
					t.Errorf("%s: got extras %s, want %s", when, got, tt.extras)
				}
			}
			check("at first", tt.first)
			check("again", tt.first)
			if tt.then != nil {
				tt.then(w)
				check("later", tt.later)
			}
		})
	}
}

// TestForgedTokens tries tokens that were not signed by one of the keys.
func TestForgedTokens(t *testing.T) {
	w := newBoundObjects()
	ec, rs, other := ecKey(t, elliptic.P256()), rsaKey(t), ecKey(t, elliptic.P256())
	a := w.accounts(t, &ec.PublicKey, &rs.PublicKey)
	good := signed(t, signer(t, ec, testIssuer), w.bot())
	if user, _, err := a.AuthenticateToken(t.Context(), good, nil); user == nil || err != nil {
		t.Fatalf("got %v, %v", user, err)
	}
	parts := strings.Split(good, ".")
	b64 := base64.RawURLEncoding
	header := func(text string) string { return b64.EncodeToString([]byte(text)) }
	ecID, _ := keyID(&ec.PublicKey)
	rsID, _ := keyID(&rs.PublicKey)
	// Public keys used as the secret of a MAC, in all their encodings.
	var confused []string
	der, _ := x509.MarshalPKIXPublicKey(&rs.PublicKey)
	for _, secret := range [][]byte{der, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), x509.MarshalPKCS1PublicKey(&rs.PublicKey)} {
		for _, alg := range []jose.SignatureAlgorithm{jose.HS256, jose.HS384, jose.HS512} {
			mac, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: secret, KeyID: rsID}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := jwt.Signed(mac).Claims(map[string]any{"iss": testIssuer, "aud": "api", "exp": w.now.Unix() + 99, "kubernetes.io": map[string]any{
				"namespace": "n", "serviceaccount": Ref{"bot", "a1"}}}).Serialize()
			if err != nil {
				t.Fatal(err)
			}
			confused = append(confused, text)
		}
	}
	embedded, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: other}, &jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	own, err := jwt.Signed(embedded).Claims(map[string]any{"iss": testIssuer, "aud": "api"}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	stranger := strings.Split(signed(t, signer(t, other, testIssuer), w.bot()), ".")
	unverifiable := map[string]bool{"alg none": true, "key confusion": true, "zeros": true, "critical": true}
	for name, tokens := range map[string][]string{
		"alg none": {
			header(`{"alg":"none"}`) + "." + parts[1] + ".", header(`{"alg":"none","kid":"`+ecID+`"}`) + "." + parts[1] + "." + parts[2],
			header(`{"alg":"None"}`) + "." + parts[1] + ".", header(`{"alg":""}`) + "." + parts[1] + ".", header(`{}`) + "." + parts[1] + ".",
		},
		"key confusion":       confused,
		"alg of another key":  {header(`{"alg":"RS256","kid":"`+ecID+`"}`) + "." + parts[1] + "." + parts[2], header(`{"alg":"ES256","kid":"`+rsID+`"}`) + "." + parts[1] + "." + parts[2]},
		"its own key":         {own},
		"another's signature": {parts[0] + "." + parts[1] + "." + stranger[2], strings.Join(stranger, "."), parts[0] + "." + stranger[1] + "." + stranger[2]},
		"no kid":              {header(`{"alg":"ES256"}`) + "." + stranger[1] + "." + stranger[2]},
		"no signature":        {parts[0] + "." + parts[1] + ".", parts[0] + "." + parts[1], good + ".", good + "." + parts[2]},
		"zeros":               {parts[0] + "." + parts[1] + "." + b64.EncodeToString(make([]byte, 64))},
		"JSON":                {`{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`},
		"critical":            {header(`{"alg":"ES256","crit":["x"],"x":1,"kid":"`+ecID+`"}`) + "." + parts[1] + "." + parts[2]},
		"another issuer":      {signed(t, signer(t, ec, "https://elsewhere.example.com"), w.bot())},
	} {
		for _, token := range tokens {
			user, _, err := a.AuthenticateToken(t.Context(), token, nil)
			if user != nil {
				t.Errorf("%s: %.60s: got %v, %v", name, token, user, err)
			}
			if unverifiable[name] && !errors.Is(err, jose.ErrCryptoFailure) {
				t.Errorf("%s: %.60s: got %v, want what kube-apiserver says of a signature that does not hold", name, token, err)
			}
		}
	}
	// A signature of the server's own key is valid whether or not the token names the key.
	for _, alg := range []struct {
		alg jose.SignatureAlgorithm
		key any
	}{{jose.ES256, ec}, {jose.RS256, rs}, {jose.PS512, rs}} {
		s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg.alg, Key: alg.key}, nil) // without kid
		if err != nil {
			t.Fatal(err)
		}
		text, err := jwt.Signed(s).Claims(map[string]any{"iss": testIssuer, "kubernetes.io": map[string]any{
			"namespace": "n", "serviceaccount": Ref{"bot", "a1"}}}).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		if user, _, err := a.AuthenticateToken(t.Context(), text, nil); user == nil || err != nil {
			t.Errorf("%s without kid: got %v, %v", alg.alg, user, err)
		}
	}
	// It is also valid if the issuer is written with escapes.
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: ec}, nil)
	if err != nil {
		t.Fatal(err)
	}
	escaped, err := s.Sign([]byte(`{"iss":"` + strings.ReplaceAll(testIssuer, "/", `\u002f`) + `","kubernetes.io":{"namespace":"n","serviceaccount":{"name":"bot","uid":"a1"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := escaped.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	if user, _, err := a.AuthenticateToken(t.Context(), text, nil); user == nil || err != nil {
		t.Errorf("an issuer with escapes: got %v, %v", user, err)
	}
}

// TestLegacyTokens tries tokens in secrets.
func TestLegacyTokens(t *testing.T) {
	key := rsaKey(t)
	s := signer(t, key, LegacyIssuer)
	for _, tt := range []struct {
		name   string
		secret string
		then   func(w *boundObjects, secret *ObjectState)
		want   string
		note   TokenUse
		used   string
	}{
		{name: "manual", secret: "mine", note: UsedManual, used: "n/mine 2027-01-15"},
		{name: "automatic", secret: "auto", note: UsedAutomatic, used: "n/auto 2027-01-15"},
		{name: "used today", secret: "mine", then: func(_ *boundObjects, s *ObjectState) { s.LastUsed = "2027-01-15" }, note: UsedManual},
		{name: "used tomorrow elsewhere", secret: "mine", then: func(_ *boundObjects, s *ObjectState) { s.LastUsed = "2027-01-16" }, note: UsedManual},
		{name: "marked invalid", secret: "mine", then: func(_ *boundObjects, s *ObjectState) { s.InvalidSince = "2026-01-01" }, note: UsedInvalidated, used: "n/mine 2027-01-15",
			want: "the token in secret n/mine for service account n/bot has been marked invalid. Use tokens from the TokenRequest API or manually " +
				"created secret-based tokens, or remove the 'kubernetes.io/legacy-token-invalid-since' label from the secret to temporarily allow use of this token"},
		{name: "changed", secret: "mine", then: func(_ *boundObjects, s *ObjectState) { s.Token += "x" }, want: "Token does not match server's copy"},
		{name: "gone", secret: "mine", then: func(w *boundObjects, _ *ObjectState) { w.put("secrets/n/mine", nil) }, want: "Token has been invalidated"},
		{name: "going", secret: "mine", then: func(w *boundObjects, s *ObjectState) { s.Deleted = w.now.Add(time.Hour) }, want: "Token has been invalidated"},
		{name: "account gone", secret: "mine", then: func(w *boundObjects, _ *ObjectState) { w.put("serviceaccounts/n/bot", nil) }, want: "serviceaccounts/n/bot not found"},
		{name: "account going", secret: "mine", then: func(w *boundObjects, _ *ObjectState) {
			w.put("serviceaccounts/n/bot", &ObjectState{UID: "a1", Deleted: w.now})
		},
			want: "ServiceAccount n/bot has been deleted"},
		{name: "account recreated", secret: "mine", then: func(w *boundObjects, _ *ObjectState) { w.put("serviceaccounts/n/bot", &ObjectState{UID: "a2"}) },
			want: "ServiceAccount UID (a2) does not match claim (a1)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newBoundObjects()
			a := w.accounts(t, &key.PublicKey)
			token, err := s.SignLegacy(t.Context(), "n", Ref{"bot", "a1"}, tt.secret)
			if err != nil {
				t.Fatal(err)
			}
			secret := &ObjectState{UID: "x", Token: token}
			w.put("secrets/n/"+tt.secret, secret)
			if tt.then != nil {
				tt.then(w, secret)
			}
			for range 2 { // the second use adds no label for the day
				info := &request.Info{}
				user, accepted, err := a.AuthenticateToken(request.NewContext(t.Context(), info), token, nil)
				if tt.want != "" {
					if err == nil || err.Error() != tt.want {
						t.Errorf("got %v, %v, want %s", user, err, tt.want)
					}
				} else if err != nil || user.Name != "system:serviceaccount:n:bot" || user.Extra != nil || !slices.Equal(accepted, []string{"api", "more"}) {
					t.Errorf("got %+v for %q, %v", user, accepted, err)
				}
				if warned := len(info.Warnings) > 0; warned != (tt.note == UsedAutomatic) {
					t.Errorf("got warnings %q", info.Warnings)
				}
				if info.Annotations["authentication.k8s.io/legacy-token"].Text != "system:serviceaccount:n:bot" {
					t.Errorf("got annotations %v", info.Annotations)
				}
			}
			if got := strings.Join(w.used, ", "); got != tt.used {
				t.Errorf("noted: got %q, want %q", got, tt.used)
			}
			if !slices.Contains(w.notes, UsedLegacy) || tt.note != UsedLegacy && !slices.Contains(w.notes, tt.note) {
				t.Errorf("counted: got %v, want %v", w.notes, tt.note)
			}
		})
	}
	claims := map[string]any{
		"iss": LegacyIssuer, "sub": "system:serviceaccount:n:bot", "kubernetes.io/serviceaccount/namespace": "n",
		"kubernetes.io/serviceaccount/service-account.name": "bot", "kubernetes.io/serviceaccount/service-account.uid": "a1",
		"kubernetes.io/serviceaccount/secret.name": "mine",
	}
	for _, tt := range []struct{ claim, value, want string }{
		{"sub", "", "sub claim is missing"},
		{"sub", "system:serviceaccount:m:bot", "sub claim is invalid"},
		{"sub", "bot", "sub claim is invalid"},
		{"kubernetes.io/serviceaccount/namespace", "", "namespace claim is missing"},
		{"kubernetes.io/serviceaccount/secret.name", "", "secretName claim is missing"},
		{"kubernetes.io/serviceaccount/service-account.name", "", "serviceAccountName claim is missing"},
		{"kubernetes.io/serviceaccount/service-account.uid", "", "serviceAccountUID claim is missing"},
	} {
		w := newBoundObjects()
		c := maps.Clone(claims)
		c[tt.claim] = tt.value
		payload, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		token, err := s.sign(t.Context(), payload)
		if err != nil {
			t.Fatal(err)
		}
		if user, _, err := w.accounts(t, &key.PublicKey).AuthenticateToken(t.Context(), token, nil); err == nil || err.Error() != tt.want {
			t.Errorf("%s=%q: got %v, %v, want %s", tt.claim, tt.value, user, err, tt.want)
		}
	}
	// With Trusting, secrets are not looked up.
	w := newBoundObjects()
	a := w.accounts(t, &key.PublicKey)
	a.cfg.Trusting = true
	token, err := s.SignLegacy(t.Context(), "n", Ref{"gone", "g1"}, "gone")
	if user, _, authErr := a.AuthenticateToken(t.Context(), token, nil); err != nil || authErr != nil || user.UID != "g1" {
		t.Errorf("without looking: got %v, %v, %v", user, authErr, err)
	}
}

// TestStaleTokens counts tokens that should have been replaced.
func TestStaleTokens(t *testing.T) {
	w, key := newBoundObjects(), ecKey(t, elliptic.P256())
	a, token := w.accounts(t, &key.PublicKey), w.bot()
	token.Lasts, token.WarnAfter = 1000*time.Hour, time.Hour
	text := signed(t, signer(t, key, testIssuer), token)
	for _, want := range []TokenUse{UsedExtended, UsedStale} {
		info := &request.Info{}
		if user, _, err := a.AuthenticateToken(request.NewContext(t.Context(), info), text, nil); user == nil || err != nil {
			t.Fatalf("got %v, %v", user, err)
		}
		if w.notes[len(w.notes)-1] != want {
			t.Errorf("got %v, want %v", w.notes, want)
		}
		stale := "subject: system:serviceaccount:n:bot, seconds after warning threshold: 3600"
		if got := info.Annotations["authentication.k8s.io/stale-token"].Text; want == UsedStale && got != stale {
			t.Errorf("got %q, want %q", got, stale)
		}
		w.now = w.now.Add(2 * time.Hour)
	}
}

// TestTokenKeys reads keys of all kinds from files, and signs with them.
func TestTokenKeys(t *testing.T) {
	w := newBoundObjects()
	block := func(typ string, der []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der})
	}
	ca := pkitest.NewAuthority(t, "ca")
	var all []byte
	for name, key := range map[string]crypto.Signer{
		"RS256": rsaKey(t), "ES256": ecKey(t, elliptic.P256()), "ES384": ecKey(t, elliptic.P384()), "ES512": ecKey(t, elliptic.P521()),
	} {
		pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
		private := block("PRIVATE KEY", pkcs8, err)
		pkix, err := x509.MarshalPKIXPublicKey(key.Public())
		public := block("PUBLIC KEY", pkix, err)
		all = append(all, public...)
		if ec, ok := key.(*ecdsa.PrivateKey); ok {
			der, err := x509.MarshalECPrivateKey(ec)
			private = append(block("EC PARAMETERS", []byte{1}, nil), block("EC PRIVATE KEY", der, err)...)
		}
		read, err := pki.ParseKey(private)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := signed(t, signer(t, read, testIssuer), w.bot())
		var header struct{ Alg string }
		if data, err := base64.RawURLEncoding.DecodeString(text[:strings.Index(text, ".")]); err != nil || json.Unmarshal(data, &header) != nil || header.Alg != name {
			t.Errorf("%s: got %q, %v", name, header.Alg, err)
		}
		for _, file := range [][]byte{private, public, append(block("CERTIFICATE", ca.Cert.Raw, nil), private...)} {
			keys, err := pki.ParsePublicKeys(file)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if user, _, err := w.accounts(t, keys...).AuthenticateToken(t.Context(), text, nil); user == nil || err != nil {
				t.Errorf("%s: got %v, %v", name, user, err)
			}
		}
	}
	keys, err := pki.ParsePublicKeys(append(all, all...))
	if err != nil || len(keys) != 8 {
		t.Fatalf("got %d keys, %v", len(keys), err)
	}
	known, err := NewTokenKeys(keys...)
	if err != nil {
		t.Fatal(err)
	}
	discovery, err := known.Discovery(testIssuer, "https://keys.example.com")
	const want = `{"issuer":"https://issuer.example.com","jwks_uri":"https://keys.example.com","response_types_supported":["id_token"],` +
		`"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256","ES384","ES512","RS256"]}`
	if string(discovery) != want || err != nil {
		t.Errorf("got %s, %v", discovery, err)
	}
	if set, err := known.KeySet(); err != nil || strings.Count(string(set), `"use":"sig"`) != 4 || strings.Contains(string(set), `"d":`) {
		t.Errorf("got %s, %v, want 4 keys without their private parts", set, err)
	}
	for _, bad := range []string{"", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", string(block("CERTIFICATE", []byte("x"), nil))} {
		if _, err := pki.ParseKey([]byte(bad)); err == nil {
			t.Errorf("%q is no key", bad)
		}
		if _, err := pki.ParsePublicKeys([]byte(bad)); err == nil {
			t.Errorf("%q holds no keys", bad)
		}
	}
	if _, err := NewTokenKeys(&ecKey(t, elliptic.P224()).PublicKey); err == nil {
		t.Error("P-224 is not supported")
	}
}

// TestRememberedTokenCostsNothing bounds the allocations for a token that was verified before.
func TestRememberedTokenCostsNothing(t *testing.T) {
	w, key := newBoundObjects(), ecKey(t, elliptic.P256())
	a, token := w.accounts(t, &key.PublicKey), w.bot()
	token.Pod, token.Node = &Ref{"p", "p1"}, &Ref{"w", "w1"}
	text, audiences := signed(t, signer(t, key, testIssuer), token), []string{"api"}
	if got := testing.AllocsPerRun(100, func() {
		if user, _, err := a.AuthenticateToken(context.Background(), text, audiences); user == nil || err != nil {
			t.Fatal(user, err)
		}
	}); got > 0 {
		t.Errorf("got %v allocs, want 0", got)
	}
}

func BenchmarkServiceAccounts(b *testing.B) {
	w, key := newBoundObjects(), ecKey(b, elliptic.P256())
	s, audiences := signer(b, key, testIssuer), []string{"api"}
	token := w.bot()
	token.Pod = &Ref{"p", "p1"}
	text := signed(b, s, token)
	for _, known := range []bool{true, false} {
		b.Run(fmt.Sprintf("known=%v", known), func(b *testing.B) {
			a := w.accounts(b, &key.PublicKey)
			b.ReportAllocs()
			for b.Loop() {
				if !known {
					clear(a.verified.mu.good.entries)
				}
				if user, _, err := a.AuthenticateToken(context.Background(), text, audiences); user == nil || err != nil {
					b.Fatal(user, err)
				}
			}
		})
	}
}

// FuzzServiceAccountToken tries random text as a token: only a signed token has a user, and nothing
// panics.
func FuzzServiceAccountToken(f *testing.F) {
	w, key := newBoundObjects(), ecKey(f, elliptic.P256())
	s := signer(f, key, testIssuer)
	good := signed(f, s, w.bot())
	legacy, err := signer(f, key, LegacyIssuer).SignLegacy(f.Context(), "n", Ref{"bot", "a1"}, "s")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{good, legacy, "a.b.c", "..", strings.Replace(good, ".", "..", 1), good + "=", strings.ToUpper(good)} {
		f.Add(seed)
	}
	parts := strings.Split(good, ".")
	f.Fuzz(func(t *testing.T, text string) {
		for _, token := range []string{text, parts[0] + "." + text + "." + parts[2], text + "." + parts[1] + "." + parts[2], parts[0] + "." + parts[1] + "." + text} {
			user, _, _ := w.accounts(t, &key.PublicKey).AuthenticateToken(context.Background(), token, nil)
			if user == nil {
				continue
			}
			payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
			signed, _ := base64.RawURLEncoding.DecodeString(parts[1])
			if err != nil || string(payload) != string(signed) {
				t.Errorf("%q stands for %v", token, user)
			}
		}
	})
}

// TestEachClaim changes each claim of a valid token, one at a time, and signs it again.
func TestEachClaim(t *testing.T) {
	key := ecKey(t, elliptic.P256())
	w := newBoundObjects()
	a := w.accounts(t, &key.PublicKey)
	by, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ref := func(name, uid string) map[string]any { return map[string]any{"name": name, "uid": uid} }
	at := func(d time.Duration) int64 { return w.now.Add(d).Unix() }
	show := func(claim string, value any) (*request.User, error) {
		bound := map[string]any{"namespace": "n", "serviceaccount": ref("bot", "a1"), "pod": ref("p", "p1")}
		all := map[string]any{"iss": testIssuer, "aud": []string{"api"}, "exp": at(time.Hour), "nbf": at(0), "iat": at(0),
			"sub": "system:serviceaccount:n:bot", "kubernetes.io": bound}
		if part, ok := strings.CutPrefix(claim, "kubernetes.io/"); ok {
			bound[part] = value
		} else if claim != "" {
			all[claim] = value
		}
		token, err := jwt.Signed(by).Claims(all).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		user, _, err := a.AuthenticateToken(t.Context(), token, nil)
		return user, err
	}
	if user, err := show("", nil); err != nil || user == nil {
		t.Fatalf("unchanged: got %v, %v", user, err)
	}
	for _, tt := range []struct {
		claim string
		value any
		want  string // the error; "": the token is not of this server
	}{
		{"iss", "https://elsewhere.example.com", ""},
		{"iss", nil, ""},
		{"iss", 7, ""},
		{"aud", []string{"vault"}, `token audiences ["vault"] is invalid for the target audiences ["api" "more"]`},
		{"exp", at(-61 * time.Second), "service account token has expired"},
		{"exp", "soon", "expected number value"},
		{"nbf", at(61 * time.Second), "service account token is not valid yet"},
		{"iat", at(61 * time.Second), "service account token is issued in the future"},
		{"kubernetes.io", "text", "cannot unmarshal string"},
		{"kubernetes.io", nil, "serviceaccounts// not found"},
		{"kubernetes.io/namespace", "m", "serviceaccounts/m/bot not found"},
		{"kubernetes.io/serviceaccount", ref("other", "a1"), "serviceaccounts/n/other not found"},
		{"kubernetes.io/serviceaccount", ref("bot", "a0"), "service account UID (a1) does not match claim (a0)"},
		{"kubernetes.io/serviceaccount", ref("bot", ""), "service account UID (a1) does not match claim ()"},
		{"kubernetes.io/pod", ref("q", "p1"), "service account token has been invalidated"},
		{"kubernetes.io/pod", ref("p", "p0"), "pod UID (p1) does not match service account pod ref claim (p0)"},
		{"kubernetes.io/secret", ref("gone", "s1"), "service account token has been invalidated"},
		{"kubernetes.io/secret", ref("s", "s0"), "secret UID (s1) does not match service account secret ref claim (s0)"},
	} {
		user, err := show(tt.claim, tt.value)
		if user != nil || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %v: got %v, %v, want %q", tt.claim, tt.value, user, err, tt.want)
		}
	}
}
