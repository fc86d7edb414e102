package differential

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/scheme/meta"
)

// boundThings are the objects to which tokens are bound, as Kubernetes reads them.
type boundThings map[string]metav1.Object // by resource/namespace/name

func (b boundThings) find(resource, namespace, name string) (metav1.Object, error) {
	if o := b[resource+"/"+namespace+"/"+name]; o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource(resource), name)
}

func bound[T any](b boundThings, resource, namespace, name string) (T, error) {
	o, err := b.find(resource, namespace, name)
	if err != nil {
		return *new(T), err
	}
	return o.(T), nil
}

func (b boundThings) GetServiceAccount(_ context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return bound[*corev1.ServiceAccount](b, "serviceaccounts", namespace, name)
}

func (b boundThings) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	return bound[*corev1.Pod](b, "pods", namespace, name)
}

func (b boundThings) GetSecret(_ context.Context, namespace, name string) (*corev1.Secret, error) {
	return bound[*corev1.Secret](b, "secrets", namespace, name)
}

func (b boundThings) GetNode(_ context.Context, name string) (*corev1.Node, error) {
	return bound[*corev1.Node](b, "nodes", "", name)
}

// boundOurs has the same objects, as Coracle reads them.
type boundOurs struct{ boundThings }

type boundThing struct {
	boundThings
	resource, namespace, name string
}

func (b boundOurs) Object(resource, namespace, name string) authn.Object {
	return boundThing{b.boundThings, resource, namespace, name}
}

func (boundOurs) Used(context.Context, string, string, string) {}

func (b boundThing) Get(context.Context) (*authn.ObjectState, error) {
	o, err := b.find(b.resource, b.namespace, b.name)
	if err != nil {
		return nil, err
	}
	s := &authn.ObjectState{UID: meta.UID(o.GetUID())}
	if at := o.GetDeletionTimestamp(); at != nil {
		s.Deleted = at.Time
	}
	switch o := o.(type) {
	case *corev1.ServiceAccount:
		for _, ref := range o.Secrets {
			s.Secrets = append(s.Secrets, ref.Name)
		}
	case *corev1.Secret:
		s.Token, s.InvalidSince = string(o.Data["token"]), o.Labels[authn.InvalidSinceLabel]
		s.LastUsed = o.Labels[authn.LastUsedLabel]
	}
	return s, nil
}

// tokenWriter makes up tokens, and the objects to which they are bound.
type tokenWriter struct {
	*rand.Rand
	keys   []crypto.Signer // both sides know all but the last
	things boundThings
}

// rarely picks usual mostly, and sometimes one of others.
func rarely[T any](w *tokenWriter, usual T, others ...T) T {
	if w.IntN(6) > 0 {
		return usual
	}
	return others[w.IntN(len(others))]
}

// world makes up the objects to which tokens may be bound.
func (w *tokenWriter) world(now time.Time) {
	w.things = boundThings{}
	m := func(name, uid string) metav1.ObjectMeta {
		o := metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(rarely(w, uid, "other", ""))}
		if w.IntN(6) == 0 {
			at := metav1.NewTime(now.Add(pick(w.Rand, -2*time.Hour, -70*time.Second, -30*time.Second, time.Hour)))
			o.DeletionTimestamp = &at
		}
		if w.IntN(8) == 0 {
			o.Labels = map[string]string{authn.InvalidSinceLabel: "2026-01-01"}
		}
		return o
	}
	put := func(resource, namespace string, o metav1.Object) {
		if w.IntN(8) > 0 {
			w.things[resource+"/"+namespace+"/"+o.GetName()] = o
		}
	}
	put("serviceaccounts", "n", &corev1.ServiceAccount{ObjectMeta: m("bot", "a1"), Secrets: []corev1.ObjectReference{{Name: "s"}}})
	put("pods", "n", &corev1.Pod{ObjectMeta: m("p", "p1")})
	put("secrets", "n", &corev1.Secret{ObjectMeta: m("s", "s1"), Data: map[string][]byte{}})
	put("nodes", "", &corev1.Node{ObjectMeta: m("w", "w1")})
}

// claims makes up the claims of a token. It makes no times out of range, because the older library
// of Kubernetes reads them as other times.
func (w *tokenWriter) claims(now time.Time) map[string]any {
	c := map[string]any{"iss": rarely(w, pick(w.Rand, "https://issuer", "https://old"), "https://else", ""), "jti": pick(w.Rand, "", "id")}
	if w.IntN(3) == 0 {
		return w.legacyClaims(c)
	}
	c["sub"] = rarely(w, "system:serviceaccount:n:bot", "x", "")
	switch w.IntN(5) {
	case 0:
	case 1:
		c["aud"] = pick(w.Rand, "api", "more", "else", "")
	default:
		c["aud"] = []string{pick(w.Rand, "api", "more", "else"), pick(w.Rand, "api", "more", "else")}
	}
	at := func(name string, usual time.Duration, others ...time.Duration) {
		switch w.IntN(12) {
		case 0:
		case 1:
			c[name] = pick[any](w.Rand, "soon", 1.5, 0, -1, nil, 1e12, now.Unix())
		default:
			c[name] = now.Add(rarely(w, usual, others...)).Unix()
		}
	}
	at("exp", time.Hour, -30*time.Second, -90*time.Second, -time.Hour)
	at("nbf", -time.Second, 30*time.Second, 90*time.Second)
	at("iat", -time.Second, 30*time.Second, 90*time.Second)
	ref := func(name, uid string) any {
		return rarely[any](w, map[string]any{"name": name, "uid": uid}, map[string]any{"name": name}, map[string]any{"uid": uid}, nil, "x", map[string]any{"name": "gone", "uid": uid})
	}
	k := map[string]any{"namespace": rarely(w, "n", "m", ""), "serviceaccount": ref("bot", "a1")}
	for name, o := range map[string]any{"pod": ref("p", "p1"), "secret": ref("s", "s1"), "node": ref("w", "w1")} {
		if w.IntN(4) == 0 {
			k[name] = o
		}
	}
	if w.IntN(4) == 0 {
		k["warnafter"] = pick[any](w.Rand, now.Add(-time.Hour).Unix(), now.Add(time.Hour).Unix(), 0, "x")
	}
	c["kubernetes.io"] = rarely[any](w, k, nil, "x", []int{1})
	return c
}

func (w *tokenWriter) legacyClaims(c map[string]any) map[string]any {
	c["iss"] = authn.LegacyIssuer
	c["sub"] = rarely(w, "system:serviceaccount:n:bot", "x", "", "system:serviceaccount:n:bot:x", "system:serviceaccount:N:bot")
	if w.IntN(5) == 0 {
		c["aud"] = pick(w.Rand, "api", "else")
	}
	if w.IntN(5) == 0 {
		c["exp"] = 1
	}
	for name, value := range map[string]string{
		"namespace": "n", "service-account.name": "bot", "service-account.uid": "a1", "secret.name": "s",
	} {
		c["kubernetes.io/serviceaccount/"+name] = rarely(w, value, value, "", "x")
	}
	return c
}

// sign signs with a random key, known or not, and mostly with an algorithm that fits the key.
func (w *tokenWriter) sign(t *testing.T, c map[string]any) string {
	key := w.keys[min(w.IntN(3*len(w.keys)), 3*len(w.keys)-1)/3]
	var sk jose.SigningKey
	switch key := key.(type) {
	case *rsa.PrivateKey:
		sk = jose.SigningKey{Algorithm: pick(w.Rand, jose.RS256, jose.RS256, jose.RS512, jose.PS256), Key: key}
	case *ecdsa.PrivateKey:
		sk = jose.SigningKey{Algorithm: map[elliptic.Curve]jose.SignatureAlgorithm{elliptic.P256(): jose.ES256, elliptic.P384(): jose.ES384}[key.Curve], Key: key}
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	if w.IntN(20) == 0 { // with the public key as an HMAC secret
		sk = jose.SigningKey{Algorithm: jose.HS256, Key: der}
	}
	sum := crypto.SHA256.New()
	sum.Write(der)
	if kid := rarely(w, base64.RawURLEncoding.EncodeToString(sum.Sum(nil)), "", "x"); kid != "" {
		sk.Key = jose.JSONWebKey{Key: sk.Key, KeyID: kid}
	}
	s, err := jose.NewSigner(sk, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(s).Claims(c).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// mutate changes one in four tokens.
func (w *tokenWriter) mutate(token string) string {
	if w.IntN(4) > 0 {
		return token
	}
	parts := strings.Split(token, ".")
	b64 := base64.RawURLEncoding
	switch i := w.IntN(len(token)); w.IntN(8) {
	case 0:
		return token[:i]
	case 1:
		return token[:i] + string(pick(w.Rand, 'A', '.', '=', '-', '\n')) + token[i+1:]
	case 2:
		return token[:i] + token[i:i+1] + token[i:]
	case 3:
		return b64.EncodeToString([]byte(pick(w.Rand, `{"alg":"none"}`, `{"alg":"HS256"}`, `{"alg":"ES256"}`, `{"alg":"RS256"}`, `{}`, `{"alg":"RS256","alg":"none"}`))) + "." + parts[1] + "." + pick(w.Rand, "", parts[2])
	case 4:
		return " " + token
	case 5:
		return parts[0] + "." + b64.EncodeToString([]byte(`{"iss":"https://issuer","kubernetes.io":{"namespace":"n","serviceaccount":{"name":"bot","uid":"a1"}}}`)) + "." + parts[2]
	case 6:
		return `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`
	default:
		return strings.Join(parts[:pick(w.Rand, 1, 2)], ".")
	}
}

// TestTokens shows the same made-up tokens to both sides, in a made-up world of objects. Both sides
// must return the same user, or refuse the token with the same message.
func TestTokens(t *testing.T) {
	generate := func(curve elliptic.Curve) crypto.Signer {
		key, err := ecdsa.GenerateKey(curve, crand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	key, err := rsa.GenerateKey(crand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	w := &tokenWriter{Rand: random("tokens"), keys: []crypto.Signer{generate(elliptic.P256()), generate(elliptic.P384()), key, generate(elliptic.P256())}}
	var public []any
	var ourPublic []crypto.PublicKey
	for _, k := range w.keys[:3] {
		public, ourPublic = append(public, k.Public()), append(ourPublic, k.Public())
	}
	keys, err := serviceaccount.StaticPublicKeysGetter(public)
	if err != nil {
		t.Fatal(err)
	}
	ourKeys, err := authn.NewTokenKeys(ourPublic...)
	if err != nil {
		t.Fatal(err)
	}
	issuers, audiences := []string{"https://issuer", "https://old"}, []string{"api", "more"}
	tries, good := times(20_000), 0
	for range tries {
		now := time.Now()
		w.world(now)
		lookup := w.IntN(10) > 0
		legacy, err := serviceaccount.NewLegacyValidator(lookup, w.things, fake.NewSimpleClientset().CoreV1())
		if err != nil {
			t.Fatal(err)
		}
		theirs := union.New(
			serviceaccount.JWTTokenAuthenticator([]string{serviceaccount.LegacyIssuer}, keys, audiences, legacy),
			serviceaccount.JWTTokenAuthenticator(issuers, keys, audiences, serviceaccount.NewValidator(w.things)),
		)
		ours := authn.NewServiceAccounts(authn.ServiceAccountConfig{
			Issuers: issuers, Keys: ourKeys, Audiences: audiences, Trusting: !lookup, Objects: boundOurs{w.things},
		})
		claims := w.claims(now)
		token := w.sign(t, claims)
		if s, ok := w.things["secrets/n/s"].(*corev1.Secret); ok {
			s.Data["token"] = []byte(rarely(w, token, token+"x", ""))
			if w.IntN(2) == 0 { // otherwise both sides write the date of the last use
				s.Labels = map[string]string{authn.LastUsedLabel: now.UTC().Format(time.DateOnly)}
			}
		}
		token = w.mutate(token)
		ctx, asked := t.Context(), []string(nil)
		if w.IntN(3) == 0 {
			asked = []string{pick(w.Rand, "api", "more", "else"), pick(w.Rand, "more", "x")}
			ctx = authenticator.WithAudiences(ctx, asked)
		}
		resp, ok, err := theirs.AuthenticateToken(ctx, token)
		want := "unknown"
		if err != nil {
			want = err.Error()
		} else if ok {
			good++
			want = fmt.Sprint(resp.User.GetName(), resp.User.GetUID(), append(slices.Clone(resp.User.GetGroups()), "system:authenticated"), resp.User.GetExtra(), resp.Audiences)
		}
		for _, again := range []bool{false, true} {
			user, accepted, err := ours.AuthenticateToken(t.Context(), token, asked)
			got := "unknown"
			if err != nil {
				got = err.Error()
			} else if user != nil {
				got = fmt.Sprint(user.Name, user.UID, user.Groups, user.Extra, accepted)
			}
			if got != want && !knownTokenDifference(got, want) {
				t.Errorf("claims %v, asked for %q, again %v:\n\tgot  %s\n\twant %s", claims, asked, again, got, want)
			}
		}
	}
	if good < tries/50 {
		t.Errorf("of %d tokens %d are good, want more", tries, good)
	}
	t.Logf("%d tokens, %d of them good", tries, good)
}

// knownTokenDifference reports whether both refusals mean the same in different words, because
// Kubernetes passes on the errors of its libraries.
func knownTokenDifference(got, want string) bool {
	switch {
	case strings.Contains(want, "json: cannot unmarshal"): // the names of Go types differ
		return strings.Contains(got, "json: cannot unmarshal")
	case strings.HasPrefix(want, "["): // Kubernetes joins the errors of all keys
		return strings.Contains(want, "go-jose/go-jose: error in cryptographic primitive") && strings.Contains(want, got)
	case want == "invalid signature, no keys found": // the algorithm fits no key, so Kubernetes tries none
		return got == "go-jose/go-jose: error in cryptographic primitive"
	}
	return false
}
