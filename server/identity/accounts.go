package identity

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The keys and the signers of service account tokens, from files or from an external signer
// (externalsigner.go), and the validation of their configuration. New makes the Accounts; the
// strategy of serviceaccounts/token and the token controller sign with them.

// Accounts signs the tokens of service accounts and holds the keys that verify them. All methods
// may be called at once.
type Accounts struct {
	Keys          authn.KeySource // the keys that verify tokens
	bound, legacy *authn.TokenSigner
	external      *authn.ExternalSigner // nil: the server signs with a key of its own
	// longest bounds the lifetime that a TokenRequest may ask for; 0: no bound. extended is the
	// lifetime of tokens that a kubelet requests for pods; 0: the requested one.
	longest, extended time.Duration
}

// extendedToken is the lifetime of pods' tokens unless ServiceAccounts.NoExtension is set: programs
// with old clients read their token once and never again.
const extendedToken = 365 * 24 * time.Hour

// newAccounts connects to the external signer if the configuration names one. Otherwise it reads
// the signing key, which it makes under dataDir if the configuration names none, and the keys that
// only verify.
func newAccounts(ctx context.Context, sa *ServiceAccounts, dataDir string,
	reg prometheus.Registerer) (*Accounts, error) {
	i := &Accounts{longest: sa.Longest}
	if !sa.NoExtension {
		i.extended = extendedToken
	}
	if sa.SigningEndpoint != "" {
		return i, i.connect(ctx, sa, reg)
	}
	var key crypto.Signer
	var err error
	if sa.SigningKeyFile != "" {
		key, err = readSigningKey(sa.SigningKeyFile)
	} else {
		key, err = ownSigningKey(filepath.Join(dataDir, "pki"))
	}
	if err != nil {
		return nil, err
	}
	var keys []crypto.PublicKey
	for _, file := range sa.KeyFiles {
		data, err := configfile.Read(file)
		if err != nil {
			return nil, err
		}
		in, err := pki.ParsePublicKeys(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		keys = append(keys, in...)
	}
	if i.Keys, err = authn.NewTokenKeys(append(keys, key.Public())...); err != nil {
		return nil, err
	}
	if i.bound, err = authn.NewTokenSigner(key, sa.Issuers[0]); err != nil {
		return nil, err
	}
	i.legacy, err = authn.NewTokenSigner(key, authn.LegacyIssuer)
	return i, err
}

// readSigningKey reads a private key in PEM.
func readSigningKey(file string) (crypto.Signer, error) {
	data, err := configfile.Read(file)
	if err != nil {
		return nil, err
	}
	key, err := pki.ParseKey(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}

// ownSigningKey reads the key sa.key in dir, or makes and writes it if the file does not exist.
// Tokens outlive the process that signs them, so the key must be on disk.
func ownSigningKey(dir string) (crypto.Signer, error) {
	file := filepath.Join(dir, "sa.key")
	key, err := readSigningKey(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, err
	}
	made, err := pki.NewKey()
	if err != nil {
		return nil, err
	}
	text, err := pki.EncodeKey(made)
	if err != nil {
		return nil, err
	}
	return made, writeFile(file, text)
}

// Sign makes a bound token: one that becomes invalid when its account, pod, secret or node is
// deleted. credential is the ID of the token, which audit logs show wherever it is used.
func (i *Accounts) Sign(ctx context.Context, t *core.AccountToken) (token, credential string, err error) {
	ref := func(o *core.ObjectName) *authn.Ref {
		if o == nil {
			return nil
		}
		return &authn.Ref{Name: o.Name, UID: o.UID}
	}
	return i.bound.Sign(ctx, &authn.BoundToken{
		Namespace: t.Namespace, Account: *ref(&t.Account), Pod: ref(t.Pod), Secret: ref(t.Secret), Node: ref(t.Node),
		Audiences: t.Audiences, Issued: t.Issued, Lasts: t.Lasts, WarnAfter: t.WarnAfter,
	})
}

// SignLegacy makes a token for a secret of the type kubernetes.io/service-account-token. It must be
// called only if SignsLegacy returns true.
func (i *Accounts) SignLegacy(namespace, account string, uid meta.UID, secret string) (string, error) {
	return i.legacy.SignLegacy(context.Background(), namespace, authn.Ref{Name: account, UID: uid}, secret)
}

// SignsLegacy reports whether SignLegacy may be called. An external signer signs no such tokens
// (KEP-740).
func (i *Accounts) SignsLegacy() bool { return i.legacy != nil }

// Bounds returns the longest lifetime that a client may request for a token, 0 for no limit, and
// the lifetime of the tokens that a kubelet requests for pods, 0 for the requested one.
func (i *Accounts) Bounds() (longest, extended time.Duration) { return i.longest, i.extended }

// abstractSocket matches the names of Linux' abstract sockets, which are no files.
var abstractSocket = regexp.MustCompile(`^@([a-zA-Z0-9_-]+\.)*[a-zA-Z0-9_-]+$`)

// validate returns what is wrong with a configuration that has its defaults.
func (c *ServiceAccounts) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for i, issuer := range c.Issuers {
		if issuer == "" {
			bad("--service-account-issuer: an issuer is empty")
		} else if slices.Contains(c.Issuers[:i], issuer) {
			bad("--service-account-issuer: %q is given twice", issuer)
		} else if _, err := url.Parse(issuer); err != nil && strings.Contains(issuer, ":") {
			bad("--service-account-issuer: %q contains a \":\" and is no URL: %w", issuer, err)
		}
	}
	if c.SigningEndpoint != "" && (c.SigningKeyFile != "" || len(c.KeyFiles) > 0) {
		bad("can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with `--service-account-signing-endpoint` (They are mutually exclusive)")
	}
	if strings.HasPrefix(c.SigningEndpoint, "@") && !abstractSocket.MatchString(c.SigningEndpoint) {
		bad("invalid value %q passed for `--service-account-signing-endpoint`, when prefixed with @ must be a valid abstract socket name", c.SigningEndpoint)
	}
	if u, err := url.Parse(c.KeysURL); c.KeysURL != "" && (err != nil || u.Scheme != "https") {
		bad("--service-account-jwks-uri must be an https URL, not %q", c.KeysURL)
	}
	const least, most = time.Hour, (1 << 32) * time.Second
	if c.Longest != 0 && (c.Longest < least || c.Longest > most) {
		bad("--service-account-max-token-expiration must be between 1 hour and 2^32 seconds, not %v", c.Longest)
	}
	return errors.Join(errs...)
}
