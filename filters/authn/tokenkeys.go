package authn

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// KeySource provides the keys that verify service account tokens. All methods may be called
// concurrently.
type KeySource interface {
	// Keys returns the current keys: the same pointer until they change.
	Keys() *TokenKeys
	// Find returns the current keys for a token that names the key id. It may fetch new keys first.
	Find(ctx context.Context, id string) *TokenKeys
	// MaxAge returns how long clients may cache the published keys.
	MaxAge() time.Duration
}

// TokenKeys are keys that verify service account tokens. They are immutable, and a KeySource by
// themselves.
type TokenKeys struct {
	all    []jose.JSONWebKey // public keys
	hidden []bool            // for each key in all: not published
}

// NewTokenKeys returns the TokenKeys of public keys: RSA, or ECDSA over P-256, P-384 or P-521. A
// repeated key counts once.
func NewTokenKeys(keys ...crypto.PublicKey) (*TokenKeys, error) {
	k := &TokenKeys{}
	for _, key := range keys {
		id, err := keyID(key)
		if err != nil {
			return nil, err
		}
		if len(k.all) > 0 && len(k.withID(id)) > 0 {
			continue
		}
		if err := k.add(id, key, false); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// add adds a key while the TokenKeys are being made.
func (k *TokenKeys) add(id string, key crypto.PublicKey, hidden bool) error {
	alg, err := algorithmOf(key)
	if err != nil {
		return err
	}
	k.all = append(k.all, jose.JSONWebKey{Key: key, KeyID: id, Algorithm: string(alg), Use: "sig"})
	k.hidden = append(k.hidden, hidden)
	return nil
}

// Keys implements KeySource.
func (k *TokenKeys) Keys() *TokenKeys { return k }

// Find implements KeySource.
func (k *TokenKeys) Find(context.Context, string) *TokenKeys { return k }

// MaxAge implements KeySource.
func (k *TokenKeys) MaxAge() time.Duration { return time.Hour }

// withID returns the keys that may have signed a token with this key id: those with the id, or all
// if id is "".
func (k *TokenKeys) withID(id string) []jose.JSONWebKey {
	if id == "" {
		return k.all
	}
	var named []jose.JSONWebKey
	for i := range k.all {
		if k.all[i].KeyID == id {
			named = append(named, k.all[i])
		}
	}
	return named
}

// published returns the keys that are published.
func (k *TokenKeys) published() []jose.JSONWebKey {
	shown := []jose.JSONWebKey{}
	for i := range k.all {
		if !k.hidden[i] {
			shown = append(shown, k.all[i])
		}
	}
	return shown
}

// equal reports whether other has the same keys with the same ids in the same order.
func (k *TokenKeys) equal(other *TokenKeys) bool {
	return slices.Equal(k.hidden, other.hidden) && slices.EqualFunc(k.all, other.all, func(a, b jose.JSONWebKey) bool {
		key, ok := a.Key.(interface{ Equal(crypto.PublicKey) bool })
		return a.KeyID == b.KeyID && ok && key.Equal(b.Key)
	})
}

// keyID returns the id of a key: the hash of its PKIX form, as in kube-apiserver, so that servers
// with the same key agree.
func keyID(key crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("a public key cannot be encoded: %w", err)
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// algorithmOf returns the algorithm by which a key signs tokens.
func algorithmOf(key crypto.PublicKey) (jose.SignatureAlgorithm, error) {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return jose.RS256, nil
	case *ecdsa.PublicKey:
		switch key.Curve {
		case elliptic.P256():
			return jose.ES256, nil
		case elliptic.P384():
			return jose.ES384, nil
		case elliptic.P521():
			return jose.ES512, nil
		}
		return "", errors.New("unknown curve of a key: must be P-256, P-384 or P-521")
	}
	return "", fmt.Errorf("unknown kind of key %T: must be RSA or ECDSA", key)
}
