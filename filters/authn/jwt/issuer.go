package jwt

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file authenticates tokens: New makes an issuer for each entry of the Config and discovers it
// in the background, AuthenticateToken picks the issuer of a token.

// Algorithms are the signature algorithms that a token may have. All are asymmetric.
var Algorithms = []string{
	oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.RS256, oidc.RS384, oidc.RS512,
}

// Options are the parameters of New besides the Config.
type Options struct {
	// Algorithms are the signature algorithms that are accepted; nil: all of the variable
	// Algorithms.
	Algorithms []string
	// Disallowed are issuers whose tokens another authenticator handles, such as that of service
	// accounts.
	Disallowed []string
	// Failed, if set, is called when discovery of an issuer has failed. It will be tried again.
	Failed func(issuer string, err error)
	// Observe, if set, is called for each token of an issuer with the time that authentication took
	// and its error.
	Observe func(issuer string, took time.Duration, err error)
	// Keys, if set, is called for each request for an issuer's keys with the response.
	Keys func(issuer string, keys []byte, err error)
}

// Authenticators authenticate tokens of the issuers in a Config. It is a
// request.TokenAuthenticator.
type Authenticators struct {
	issuers map[string]*issuer
	options Options
	stop    context.CancelFunc
	finding sync.WaitGroup
}

// New makes Authenticators of a Config and begins to discover its issuers. The caller must Close
// them. The error says what is wrong with the Config.
func New(c *Config, o Options) (*Authenticators, error) {
	all, errs := compile(c, o.Disallowed)
	if err := errs.ToAggregate(); err != nil {
		return nil, err
	}
	if o.Algorithms == nil {
		o.Algorithms = Algorithms
	}
	for _, alg := range o.Algorithms {
		if !slices.Contains(Algorithms, alg) {
			return nil, fmt.Errorf("oidc: unsupported signing alg: %q", alg)
		}
	}
	life, stop := context.WithCancel(context.Background())
	a := &Authenticators{issuers: map[string]*issuer{}, options: o, stop: stop}
	for i := range c.JWT {
		it, err := newIssuer(life, &c.JWT[i], all[i], &a.options)
		if err != nil {
			stop()
			return nil, err
		}
		a.issuers[it.Issuer.Issuer.URL] = it
	}
	for _, it := range a.issuers {
		a.finding.Go(func() { it.find(life, o.Failed) })
	}
	return a, nil
}

// Close ends all requests to issuers and waits for the discovery goroutines. AuthenticateToken must
// not be called afterwards.
func (a *Authenticators) Close() {
	a.stop()
	a.finding.Wait()
}

// Found waits until all issuers have been discovered. If ctx ends first, the error names the
// others.
func (a *Authenticators) Found(ctx context.Context) error {
	var errs []error
	for url, it := range a.issuers {
		select {
		case <-it.found:
		case <-ctx.Done():
			errs = append(errs, fmt.Errorf("oidc: authenticator for issuer %q is not initialized: %w", url, ctx.Err()))
		}
	}
	return errors.Join(errs...)
}

// AuthenticateToken implements request.TokenAuthenticator. It ignores the audiences asked for: the
// Config says which audiences tokens must have.
func (a *Authenticators) AuthenticateToken(
	ctx context.Context, token string, _ []string,
) (*request.User, []string, error) {
	it := a.issuers[claimedIssuer(token)]
	if it == nil {
		return nil, nil, nil
	}
	began := time.Now()
	user, err := it.user(ctx, token)
	if a.options.Observe != nil {
		a.options.Observe(it.Issuer.Issuer.URL, time.Since(began), err)
	}
	return user, nil, err
}

// Knows reports whether the tokens of an issuer are handled here.
func (a *Authenticators) Knows(issuer string) bool { return a.issuers[issuer] != nil }

// Issuers returns the issuers whose tokens are handled here, in no order.
func (a *Authenticators) Issuers() []string { return slices.Collect(maps.Keys(a.issuers)) }

// claimedIssuer returns the issuer that a token names, "" if it is no JWT. The signature has not
// been verified.
func claimedIssuer(token string) string {
	parts := strings.SplitN(token, ".", 4)
	if len(parts) != 3 || strings.HasPrefix(strings.TrimSpace(token), "{") {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return ""
	}
	if claims.Issuer == "accounts.google.com" { // the name in older tokens of Google
		return "https://accounts.google.com"
	}
	return claims.Issuer
}

// issuer authenticates the tokens of one issuer.
type issuer struct {
	mapping
	transport *transport
	keys      *keyring // over transport
	config    *oidc.Config
	verifier  atomic.Pointer[oidc.IDTokenVerifier] // nil until the issuer has been discovered
	found     chan struct{}                        // closed when verifier is set
	sources   *sources                             // of the groups claim; nil if groups do not come from a claim
}

// newIssuer makes the issuer of one entry of the Config. Its connections end with life.
func newIssuer(life context.Context, i *Issuer, c *compiled, o *Options) (*issuer, error) {
	if t := i.Issuer.EgressSelectorType; t != "" {
		return nil, fmt.Errorf("oidc: egress lookup required with egress selector type %q", t)
	}
	way, err := newTransport(life, &i.Issuer)
	if err != nil {
		return nil, fmt.Errorf("oidc: issuer %q: %w", i.Issuer.URL, err)
	}
	it := &issuer{
		mapping: mapping{i, c}, transport: way, keys: &keyring{transport: way}, found: make(chan struct{}),
		// verify checks the audiences, because a token may be for any of several.
		config: &oidc.Config{SkipClientIDCheck: true, SupportedSigningAlgs: o.Algorithms},
	}
	if o.Keys != nil {
		it.keys.fetched = func(keys []byte, err error) { o.Keys(i.Issuer.URL, keys, err) }
	}
	if claim := i.ClaimMappings.Groups.Claim; claim != "" {
		it.sources = &sources{claim: claim, issuer: it}
	}
	return it, nil
}

// findEvery is the time between attempts to discover an issuer.
const findEvery = 10 * time.Second

// find discovers the issuer, and tries again until it succeeds or life ends.
func (i *issuer) find(life context.Context, failed func(string, error)) {
	for {
		err := i.discover(life)
		if err == nil || life.Err() != nil {
			return
		}
		if failed != nil {
			failed(i.Issuer.Issuer.URL, errors.New(meta.Excerpt(err.Error())))
		}
		select {
		case <-life.Done():
			return
		case <-time.After(findEvery):
		}
	}
}

// discover fetches the issuer's metadata once.
func (i *issuer) discover(life context.Context) error {
	provider, err := i.keys.discover(life, i.Issuer.Issuer.URL)
	if err != nil {
		return err
	}
	i.verifier.Store(provider.Verifier(i.config))
	close(i.found)
	return nil
}

// user returns the user of a token of this issuer, in three steps:
//
//   - verify the signature, the expiration and the audience;
//   - fetch a distributed groups claim, if the token refers to one;
//   - map the claims to a user.
func (i *issuer) user(ctx context.Context, token string) (*request.User, error) {
	verifier := i.verifier.Load()
	if verifier == nil {
		return nil, errors.New("oidc: authenticator not initialized")
	}
	c, err := i.verify(ctx, verifier, token)
	if err != nil {
		return nil, fmt.Errorf("oidc: verify token: %w", err)
	}
	if i.sources != nil {
		if err := i.sources.expand(ctx, c); err != nil {
			return nil, fmt.Errorf("oidc: could not expand distributed claims: %w", err)
		}
	}
	user, err := i.mapping.user(ctx, c)
	if err != nil {
		return nil, err
	}
	user.Groups = authn.WithAuthenticated(user.Name, user.Groups)
	return user, nil
}

// verify returns the claims of a token that has a valid signature, has not expired, and is for one
// of the issuer's audiences.
func (i *issuer) verify(ctx context.Context, verifier *oidc.IDTokenVerifier, token string) (claims, error) {
	t, err := verifier.Verify(ctx, token)
	if err != nil {
		return nil, errors.New(meta.Excerpt(err.Error())) // cut, because it may contain the issuer's response
	}
	if !slices.ContainsFunc(t.Audience, func(a string) bool { return slices.Contains(i.Issuer.Issuer.Audiences, a) }) {
		return nil, fmt.Errorf("oidc: expected audience in %q", i.Issuer.Issuer.Audiences)
	}
	var c claims
	if err := t.Claims(&c); err != nil {
		return nil, err
	}
	return c, nil
}
