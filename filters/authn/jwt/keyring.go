package jwt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	jose "github.com/go-jose/go-jose/v4"
)

// keysEvery is the time between requests for the keys of an issuer: whoever sends a token with an unknown key makes one.
const keysEvery = time.Second

// keyring is the way to one issuer and its keys. go-oidc asks for these again whenever a token names one that it does not know; a keyring
// bounds how often, and tells of what comes.
type keyring struct {
	*transport
	fetched func(keys []byte, err error) // may be nil

	mu   sync.Mutex
	at   string    // where the keys are; "" until that is known
	next time.Time // when they may be asked for
}

// discover finds an issuer, whose keys come by way of k from then on.
func (k *keyring) discover(ctx context.Context, issuer string) (*oidc.Provider, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, &http.Client{Transport: k}), issuer)
	if err != nil {
		return nil, err
	}
	var says struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&says); err != nil {
		return nil, err
	}
	if says.Keys == "" {
		return nil, errors.New("provider did not return JWKS URL")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at = says.Keys
	return provider, nil
}

// RoundTrip implements http.RoundTripper.
func (k *keyring) RoundTrip(r *http.Request) (*http.Response, error) {
	k.mu.Lock()
	if r.URL.String() != k.at {
		k.mu.Unlock()
		return k.transport.RoundTrip(r)
	}
	now := time.Now()
	wait := max(k.next.Sub(now), 0)
	k.next = now.Add(wait + keysEvery)
	k.mu.Unlock()
	if err := k.pause(r.Context(), wait); err != nil {
		return nil, err
	}
	resp, keys, err := k.fetch(r)
	if k.fetched != nil {
		k.fetched(keys, err)
	}
	if resp == nil {
		return nil, err
	}
	return resp, nil // go-oidc finds out by itself what is wrong with it
}

// pause waits until the keys may be asked for.
func (k *keyring) pause(ctx context.Context, wait time.Duration) error {
	if wait == 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-k.life.Done():
		return k.life.Err()
	}
}

// fetch returns the answer, which can still be read, and the keys in it, if those they are.
func (k *keyring) fetch(r *http.Request) (*http.Response, []byte, error) {
	resp, err := k.transport.RoundTrip(r)
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	if resp.StatusCode != http.StatusOK {
		return resp, nil, fmt.Errorf("the issuer answered %s", resp.Status)
	}
	return resp, text, json.Unmarshal(text, new(jose.JSONWebKeySet))
}
