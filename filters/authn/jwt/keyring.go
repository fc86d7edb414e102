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

// keysEvery is the shortest time between two requests for an issuer's keys. Without it, every token
// with an unknown key would cause one.
const keysEvery = time.Second

// keyring is the http.RoundTripper to one issuer and its keys. go-oidc fetches the keys whenever a
// token names an unknown one; the keyring spaces these requests out and reports their responses.
//
// The field at is empty until discovery, so the first request for metadata does not wait. RoundTrip
// gives each later request for keys a time of its own, keysEvery after the time of the request
// before, and the request waits for that time.
type keyring struct {
	*transport
	fetched func(keys []byte, err error) // may be nil

	mu   sync.Mutex
	at   string    // URL of the keys; "" until discovered
	next time.Time // earliest time of the next request for keys
}

// discover fetches the issuer's metadata and remembers the URL of its keys.
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

// RoundTrip implements http.RoundTripper. A request for the keys waits for its turn; other requests
// pass.
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
	return resp, nil // go-oidc checks the response itself
}

// pause waits, unless the request or the Authenticators end first.
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

// fetch returns the response, whose body can still be read, and the keys in it. The error says why
// the response contains none.
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
