package authn

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json" // as strict as the rest of it: names as they are spelt, and each once
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file authenticates service account tokens. AuthenticateToken finds the token's claims,
// remembered or verified, and then checks audiences (acceptedAudiences) and validity (checkValid).
// legacytoken.go has what differs for tokens in secrets, tokensigner.go makes tokens, tokenkeys.go
// has the keys.

// Objects gives access to the objects that tokens are bound to. It is safe for concurrent use.
type Objects interface {
	// Object returns a handle for an object of the core group, which need not exist.
	Object(resource, namespace, name string) Object
	// Used records the day on which the token in a secret was used, "2006-01-02".
	Used(ctx context.Context, namespace, secret, day string)
}

// Object is a handle for one object. It is safe for concurrent use.
type Object interface {
	// Get returns the current state of the object. If the object does not exist, the error tells
	// the client so. Get allocates only if the object has changed since the last call.
	Get(ctx context.Context) (*ObjectState, error)
}

// ObjectState is the part of an object that tokens depend on. It is shared and must not be changed.
type ObjectState struct {
	UID     meta.UID
	Deleted time.Time // when its deletion is due; zero if it is not being deleted
	// Secrets are the names of the secrets that a service account lists.
	Secrets []string
	// Token is the token in a secret. InvalidSince and LastUsed are days, from the secret's labels.
	Token, InvalidSince, LastUsed string
}

// ServiceAccountConfig is the configuration of ServiceAccounts.
type ServiceAccountConfig struct {
	// Issuers are the issuers whose tokens are accepted, in addition to LegacyIssuer.
	Issuers []string
	Keys    KeySource
	// Audiences are the server's own: those of a token that names none, and those required if none
	// is asked for.
	Audiences []string
	// Trusting accepts legacy tokens without looking up their secrets and service accounts.
	Trusting bool
	Objects  Objects
	// Note, if set, is called for each use of a token that metrics count.
	Note func(TokenUse)
	now  func() time.Time // nil: time.Now
}

// TokenUse is a use of a token that an operator may want to know of.
type TokenUse int

// The uses.
const (
	UsedLegacy      TokenUse = iota // the token names no audience
	UsedStale                       // the token is past its nominal end; the client should have replaced it
	UsedExtended                    // the token is valid for longer than the client asked for
	UsedAutomatic                   // a legacy token, in a secret that was made for the service account
	UsedManual                      // a legacy token, in a secret that a user made
	UsedInvalidated                 // a legacy token, in a secret that has been marked invalid
)

// ServiceAccounts authenticates service accounts by their tokens: JWTs signed with one of its keys,
// by one of its issuers.
//
// After a signature has been verified, the claims are remembered by the token's hash, for
// verifiedAgain or until the keys change. Times, audiences and the objects that the token is bound
// to are checked at each use. So a token becomes invalid with its pod, even if it has just been
// used.
type ServiceAccounts struct {
	cfg      ServiceAccountConfig
	verified remembered[*accountToken]
}

// accountToken is what is remembered of a token with a valid signature.
type accountToken struct {
	keys      *TokenKeys // the key set that verified it; a token is verified again under another set
	user      *request.User
	audiences []string // none: the server's own
	subject   string
	from, to  time.Time // zero: unlimited
	issued    time.Time
	warnAfter time.Time
	account   bound
	bound     []bound // further objects that must exist
	legacy    *legacyToken
}

// bound is an object that a token is bound to, with the UID that the token names.
type bound struct {
	Object
	kind string // in errors
	ref  Ref    // for a service account, Name is NAMESPACE/NAME
}

// leeway is the difference between clocks that is tolerated.
const leeway = jwt.DefaultLeeway

// verifiedAgain is the time after which a signature is verified again.
const verifiedAgain = 10 * time.Minute

// algorithms are the signature algorithms that are accepted. All are asymmetric: with HMAC, anybody
// with the public key could sign.
var algorithms = []jose.SignatureAlgorithm{
	jose.ES256, jose.ES384, jose.ES512, jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
}

// NewServiceAccounts returns a ServiceAccounts for cfg.
func NewServiceAccounts(cfg ServiceAccountConfig) *ServiceAccounts {
	if cfg.now == nil {
		cfg.now = time.Now
	}
	s := &ServiceAccounts{cfg: cfg}
	s.verified.now = cfg.now
	return s
}

// AuthenticateToken implements request.TokenAuthenticator. A token of an unknown issuer is left to
// other authenticators, without an error. A remembered token counts only if the current key set has
// verified it.
func (s *ServiceAccounts) AuthenticateToken(
	ctx context.Context, token string, audiences []string,
) (*request.User, []string, error) {
	if strings.Count(token, ".") != 2 {
		return nil, nil, nil
	}
	key := digestOf(token, nil)
	var t *accountToken
	if a, ok := s.verified.find(key); ok && a.value.keys == s.cfg.Keys.Keys() {
		t = a.value
	} else if s.isForeign(token) {
		return nil, nil, nil
	} else {
		var err error
		t, err = s.verified.ask(ctx, key, func(ctx context.Context) answer[*accountToken] {
			t, err := s.verify(ctx, token)
			if t == nil || err != nil {
				return answer[*accountToken]{err: err}
			}
			return answer[*accountToken]{value: t, good: true, keep: verifiedAgain, size: sizeOf(t.user) + 4*len(token)}
		})
		if t == nil || err != nil {
			return nil, nil, err
		}
	}
	accepted, err := s.acceptedAudiences(ctx, t, audiences)
	if err != nil {
		return nil, nil, err
	}
	if err := s.checkValid(ctx, t, token); err != nil {
		return nil, nil, err
	}
	return t.user, accepted, nil
}

// acceptedAudiences returns those of the asked audiences that the token is meant for; an error if
// there is none.
func (s *ServiceAccounts) acceptedAudiences(ctx context.Context, t *accountToken, asked []string) ([]string, error) {
	of := t.audiences
	if len(of) == 0 {
		of = s.cfg.Audiences
		s.note(ctx, UsedLegacy, "authentication.k8s.io/legacy-token", t.subject)
	}
	if len(asked) == 0 {
		asked = s.cfg.Audiences
	}
	accepted := commonAudiences(asked, of)
	if len(accepted) == 0 && len(s.cfg.Audiences) > 0 {
		return nil, fmt.Errorf("token audiences %q is invalid for the target audiences %q", of, asked)
	}
	return accepted, nil
}

// checkValid returns why a token is not valid at this moment, nil if it is. An object that is being
// deleted keeps its tokens valid until its deletion is due, and leeway longer. A valid token whose
// lifetime was extended is counted; past its nominal end, the audit record also says so. The text
// of the token is compared only with the secret of a legacy token.
func (s *ServiceAccounts) checkValid(ctx context.Context, t *accountToken, token string) error {
	if t.legacy != nil {
		return s.checkLegacyValid(ctx, t, token)
	}
	now := s.cfg.now()
	switch {
	case now.Add(leeway).Before(t.from):
		return errNotYet
	case !t.to.IsZero() && now.Add(-leeway).After(t.to):
		return errExpired
	case now.Add(leeway).Before(t.issued):
		return errFuture
	}
	account, err := t.account.Get(ctx)
	switch {
	case err != nil:
		return err
	case account.UID != t.account.ref.UID:
		return fmt.Errorf("service account UID (%s) does not match claim (%s)", account.UID, t.account.ref.UID)
	case account.deletedBefore(now.Add(-leeway)):
		return fmt.Errorf("service account %s has been deleted", t.account.ref.Name)
	}
	for i := range t.bound {
		b := &t.bound[i]
		state, err := b.Get(ctx)
		switch {
		case err != nil:
			return errInvalidated
		case state.UID != b.ref.UID:
			return fmt.Errorf(
				"%s UID (%s) does not match service account %s ref claim (%s)", b.kind, state.UID, b.kind, b.ref.UID,
			)
		case state.deletedBefore(now.Add(-leeway)):
			return errInvalidated
		}
	}
	if !t.warnAfter.IsZero() {
		if now.After(t.warnAfter) {
			text := fmt.Sprintf(
				"subject: %s, seconds after warning threshold: %d", t.subject, now.Unix()-t.warnAfter.Unix(),
			)
			s.note(ctx, UsedStale, "authentication.k8s.io/stale-token", text)
		} else {
			s.note(ctx, UsedExtended, "", "")
		}
	}
	return nil
}

var (
	errNotYet      = errors.New("service account token is not valid yet")
	errExpired     = errors.New("service account token has expired")
	errFuture      = errors.New("service account token is issued in the future")
	errInvalidated = errors.New("service account token has been invalidated")
)

// deletedBefore reports whether the object's deletion was due before t.
func (o *ObjectState) deletedBefore(t time.Time) bool {
	return !o.Deleted.IsZero() && o.Deleted.Before(t)
}

// note counts a use and, if key is not "", adds an annotation to the request's audit record.
func (s *ServiceAccounts) note(ctx context.Context, use TokenUse, key, text string) {
	if s.cfg.Note != nil {
		s.cfg.Note(use)
	}
	if key == "" {
		return
	}
	if info := request.From(ctx); info != nil {
		info.Annotate(key, text)
	}
}

// claims are all claims of a token that are read.
type claims struct {
	jwt.Claims
	boundClaims
	legacyClaims
}

// isForeign reports whether a token is certainly not of a known issuer, because no known issuer's
// name occurs in its payload. The check costs less than parsing the token, and unauthenticated
// clients can send any number of tokens. A payload with escapes may hide a name, so isForeign
// returns false for it and verify decides.
func (s *ServiceAccounts) isForeign(token string) bool {
	_, rest, _ := strings.Cut(token, ".")
	text, _, _ := strings.Cut(rest, ".")
	var space [1024]byte
	said, err := base64.RawURLEncoding.AppendDecode(space[:0], []byte(text))
	if err != nil || bytes.IndexByte(said, '\\') >= 0 || bytes.Contains(said, []byte(LegacyIssuer)) {
		return false
	}
	return !slices.ContainsFunc(s.cfg.Issuers, func(issuer string) bool { return bytes.Contains(said, []byte(issuer)) })
}

// verify returns what is to be remembered of a token if its signature is valid. It returns nil and
// no error if the token cannot be parsed or its issuer is unknown. It parses the claims first,
// because verifying a signature takes longer than parsing. Before the signature is verified, it
// uses only the issuer and the key id, and does not report that other claims are unreadable.
func (s *ServiceAccounts) verify(ctx context.Context, token string) (*accountToken, error) {
	if strings.ContainsAny(token, " \t\r\n") { // such as the line break at the end of a file
		token = strings.Join(strings.Fields(token), "")
	}
	parsed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, s.unverifiable(token, err)
	}
	payload := parsed.UnsafePayloadWithoutVerification()
	if !s.namesKnownIssuer(payload) {
		return nil, nil
	}
	var c claims
	unreadable := json.Unmarshal(payload, &c)
	id := parsed.Signatures[0].Header.KeyID
	from := s.cfg.Keys.Find(ctx, id)
	keys := from.withID(id)
	if len(keys) == 0 {
		return nil, errors.New("invalid signature, no keys found")
	}
	if !slices.ContainsFunc(keys, func(k jose.JSONWebKey) bool { _, err := parsed.Verify(k.Key); return err == nil }) {
		return nil, jose.ErrCryptoFailure
	}
	if unreadable != nil {
		return nil, unreadable
	}
	var t *accountToken
	if c.Issuer == LegacyIssuer {
		t = s.legacyToken(&c.Claims, &c.legacyClaims)
	} else {
		t = s.boundToken(&c.Claims, &c.boundClaims)
	}
	t.keys = from
	return t, nil
}

// namesKnownIssuer reports whether a payload names a known issuer, even if other claims cannot be
// parsed: tokens of other issuers may have any form.
func (s *ServiceAccounts) namesKnownIssuer(payload []byte) bool {
	var said struct {
		Issuer string `json:"iss"`
	}
	_ = json.Unmarshal(payload, &said)
	return said.Issuer == LegacyIssuer || slices.Contains(s.cfg.Issuers, said.Issuer)
}

// unverifiable returns the error for a token that cannot be parsed because of err. It is nil, which
// leaves the token to other authenticators, unless the token names a known issuer and is signed by
// an algorithm that is not accepted.
func (s *ServiceAccounts) unverifiable(token string, err error) error {
	var odd *jose.ErrUnexpectedSignatureAlgorithm
	if !errors.As(err, &odd) {
		return nil
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil || !s.namesKnownIssuer(payload) {
		return nil
	}
	return jose.ErrCryptoFailure
}

// boundToken returns what is remembered of a bound token, from its claims.
func (s *ServiceAccounts) boundToken(public *jwt.Claims, private *boundClaims) *accountToken {
	k := &private.Kubernetes
	t := &accountToken{
		user: accountUser(k.Namespace, k.Account), audiences: public.Audience, subject: public.Subject,
		from: public.NotBefore.Time(), to: public.Expiry.Time(), issued: public.IssuedAt.Time(),
		account: bound{
			Object: s.cfg.Objects.Object("serviceaccounts", k.Namespace, k.Account.Name),
			ref:    Ref{k.Namespace + "/" + k.Account.Name, k.Account.UID},
		},
	}
	if k.WarnAfter != nil && *k.WarnAfter != 0 {
		t.warnAfter = k.WarnAfter.Time()
	}
	if k.Secret != nil {
		t.bound = append(
			t.bound, bound{s.cfg.Objects.Object("secrets", k.Namespace, k.Secret.Name), "secret", *k.Secret},
		)
	}
	extra := map[string][]string{}
	if k.Pod != nil {
		t.bound = append(t.bound, bound{s.cfg.Objects.Object("pods", k.Namespace, k.Pod.Name), "pod", *k.Pod})
		if k.Pod.Name != "" && k.Pod.UID != "" {
			extra["authentication.kubernetes.io/pod-name"] = []string{k.Pod.Name}
			extra["authentication.kubernetes.io/pod-uid"] = []string{string(k.Pod.UID)}
		}
	}
	if public.ID != "" {
		extra[CredentialID] = []string{credentialPrefix + public.ID}
	}
	if k.Node != nil {
		if k.Pod == nil {
			t.bound = append(t.bound, bound{s.cfg.Objects.Object("nodes", "", k.Node.Name), "node", *k.Node})
		}
		if k.Node.Name != "" {
			extra[request.ExtraNodeName] = []string{k.Node.Name}
			if k.Node.UID != "" {
				extra["authentication.kubernetes.io/node-uid"] = []string{string(k.Node.UID)}
			}
		}
	}
	if len(extra) > 0 {
		t.user.Extra = extra
	}
	return t
}

// credentialPrefix begins the credential id of a JWT, which its claim jti follows.
const credentialPrefix = "JTI="

// accountPrefix begins the user names of service accounts.
const accountPrefix = "system:serviceaccount:"

// accountName returns the user name of a service account, which is also the subject of its tokens.
func accountName(namespace, name string) string { return accountPrefix + namespace + ":" + name }

// accountUser returns the user of a service account.
func accountUser(namespace string, account Ref) *request.User {
	name := accountName(namespace, account.Name)
	return &request.User{
		Name: name, UID: string(account.UID),
		Groups: WithAuthenticated(name, []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}),
	}
}
