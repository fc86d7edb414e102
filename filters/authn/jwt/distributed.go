package jwt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
)

// maxSources is the number of further issuers whose verifiers are remembered. More would mean that
// an issuer sends its clients to ever new ones.
const maxSources = 16

// sources find a claim that the token does not contain, but for which it names another server: a
// distributed claim (OpenID Connect Core 1.0, section 5.6.2). That server answers with another
// token, which contains the claim and is verified like the first one.
//
// Example: the payload has "_claim_names": {"groups": "src"} and "_claim_sources": {"src":
// {"endpoint": "https://...", "access_token": "..."}}.
type sources struct {
	claim  string
	issuer *issuer

	mu        sync.Mutex
	verifiers map[string]*oidc.IDTokenVerifier // by issuer; at most maxSources
}

// claimEndpoint is where a claim can be fetched.
type claimEndpoint struct {
	URL         string `json:"endpoint"`
	AccessToken string `json:"access_token"`
}

// expand fetches the claim and adds it to c, if c does not have it and says where it is. Otherwise
// it leaves c as it is, without an error.
func (s *sources) expand(ctx context.Context, c claims) error {
	if c[s.claim] != nil || c["_claim_names"] == nil {
		return nil
	}
	var names map[string]string
	if err := c.read("_claim_names", &names); err != nil {
		return fmt.Errorf("oidc: error parsing distributed claim names: %w", err)
	}
	var endpoints map[string]claimEndpoint
	if err := c.read("_claim_sources", &endpoints); err != nil {
		return fmt.Errorf("oidc: could not parse claim sources: %w", err)
	}
	name, ok := names[s.claim]
	if !ok {
		return nil
	}
	from, ok := endpoints[name]
	if !ok {
		return fmt.Errorf("id token _claim_names contained a source %s missing in _claims_sources", name)
	}
	if from.URL == "" { // an aggregated claim, which is inside the token: not supported, as in kube-apiserver
		return nil
	}
	value, err := s.ask(ctx, from)
	if err != nil {
		return fmt.Errorf("while getting distributed claim %q: %w", s.claim, err)
	}
	c[s.claim] = value
	return nil
}

// ask fetches the token at from, verifies it, and returns its claim.
func (s *sources) ask(ctx context.Context, from claimEndpoint) (json.RawMessage, error) {
	token, err := s.fetch(ctx, from)
	if err != nil {
		return nil, err
	}
	verifier, err := s.verifier(ctx, claimedIssuer(token))
	if err != nil {
		return nil, err
	}
	c, err := s.issuer.verify(ctx, verifier, token)
	if err != nil {
		return nil, fmt.Errorf("verify distributed claim token: %w", err)
	}
	value, ok := c[s.claim]
	if !ok {
		return nil, errors.New("the token does not contain the claim")
	}
	return value, nil
}

// client returns an HTTP client with the issuer's transport.
func (s *sources) client() *http.Client { return &http.Client{Transport: s.issuer.transport} }

// fetch returns the token at from.
func (s *sources) fetch(ctx context.Context, from claimEndpoint) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from.URL, nil)
	if err != nil {
		return "", errors.New("the claim's source has no valid URL")
	}
	if from.AccessToken != "" {
		r.Header.Set("Authorization", "Bearer "+from.AccessToken)
	}
	resp, err := s.client().Do(r)
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return "", e.Err // without the URL, which may contain a secret
	}
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return "", fmt.Errorf("error while getting distributed claim JWT: %v", resp.Status)
	}
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// verifier returns the verifier for the tokens of an issuer. A new issuer is discovered first.
func (s *sources) verifier(ctx context.Context, issuer string) (*oidc.IDTokenVerifier, error) {
	s.mu.Lock()
	v := s.verifiers[issuer]
	s.mu.Unlock()
	if v != nil {
		return v, nil
	}
	provider, err := (&keyring{transport: s.issuer.transport}).discover(ctx, issuer)
	if err != nil {
		return nil, fmt.Errorf("verifier not initialized for issuer: %q: %w", issuer, err)
	}
	v = provider.Verifier(s.issuer.config)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.verifiers) >= maxSources || s.verifiers == nil {
		s.verifiers = map[string]*oidc.IDTokenVerifier{}
	}
	s.verifiers[issuer] = v
	return v, nil
}
