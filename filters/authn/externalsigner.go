package authn

import (
	"bytes"
	"context"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/router/callout"
)

// This file is the client of an external signer, a plugin that keeps the keys, makes the signatures
// and is called over gRPC. The few messages of its interface are encoded and decoded here;
// router/callout has the transport. Package server opens the signer and calls Run.

// ExternalSigner is a plugin behind a Unix socket that signs service account tokens with keys that
// the server does not have: version 1 of ExternalJWTSigner (KEP-740). It is the KeySource for the
// tokens that it signs. Its keys are fetched again at the time that the plugin gives, and when a
// token names an unknown key. All methods may be called concurrently. The owner must call Close.
type ExternalSigner struct {
	socket  *callout.Socket
	hooks   SignerHooks
	now     atomic.Pointer[externalKeys] // not nil once OpenExternalSigner has returned
	asking  singleflight.Group
	started atomic.Int64 // start of the last fetch, in Unix nanoseconds
}

// SignerHooks are called when an ExternalSigner has done something, for metrics.
type SignerHooks struct {
	// Called is called after each call of the plugin.
	Called func(method string, took time.Duration, err error)
	// Fetched is called after each fetch of keys. written is the time at which the plugin says that
	// its keys were written.
	Fetched func(written time.Time, err error)
	// Signed is called after each attempt to sign a token.
	Signed func(err error)
}

// externalKeys are the keys of one answer of the plugin. They are immutable.
type externalKeys struct {
	keys    *TokenKeys
	hidden  map[string]bool // ids of keys that verify tokens, are not published (OIDC), and must not sign
	written time.Time       // as the plugin says
	until   time.Time       // when to fetch again
}

const (
	signerService = "/v1.ExternalJWTSigner/"
	// fetchTime and metadataTime are how long one call for keys or for metadata may take.
	fetchTime    = time.Minute
	metadataTime = 10 * time.Second
	// fetchAgain is the time after which keys are fetched again if fetching failed. fetchLeast is
	// the shortest time between two fetches because of unknown keys: any client can send a token
	// with an unknown key.
	fetchAgain = 10 * time.Second
	fetchLeast = time.Second
	// maxKeyID is the longest key id, in bytes.
	maxKeyID = 1024
)

// OpenExternalSigner connects to the plugin at a path, or at an abstract name that begins with "@",
// and fetches its keys. longest is the longest lifetime of a token that the plugin allows.
func OpenExternalSigner(
	ctx context.Context, path string, hooks SignerHooks,
) (s *ExternalSigner, longest time.Duration, err error) {
	s = &ExternalSigner{hooks: hooks}
	if s.socket, err = callout.DialSocket(path, hooks.Called); err != nil {
		return nil, 0, fmt.Errorf(
			"while setting up external-jwt-signer: while dialing grpc socket at %q: %w", path, err,
		)
	}
	bound, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	if err := s.fetch(bound); err != nil {
		s.Close()
		return nil, 0, fmt.Errorf("while setting up external-jwt-signer: while initially filling key cache: "+
			"while performing initial cache fill: %w", err)
	}
	if longest, err = s.metadata(ctx); err != nil {
		s.Close()
		return nil, 0, fmt.Errorf("while setting up external-jwt-signer: %w", err)
	}
	return s, longest, nil
}

// metadata asks the plugin for the longest lifetime of a token.
func (s *ExternalSigner) metadata(ctx context.Context) (longest time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, metadataTime)
	defer cancel()
	out, err := s.socket.Call(ctx, signerService+"Metadata", nil)
	if err != nil {
		return 0, err
	}
	err = callout.Fields(out, func(field protowire.Number, _ []byte, number uint64) {
		if field == 1 {
			longest = time.Duration(min(int64(number), maxTokenSeconds)) * time.Second
		}
	})
	return longest, err
}

// maxTokenSeconds is longer than the lifetime of any token; it keeps the conversion from
// overflowing.
const maxTokenSeconds = 1 << 32

// Run fetches keys again when it is time, until ctx ends. It calls failed when a fetch fails; the
// last keys then stay valid.
func (s *ExternalSigner) Run(ctx context.Context, failed func(error)) {
	wait := time.Until(s.now.Load().until)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		bound, cancel := context.WithTimeout(ctx, fetchTime)
		err := s.fetch(bound)
		cancel()
		if wait = time.Until(s.now.Load().until); err != nil {
			wait = fetchAgain
			if ctx.Err() == nil {
				failed(err)
			}
		}
	}
}

// Close ends the connection and all calls.
func (s *ExternalSigner) Close() { s.socket.Close() }

// Keys implements KeySource.
func (s *ExternalSigner) Keys() *TokenKeys { return s.now.Load().keys }

// MaxAge implements KeySource.
func (s *ExternalSigner) MaxAge() time.Duration { return max(time.Until(s.now.Load().until), 0) }

// Find implements KeySource. It fetches keys if it does not know the id, at most once per
// fetchLeast.
func (s *ExternalSigner) Find(ctx context.Context, id string) *TokenKeys {
	keys := s.Keys()
	if id == "" || len(keys.withID(id)) > 0 || time.Since(time.Unix(0, s.started.Load())) < fetchLeast {
		return keys
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime) // other requests may share the fetch
	defer cancel()
	_ = s.fetch(bound) // the hook has counted the error; the key stays unknown
	return s.Keys()
}

// fetch fetches the keys. Concurrent callers share one fetch.
func (s *ExternalSigner) fetch(ctx context.Context) error {
	_, err, _ := s.asking.Do("", func() (any, error) {
		s.started.Store(time.Now().UnixNano())
		next, err := s.fetchKeys(ctx)
		if err != nil {
			s.hooks.Fetched(time.Time{}, err)
			return nil, fmt.Errorf("while fetching token verification keys: %w", err)
		}
		if before := s.now.Load(); before != nil && next.keys.equal(before.keys) && before.written.Equal(next.written) {
			next.keys = before.keys // the same pointer keeps remembered tokens valid
		}
		s.now.Store(next)
		s.hooks.Fetched(next.written, nil)
		return nil, nil
	})
	return err
}

// fetchKeys asks the plugin for its keys. The fields of the answer are the keys (1), the time at
// which the plugin wrote them (2), and after how many seconds they are to be fetched again (3). All
// of them are required.
func (s *ExternalSigner) fetchKeys(ctx context.Context) (*externalKeys, error) {
	out, err := s.socket.Call(ctx, signerService+"FetchKeys", nil)
	if err != nil {
		return nil, fmt.Errorf("while getting externally supported jwt signing keys: %w", err)
	}
	var keys []externalKey
	var refresh int64
	var written *time.Time
	var bad []error
	err = callout.Fields(out, func(field protowire.Number, value []byte, number uint64) {
		switch field {
		case 1:
			key, err := readExternalKey(value)
			keys, bad = append(keys, key), append(bad, err)
		case 2:
			at, err := readTimestamp(value)
			written, bad = &at, append(bad, err)
		case 3:
			refresh = int64(number)
		}
	})
	bad = append(bad, err)
	switch {
	case refresh <= 0:
		return nil, fmt.Errorf("found invalid refresh hint (%ds)", refresh)
	case len(keys) == 0:
		return nil, errors.New("found no keys")
	case written == nil:
		return nil, errors.New("invalid data timestamp: there is none")
	}
	if err := errors.Join(bad...); err != nil {
		return nil, err
	}
	const longest = 1 << 31 // seconds; larger hints would overflow a Duration
	next := &externalKeys{
		hidden: map[string]bool{}, written: *written,
		until: time.Now().Add(time.Duration(min(refresh, longest)) * time.Second),
	}
	next.keys = &TokenKeys{}
	for _, k := range keys {
		if err := next.keys.add(k.id, k.key, k.hidden); err != nil {
			return nil, fmt.Errorf("while parsing external public keys: %w", err)
		}
		next.hidden[k.id] = next.hidden[k.id] || k.hidden
	}
	return next, nil
}

// externalKey is one key of the plugin.
type externalKey struct {
	id     string
	key    crypto.PublicKey
	hidden bool
}

// readExternalKey reads a message Key: 1 is the id, 2 the key as PKIX DER, 3 excludes it from OIDC
// discovery.
func readExternalKey(message []byte) (k externalKey, err error) {
	var der []byte
	if err := callout.Fields(message, func(field protowire.Number, value []byte, number uint64) {
		switch field {
		case 1:
			k.id = string(value)
		case 2:
			der = value
		case 3:
			k.hidden = number != 0
		}
	}); err != nil {
		return k, err
	}
	switch {
	case k.id == "" || len(k.id) > maxKeyID:
		return k, fmt.Errorf("found invalid public key id %q", k.id)
	case len(der) == 0:
		return k, errors.New("found empty public key")
	}
	if k.key, err = x509.ParsePKIXPublicKey(der); err != nil {
		return k, fmt.Errorf("while parsing external public keys: %w", err)
	}
	return k, nil
}

// readTimestamp reads a google.protobuf.Timestamp: 1 is seconds, 2 nanoseconds.
func readTimestamp(message []byte) (time.Time, error) {
	var seconds, nanos int64
	err := callout.Fields(message, func(field protowire.Number, _ []byte, number uint64) {
		switch field {
		case 1:
			seconds = int64(number)
		case 2:
			nanos = int64(int32(number))
		}
	})
	const first, last = -62135596800, 253402300799 // the years 1 to 9999
	if err == nil && (seconds < first || seconds > last || nanos < 0 || nanos >= int64(time.Second)) {
		err = fmt.Errorf("invalid data timestamp: %d seconds and %d nanoseconds", seconds, nanos)
	}
	return time.Unix(seconds, nanos), err
}

// sign lets the plugin sign a payload and returns the token.
func (s *ExternalSigner) sign(ctx context.Context, payload []byte) (string, error) {
	token, err := s.assemble(ctx, base64.RawURLEncoding.EncodeToString(payload))
	s.hooks.Signed(err)
	return token, err
}

// assemble asks the plugin for header and signature, and joins them with the payload into a JWT.
// payload is base64url.
func (s *ExternalSigner) assemble(ctx context.Context, payload string) (string, error) {
	out, err := s.socket.Call(ctx, signerService+"Sign", callout.AppendField(nil, 1, payload))
	if err != nil {
		return "", fmt.Errorf("while signing jwt: %w", err)
	}
	var header, signature string
	if err := callout.Fields(out, func(field protowire.Number, value []byte, _ uint64) {
		switch field {
		case 1:
			header = string(value)
		case 2:
			signature = string(value)
		}
	}); err != nil {
		return "", fmt.Errorf("while signing jwt: %w", err)
	}
	if err := s.checkHeader(ctx, header); err != nil {
		return "", fmt.Errorf("while validating header: %w", err)
	}
	if signature == "" {
		return "", errors.New("empty signature returned")
	}
	return header + "." + payload + "." + signature, nil
}

// checkHeader returns what is wrong with text, the base64url header that the plugin made, nil if
// nothing is. A key that is not published must not sign. If the key is unknown, checkHeader fetches
// the keys first (Find), because the plugin may have a new one; a key that is then still unknown is
// not refused.
func (s *ExternalSigner) checkHeader(ctx context.Context, text string) error {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return fmt.Errorf("while unwrapping header: %w", err)
	}
	var header struct {
		Algorithm string `json:"alg"`
		KeyID     string `json:"kid"`
		Type      string `json:"typ"`
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&header); err != nil {
		return fmt.Errorf("while parsing header JSON: %w", err)
	}
	switch {
	case header.Type != "JWT":
		return errors.New("bad type")
	case header.KeyID == "":
		return errors.New("key id missing")
	case len(header.KeyID) > maxKeyID:
		return errors.New("key id longer than 1 kb")
	}
	switch header.Algorithm {
	case "RS256", "ES256", "ES384", "ES512":
	default:
		return fmt.Errorf("bad signing algorithm %q", header.Algorithm)
	}
	s.Find(ctx, header.KeyID)
	if s.now.Load().hidden[header.KeyID] {
		return fmt.Errorf("key used for signing JWT (kid: %s) is excluded from OIDC discovery docs", header.KeyID)
	}
	return nil
}
