package identity

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/filters/authn/jwt"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/server/reload"
)

// The issuers of JWTs, from the flags --oidc-* or from an AuthenticationConfiguration, whose file
// is read again when it changes. newTokens in authenticators.go asks them about tokens.

// issuers authenticates tokens that others have signed: the issuers of an
// AuthenticationConfiguration, which is read again when it changes, or the issuer of the flags.
// Requests read the issuers in force with one atomic load.
type issuers struct {
	log     *zap.Logger
	options jwt.Options
	told    *issuerMetrics
	meter   authn.CacheMeter
	now     atomic.Pointer[cachedIssuers]

	// These are set only with a file, and belong to the loop that follows it.
	file      *reload.File
	anonymous *jwt.Anonymous
	metrics   *reload.Metrics
}

// cachedIssuers are the issuers of one configuration, with a cache of their answers: a new
// configuration begins with an empty cache.
type cachedIssuers struct {
	*jwt.Authenticators
	cache request.TokenAuthenticator
}

// cache wraps a with an empty cache, which remembers valid tokens for goodTime.
func (s *issuers) cache(a *jwt.Authenticators) *cachedIssuers {
	return &cachedIssuers{a, authn.Cached(a, goodTime, 0, s.meter)}
}

const (
	// goodTime is how long a valid token is accepted without being verified again.
	goodTime = 10 * time.Second
	// findTime bounds how long replace waits until all issuers of a new configuration have been
	// reached. The configuration comes into force only after that.
	findTime = time.Minute
	// retireTime is how long the issuers of a replaced configuration are kept, for requests that
	// still use them.
	retireTime = time.Minute
)

// openIssuers returns the issuers that c configures, or nil if there are none. The goroutines that
// it starts with run end with the server, and close the issuers.
func openIssuers(c *Config, run Run, reg prometheus.Registerer, meter authn.CacheMeter,
	log *zap.Logger) (*issuers, error) {
	if c.File == "" && c.OIDC.IssuerURL == "" {
		return nil, nil
	}
	s := &issuers{
		log:     log.Named("issuers"),
		options: jwt.Options{Disallowed: c.ServiceAccounts.Issuers},
		told:    newIssuerMetrics(),
		meter:   meter,
	}
	if err := reg.Register(s.told); err != nil {
		return nil, err
	}
	s.options.Observe, s.options.Keys = s.told.tokenJudged, s.told.keysFetched
	s.options.Failed = func(issuer string, err error) {
		s.log.Warn("cannot reach an issuer of tokens yet", zap.String("issuer", issuer), zap.Error(err))
	}
	if c.File != "" {
		return s, s.openFile(c.File, run, reg)
	}
	config, err := c.OIDC.config()
	if err != nil {
		return nil, err
	}
	s.options.Algorithms = c.OIDC.SigningAlgs
	all, err := jwt.New(config, s.options)
	if err != nil {
		return nil, fmt.Errorf("invalid authentication configuration: %w", err)
	}
	s.now.Store(s.cache(all))
	run(func(ctx context.Context) {
		<-ctx.Done()
		all.Close()
	})
	return s, nil
}

// openFile reads an AuthenticationConfiguration, puts it in force and follows the file. The issuers
// need not be reachable yet: a server must start without them.
func (s *issuers) openFile(file string, run Run, reg prometheus.Registerer) error {
	s.metrics = reload.NewMetrics("authentication")
	err := reg.Register(s.metrics)
	if err != nil {
		return err
	}
	if s.file, err = reload.Read(file); err != nil {
		return err
	}
	config, err := jwt.Read(s.file.Data)
	if err != nil {
		return fmt.Errorf("failed to load authentication configuration from file %q: %w", file, err)
	}
	s.anonymous = config.Anonymous
	all, err := jwt.New(config, s.options)
	if err != nil {
		return fmt.Errorf("invalid authentication configuration: %w", err)
	}
	s.now.Store(s.cache(all))
	s.metrics.InForce(s.file.Data)
	run(func(ctx context.Context) {
		s.follow(ctx, run)
		s.now.Load().Close()
	})
	return nil
}

// AuthenticateToken implements request.TokenAuthenticator.
func (s *issuers) AuthenticateToken(ctx context.Context, token string,
	audiences []string) (*request.User, []string, error) {
	return s.now.Load().cache.AuthenticateToken(ctx, token, audiences)
}

// follow reads the file again when it changes, until ctx ends. A configuration that is invalid, or
// whose issuers cannot be reached, changes nothing.
func (s *issuers) follow(ctx context.Context, run Run) {
	s.file.Follow(ctx, func(ctx context.Context, data []byte) (lasting bool, err error) {
		return s.replace(ctx, run, data)
	}, func(data []byte, err error) {
		s.metrics.Reloaded(data, err)
		if err != nil {
			s.log.Error("cannot use the new authentication configuration; the last one stays in force",
				zap.String("file", s.file.Path), zap.Error(err))
			return
		}
		s.log.Info("read the authentication configuration again", zap.String("file", s.file.Path))
	})
}

// replace puts another configuration in force when its issuers have been reached, and closes the
// old issuers after retireTime. lasting reports that another attempt with the same data would fail,
// too.
func (s *issuers) replace(ctx context.Context, run Run, data []byte) (lasting bool, err error) {
	config, err := jwt.Read(data)
	if err != nil {
		return true, err
	}
	errs := jwt.Validate(config, s.options.Disallowed)
	if !reflect.DeepEqual(config.Anonymous, s.anonymous) {
		errs = append(errs, field.Forbidden(field.NewPath("anonymous"), "changed from initial configuration file"))
	}
	if err := errs.ToAggregate(); err != nil {
		return true, err
	}
	next, err := jwt.New(config, s.options)
	if err != nil {
		return true, err
	}
	bound, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	if err := next.Found(bound); err != nil {
		next.Close()
		return false, err
	}
	before := s.now.Swap(s.cache(next))
	run(func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-time.After(retireTime):
		}
		before.Close()
		for _, issuer := range before.Issuers() {
			if !s.now.Load().Knows(issuer) {
				s.told.forget(issuer)
			}
		}
	})
	return false, nil
}

// config returns the AuthenticationConfiguration that means the same as the flags --oidc-*.
func (c *OIDC) config() (*jwt.Config, error) {
	prefix := c.UsernamePrefix
	switch {
	case prefix == "-":
		prefix = ""
	case prefix == "" && c.UsernameClaim != "email":
		prefix = c.IssuerURL + "#"
	}
	issuer := jwt.Issuer{
		Issuer:        jwt.Source{URL: c.IssuerURL, Audiences: []string{c.ClientID}},
		ClaimMappings: jwt.Mappings{Username: jwt.PrefixedMapping{Claim: c.UsernameClaim, Prefix: &prefix}},
	}
	if c.GroupsClaim != "" {
		issuer.ClaimMappings.Groups = jwt.PrefixedMapping{Claim: c.GroupsClaim, Prefix: &c.GroupsPrefix}
	}
	if c.CAFile != "" {
		ca, err := configfile.Read(c.CAFile)
		if err != nil {
			return nil, err
		}
		issuer.Issuer.CertificateAuthority = string(ca)
	}
	for claim, value := range c.RequiredClaims {
		issuer.ClaimValidationRules = append(issuer.ClaimValidationRules, jwt.ClaimRule{
			Claim:         claim,
			RequiredValue: value,
		})
	}
	return &jwt.Config{JWT: []jwt.Issuer{issuer}}, nil
}
