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

// KeySource has the keys that tokens of service accounts are verified with. All methods may be called at once.
type KeySource interface {
	// Keys returns them as they are now: the same TokenKeys until they change.
	Keys() *TokenKeys
	// Find is Keys for who needs one that a token names.
	Find(ctx context.Context, id string) *TokenKeys
	// MaxAge is how long others may keep them.
	MaxAge() time.Duration
}

// TokenKeys are keys that tokens of service accounts are verified with. They never change: they are a KeySource by themselves.
type TokenKeys struct {
	all    []jose.JSONWebKey // public ones, each once
	hidden []bool            // of all: not shown to others
}

// NewTokenKeys makes TokenKeys of public keys: RSA, or ECDSA over P-256, P-384 or P-521.
func NewTokenKeys(keys ...crypto.PublicKey) (*TokenKeys, error) {
	k := &TokenKeys{}
	for _, key := range keys {
		id, err := keyID(key)
		if err != nil {
			return nil, err
		}
		if len(k.all) > 0 && len(k.of(id)) > 0 {
			continue
		}
		if err := k.add(id, key, false); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// add adds a key while they are being made.
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

// of returns the keys that a token which names one may be signed with; with "" all.
func (k *TokenKeys) of(id string) []jose.JSONWebKey {
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

// shown are those that others may verify tokens with.
func (k *TokenKeys) shown() []jose.JSONWebKey {
	shown := []jose.JSONWebKey{}
	for i := range k.all {
		if !k.hidden[i] {
			shown = append(shown, k.all[i])
		}
	}
	return shown
}

// same reports whether others are the same keys by the same names.
func (k *TokenKeys) same(other *TokenKeys) bool {
	return slices.Equal(k.hidden, other.hidden) && slices.EqualFunc(k.all, other.all, func(a, b jose.JSONWebKey) bool {
		key, ok := a.Key.(interface{ Equal(crypto.PublicKey) bool })
		return a.KeyID == b.KeyID && ok && key.Equal(b.Key)
	})
}

// keyID names a key by its hash.
func keyID(key crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("a public key cannot be encoded: %w", err)
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// algorithmOf is what tokens are signed by with a key.
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
