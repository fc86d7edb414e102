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

// LegacyIssuer is who has issued the tokens that stand in secrets.
const LegacyIssuer = "kubernetes/serviceaccount"

// TokenSigner signs tokens of service accounts. All methods may be called at once.
type TokenSigner struct {
	issuer string
	sign   func(ctx context.Context, payload []byte) (token string, err error)
}

// NewTokenSigner makes a TokenSigner for an issuer.
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

// Signer returns the TokenSigner of an issuer that has s sign.
func (s *ExternalSigner) Signer(issuer string) *TokenSigner { return &TokenSigner{issuer, s.sign} }

// payloads is a jose.Signer that signs nothing: it takes what there is to sign.
type payloads struct{ taken []byte }

var errTaken = errors.New("the payload was taken")

// Sign implements jose.Signer.
func (p *payloads) Sign(payload []byte) (*jose.JSONWebSignature, error) {
	p.taken = payload
	return nil, errTaken
}

// Options implements jose.Signer.
func (p *payloads) Options() jose.SignerOptions { return jose.SignerOptions{} }

// signClaims signs what a token says.
func (s *TokenSigner) signClaims(ctx context.Context, private any, public jwt.Claims) (string, error) {
	var p payloads
	said := struct {
		jwt.Claims
		Audience []string `json:"aud,omitempty"` // a list, also of one: some who read it know no other form
	}{public, public.Audience}
	if _, err := jwt.Signed(&p).Claims(private).Claims(said).Serialize(); !errors.Is(err, errTaken) {
		return "", err
	}
	return s.sign(ctx, p.taken)
}

// BoundToken is what a token of a service account says.
type BoundToken struct {
	Namespace string
	Account   Ref
	// Pod, Secret or Node is what the token is bound to. With a pod, Node is where that runs, and may have no UID.
	Pod, Secret, Node *Ref
	Audiences         []string
	// Issued is when it begins to be good, and Lasts how long it is. Whoever uses it after WarnAfter, if that is not 0, has it
	// noted that they should have got another.
	Issued           time.Time
	Lasts, WarnAfter time.Duration
}

// Ref names one object.
type Ref struct {
	Name string   `json:"name,omitempty"`
	UID  meta.UID `json:"uid,omitempty"`
}

// boundClaims are the claims of a token beside those that all have.
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

// legacyClaims are the same of a token that stands in a secret.
type legacyClaims struct {
	Account   string   `json:"kubernetes.io/serviceaccount/service-account.name"`
	UID       meta.UID `json:"kubernetes.io/serviceaccount/service-account.uid"`
	Secret    string   `json:"kubernetes.io/serviceaccount/secret.name"`
	Namespace string   `json:"kubernetes.io/serviceaccount/namespace"`
}

// Sign returns a token, and the id that it is known by wherever it is used.
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
		IssuedAt: jwt.NewNumericDate(t.Issued), NotBefore: jwt.NewNumericDate(t.Issued), Expiry: jwt.NewNumericDate(t.Issued.Add(t.Lasts)),
	})
	return token, credentialPrefix + id, err
}

// SignLegacy returns the token that stands in a secret. It never ends by itself.
func (s *TokenSigner) SignLegacy(ctx context.Context, namespace string, account Ref, secret string) (string, error) {
	return s.signClaims(ctx, legacyClaims{Account: account.Name, UID: account.UID, Secret: secret, Namespace: namespace},
		jwt.Claims{Issuer: s.issuer, Subject: accountName(namespace, account.Name)})
}
