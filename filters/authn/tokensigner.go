package authn

import (
	"context"
	"crypto"
	"errors"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"

	"github.com/coracle-project/coracle/scheme/meta"
)

// LegacyIssuer is the issuer of tokens in secrets.
const LegacyIssuer = "kubernetes/serviceaccount"

// TokenSigner signs service account tokens of one issuer. All methods may be called concurrently.
type TokenSigner struct {
	issuer string
	sign   func(ctx context.Context, payload []byte) (token string, err error)
}

// NewTokenSigner returns a TokenSigner that signs with key.
func NewTokenSigner(key crypto.Signer, issuer string) (*TokenSigner, error) {
	alg, err := algorithmOf(key.Public())
	if err != nil {
		return nil, err
	}
	id, err := keyID(key.Public())
	if err != nil {
		return nil, err
	}
	signer, err := jose.NewSigner(jose.SigningKey{
		Algorithm: alg, Key: &jose.JSONWebKey{Key: key, KeyID: id, Algorithm: string(alg), Use: "sig"},
	}, nil)
	if err != nil {
		return nil, err
	}
	return &TokenSigner{issuer, func(_ context.Context, payload []byte) (string, error) {
		signed, err := signer.Sign(payload)
		if err != nil {
			return "", err
		}
		return signed.CompactSerialize()
	}}, nil
}

// Signer returns a TokenSigner for tokens of issuer, whose signatures the plugin of s makes.
func (s *ExternalSigner) Signer(issuer string) *TokenSigner { return &TokenSigner{issuer, s.sign} }

// payloadCapture is a jose.Signer that signs nothing and keeps the payload. So jwt's builder makes
// the payload for signers that are not a jose.Signer.
type payloadCapture struct{ taken []byte }

var errCaptured = errors.New("the payload was taken")

// Sign implements jose.Signer.
func (p *payloadCapture) Sign(payload []byte) (*jose.JSONWebSignature, error) {
	p.taken = payload
	return nil, errCaptured
}

// Options implements jose.Signer.
func (p *payloadCapture) Options() jose.SignerOptions { return jose.SignerOptions{} }

// signClaims returns the signed token with private and public claims.
func (s *TokenSigner) signClaims(ctx context.Context, private any, public jwt.Claims) (string, error) {
	var p payloadCapture
	said := struct {
		jwt.Claims
		Audience []string `json:"aud,omitempty"` // a list even for one audience, because some verifiers read only lists
	}{public, public.Audience}
	if _, err := jwt.Signed(&p).Claims(private).Claims(said).Serialize(); !errors.Is(err, errCaptured) {
		return "", err
	}
	return s.sign(ctx, p.taken)
}

// BoundToken is the content of a service account token that TokenRequest issues.
type BoundToken struct {
	Namespace string
	Account   Ref
	// Pod, Secret or Node is the object that the token is bound to. With a Pod, Node is the node
	// where it runs, and may have no UID.
	Pod, Secret, Node *Ref
	Audiences         []string
	// Issued is the time from which the token is valid, and Lasts how long. If WarnAfter is not 0,
	// uses later than that after Issued are counted as stale (UsedStale).
	Issued           time.Time
	Lasts, WarnAfter time.Duration
}

// Ref identifies one object in a token.
type Ref struct {
	Name string   `json:"name,omitempty"`
	UID  meta.UID `json:"uid,omitempty"`
}

// boundClaims are the private claims of a bound token.
type boundClaims struct {
	Kubernetes struct {
		Namespace string           `json:"namespace,omitempty"`
		Account   Ref              `json:"serviceaccount,omitempty"`
		Pod       *Ref             `json:"pod,omitempty"`
		Secret    *Ref             `json:"secret,omitempty"`
		Node      *Ref             `json:"node,omitempty"`
		WarnAfter *jwt.NumericDate `json:"warnafter,omitempty"`
	} `json:"kubernetes.io,omitempty"`
}

// legacyClaims are the private claims of a legacy token.
type legacyClaims struct {
	Account   string   `json:"kubernetes.io/serviceaccount/service-account.name"`
	UID       meta.UID `json:"kubernetes.io/serviceaccount/service-account.uid"`
	Secret    string   `json:"kubernetes.io/serviceaccount/secret.name"`
	Namespace string   `json:"kubernetes.io/serviceaccount/namespace"`
}

// Sign returns a token, and its credential id, which appears in the user's extra (CredentialID)
// wherever the token is used.
func (s *TokenSigner) Sign(ctx context.Context, t *BoundToken) (token, credential string, err error) {
	var private boundClaims
	k := &private.Kubernetes
	k.Namespace, k.Account, k.Pod, k.Secret, k.Node = t.Namespace, t.Account, t.Pod, t.Secret, t.Node
	if t.WarnAfter != 0 {
		k.WarnAfter = jwt.NewNumericDate(t.Issued.Add(t.WarnAfter))
	}
	id := uuid.NewString()
	token, err = s.signClaims(ctx, private, jwt.Claims{
		Issuer: s.issuer, Subject: accountName(t.Namespace, t.Account.Name), Audience: t.Audiences, ID: id,
		IssuedAt: jwt.NewNumericDate(t.Issued), NotBefore: jwt.NewNumericDate(t.Issued),
		Expiry: jwt.NewNumericDate(t.Issued.Add(t.Lasts)),
	})
	return token, credentialPrefix + id, err
}

// SignLegacy returns a legacy token, to be stored in a secret. It has no expiration.
func (s *TokenSigner) SignLegacy(ctx context.Context, namespace string, account Ref, secret string) (string, error) {
	return s.signClaims(ctx, legacyClaims{
		Account: account.Name, UID: account.UID, Secret: secret, Namespace: namespace,
	}, jwt.Claims{Issuer: s.issuer, Subject: accountName(namespace, account.Name)})
}
