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

// Objects finds the objects that tokens stand and fall with. It is safe for concurrent use.
type Objects interface {
	// Object returns what tells of an object of the core group, which need not exist, again and again.
	Object(resource, namespace, name string) Object
	// Used takes note of the day on which the token in a secret has been used.
	Used(ctx context.Context, namespace, secret, day string)
}

// Object tells of one object. It is safe for concurrent use.
type Object interface {
	// Get returns the object as it is now. The error tells clients why there is none. It allocates nothing unless the object has
	// changed.
	Get(ctx context.Context) (*ObjectState, error)
}

// ObjectState is what tokens go by of an object. It is shared, and must not be changed.
type ObjectState struct {
	UID     meta.UID
	Deleted time.Time // when its deletion is due; zero if it is not being deleted
	// Secrets are the names of the secrets of a service account.
	Secrets []string
	// Token stands in a secret. InvalidSince and LastUsed are days, from its labels.
	Token, InvalidSince, LastUsed string
}

// ServiceAccountConfig is what service accounts are known by.
type ServiceAccountConfig struct {
	// Issuers are accepted. Tokens that stand in secrets are accepted beside.
	Issuers []string
	Keys    KeySource
	// Audiences are the server's own: what a token is for that names none, and what is asked for if nothing is.
	Audiences []string
	// Trusting does without the objects that tokens of secrets are bound to.
	Trusting bool
	Objects  Objects
	// Note is told of each use of a token that one might want to count; may be nil.
	Note func(TokenUse)
	now  func() time.Time // nil: time.Now
}

// TokenUse is a use of a token that those who run the server might want to know of.
type TokenUse int

// The uses.
const (
	UsedLegacy      TokenUse = iota // it names no audience
	UsedStale                       // it should have been replaced by now, and is good for a while
	UsedExtended                    // it is good for longer than was asked for, and should be replaced in time
	UsedAutomatic                   // it stands in a secret that was made for the account
	UsedManual                      // it stands in a secret that somebody made
	UsedInvalidated                 // it stands in a secret that has been marked invalid
)

// ServiceAccounts knows service accounts by their tokens: JWTs that this server or another of its issuers has signed.
//
// A signature is verified once; what the token says is remembered by its hash. Whether it is good now is judged at each use: its times,
// its audiences, and the objects that it is bound to. So a token ends with its pod, whoever has used it before.
type ServiceAccounts struct {
	cfg   ServiceAccountConfig
	known remembered[*accountToken]
}

// accountToken is a token whose signature holds.
type accountToken struct {
	keys      *TokenKeys // among which was the one that it is signed with
	user      *request.User
	audiences []string // none: the server's
	subject   string
	from, to  time.Time // zero: for ever
	issued    time.Time
	warnAfter time.Time
	account   bound
	bound     []bound // more objects that must be there
	legacy    *legacyToken
}

// bound is an object that a token is bound to.
type bound struct {
	Object
	kind string // as errors call it
	ref  Ref    // of an account, by namespace and name
}

// leeway is how much clocks may differ.
const leeway = jwt.DefaultLeeway

// verifiedAgain is how long a signature is known to hold.
const verifiedAgain = 10 * time.Minute

// algorithms are those that tokens may be signed by. There is none without a key pair: nobody can sign with what is public.
var algorithms = []jose.SignatureAlgorithm{
	jose.ES256, jose.ES384, jose.ES512, jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
}

// NewServiceAccounts makes a ServiceAccounts.
func NewServiceAccounts(cfg ServiceAccountConfig) *ServiceAccounts {
	if cfg.now == nil {
		cfg.now = time.Now
	}
	s := &ServiceAccounts{cfg: cfg}
	s.known.now = cfg.now
	return s
}

// AuthenticateToken returns the service account that token stands for, if it is one of a known issuer.
func (s *ServiceAccounts) AuthenticateToken(ctx context.Context, token string, audiences []string) (*request.User, []string, error) {
	if strings.Count(token, ".") != 2 {
		return nil, nil, nil
	}
	key := digestOf(token, nil)
	var t *accountToken
	if a, ok := s.known.find(key); ok && a.value.keys == s.cfg.Keys.Keys() {
		t = a.value
	} else if s.foreign(token) {
		return nil, nil, nil
	} else {
		var err error
		t, err = s.known.ask(ctx, key, func(ctx context.Context) answer[*accountToken] {
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
	accepted, err := s.accept(ctx, t, audiences)
	if err != nil {
		return nil, nil, err
	}
	if err := s.hold(ctx, t, token); err != nil {
		return nil, nil, err
	}
	return t.user, accepted, nil
}

// accept returns what the token is accepted for of what is asked.
func (s *ServiceAccounts) accept(ctx context.Context, t *accountToken, asked []string) ([]string, error) {
	of := t.audiences
	if len(of) == 0 {
		of = s.cfg.Audiences
		s.note(ctx, UsedLegacy, "authentication.k8s.io/legacy-token", t.subject)
	}
	if len(asked) == 0 {
		asked = s.cfg.Audiences
	}
	accepted := meant(asked, of)
	if len(accepted) == 0 && len(s.cfg.Audiences) > 0 {
		return nil, fmt.Errorf("token audiences %q is invalid for the target audiences %q", of, asked)
	}
	return accepted, nil
}

// hold returns why a token does not hold now.
func (s *ServiceAccounts) hold(ctx context.Context, t *accountToken, token string) error {
	if t.legacy != nil {
		return s.holdLegacy(ctx, t, token)
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
			return fmt.Errorf("%s UID (%s) does not match service account %s ref claim (%s)", b.kind, state.UID, b.kind, b.ref.UID)
		case state.deletedBefore(now.Add(-leeway)):
			return errInvalidated
		}
	}
	if !t.warnAfter.IsZero() {
		if now.After(t.warnAfter) {
			text := fmt.Sprintf("subject: %s, seconds after warning threshold: %d", t.subject, now.Unix()-t.warnAfter.Unix())
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

func (o *ObjectState) deletedBefore(t time.Time) bool {
	return !o.Deleted.IsZero() && o.Deleted.Before(t)
}

// note tells of a use, and has it in the audit record of the request if there is a key.
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

// claims are all that a token may say.
type claims struct {
	jwt.Claims
	boundClaims
	legacyClaims
}

// foreign reports whether what a token says cannot name an issuer that is known here, which costs less than to read it: strangers
// send what they like. A name that is written with escapes is left to verify.
func (s *ServiceAccounts) foreign(token string) bool {
	_, rest, _ := strings.Cut(token, ".")
	text, _, _ := strings.Cut(rest, ".")
	var space [1024]byte
	said, err := base64.RawURLEncoding.AppendDecode(space[:0], []byte(text))
	if err != nil || bytes.IndexByte(said, '\\') >= 0 || bytes.Contains(said, []byte(LegacyIssuer)) {
		return false
	}
	return !slices.ContainsFunc(s.cfg.Issuers, func(issuer string) bool { return bytes.Contains(said, []byte(issuer)) })
}

// verify returns what a token says, if its signature holds; nil if it is of no issuer that is known here. What it says is read
// once, before the signature is verified, which takes longer, and means nothing until then.
func (s *ServiceAccounts) verify(ctx context.Context, token string) (*accountToken, error) {
	if strings.ContainsAny(token, " \t\r\n") { // as of a file that ends in a line break
		token = strings.Join(strings.Fields(token), "")
	}
	parsed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, s.unverifiable(token, err)
	}
	payload := parsed.UnsafePayloadWithoutVerification()
	if !s.issues(payload) {
		return nil, nil
	}
	var c claims
	unreadable := json.Unmarshal(payload, &c)
	id := parsed.Signatures[0].Header.KeyID
	from := s.cfg.Keys.Find(ctx, id)
	keys := from.of(id)
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
		t = s.legacy(&c.Claims, &c.legacyClaims)
	} else {
		t = s.bind(&c.Claims, &c.boundClaims)
	}
	t.keys = from
	return t, nil
}

// issues reports whether what a token says names an issuer that is known here, even if the rest of it cannot be read: others may say
// what they like.
func (s *ServiceAccounts) issues(payload []byte) bool {
	var said struct {
		Issuer string `json:"iss"`
	}
	_ = json.Unmarshal(payload, &said)
	return said.Issuer == LegacyIssuer || slices.Contains(s.cfg.Issuers, said.Issuer)
}

// unverifiable is what is said of a token that cannot be read, because of err: nothing, unless it claims to be of an issuer that is known
// here, and to be signed as nobody can verify.
func (s *ServiceAccounts) unverifiable(token string, err error) error {
	var odd *jose.ErrUnexpectedSignatureAlgorithm
	if !errors.As(err, &odd) {
		return nil
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil || !s.issues(payload) {
		return nil
	}
	return jose.ErrCryptoFailure
}

// bind makes what is remembered of a token.
func (s *ServiceAccounts) bind(public *jwt.Claims, private *boundClaims) *accountToken {
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
		t.bound = append(t.bound, bound{s.cfg.Objects.Object("secrets", k.Namespace, k.Secret.Name), "secret", *k.Secret})
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

// credentialPrefix is how the ids of JWTs begin as CredentialID.
const credentialPrefix = "JTI="

// accountPrefix begins the names of users that are service accounts.
const accountPrefix = "system:serviceaccount:"

func accountName(namespace, name string) string { return accountPrefix + namespace + ":" + name }

// accountUser returns a service account as a user.
func accountUser(namespace string, account Ref) *request.User {
	name := accountName(namespace, account.Name)
	return &request.User{
		Name: name, UID: string(account.UID),
		Groups: WithAuthenticated(name, []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}),
	}
}
