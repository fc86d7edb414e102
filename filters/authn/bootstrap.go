package authn

import (
	"context"
	"crypto/subtle"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Bootstrap authenticates the bearer tokens with which nodes join a cluster. They are stored in
// secrets of kube-system that are called bootstrap-token-ID.
type Bootstrap struct {
	secret func(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	now    func() time.Time
}

// NewBootstrap returns a Bootstrap. secret reads a secret; it returns a NotFound error if there is
// none.
func NewBootstrap(secret func(ctx context.Context, namespace, name string) (*corev1.Secret, error)) *Bootstrap {
	return &Bootstrap{secret: secret, now: time.Now}
}

// A bootstrap token is an id, which is public, and a secret, joined by a dot. These are their
// lengths in bytes.
const (
	bootstrapID     = 6
	bootstrapSecret = 16
)

// bootstrapGroup is the group of all users with a bootstrap token, and the prefix of further
// groups.
const bootstrapGroup = "system:bootstrappers"

// isBootstrapGroup reports whether a token may have the group as a further one: bootstrapGroup, a
// colon, and 1 to 256 of a-z, 0-9, colon and dash, not ending in colon or dash.
func isBootstrapGroup(group string) bool {
	rest, ok := strings.CutPrefix(group, bootstrapGroup+":")
	if !ok || rest == "" || len(rest) > 256 || strings.HasSuffix(rest, ":") || strings.HasSuffix(rest, "-") {
		return false
	}
	return strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789:-") == "" // nothing is left
}

// AuthenticateToken returns the user of a bootstrap token. A token that is wrong or expired is
// treated as unknown, without an error, so that its sender does not learn which part of it is
// right. So is a token whose secret names a group that is no bootstrap group. Bootstrap knows of no
// audiences and returns none; Fixed around it checks them.
func (b *Bootstrap) AuthenticateToken(ctx context.Context, token string, _ []string) (*request.User, []string, error) {
	id, private, ok := parseBootstrap(token)
	if !ok {
		return nil, nil, nil
	}
	s, err := b.secret(ctx, "kube-system", "bootstrap-token-"+id)
	switch {
	case meta.IsNotFound(err):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	}
	if s.DeletionTimestamp != nil || s.Type != corev1.SecretTypeBootstrapToken ||
		subtle.ConstantTimeCompare(s.Data["token-secret"], alias.Bytes(private)) != 1 ||
		string(s.Data["token-id"]) != id ||
		string(s.Data["usage-bootstrap-authentication"]) != "true" || expired(string(s.Data["expiration"]), b.now()) {
		return nil, nil, nil
	}
	groups := []string{bootstrapGroup}
	if extra := string(s.Data["auth-extra-groups"]); extra != "" {
		for group := range strings.SplitSeq(extra, ",") {
			if !isBootstrapGroup(group) {
				return nil, nil, nil
			}
			groups = append(groups, group)
		}
		slices.Sort(groups)
		groups = slices.Compact(groups)
	}
	name := "system:bootstrap:" + id
	return &request.User{Name: name, Groups: WithAuthenticated(name, groups)}, nil, nil
}

// parseBootstrap splits a token into id and secret; ok is false if it does not have the form of a
// bootstrap token.
func parseBootstrap(token string) (id, secret string, ok bool) {
	if len(token) != bootstrapID+1+bootstrapSecret || token[bootstrapID] != '.' {
		return "", "", false
	}
	id, secret = token[:bootstrapID], token[bootstrapID+1:]
	for _, c := range []byte(id + secret) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return "", "", false
		}
	}
	return id, secret, true
}

// expired reports whether a secret with an expiration has expired. An expiration that cannot be
// parsed has.
func expired(expiration string, now time.Time) bool {
	if expiration == "" {
		return false
	}
	at, err := time.Parse(time.RFC3339, expiration)
	return err != nil || !at.After(now)
}
