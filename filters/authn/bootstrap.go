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

// Bootstrap knows the bearer tokens with which nodes join a cluster: those in secrets of kube-system, whose names begin with
// bootstrap-token-.
type Bootstrap struct {
	secret func(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	now    func() time.Time
}

// NewBootstrap makes a Bootstrap that reads secrets by secret.
func NewBootstrap(secret func(ctx context.Context, namespace, name string) (*corev1.Secret, error)) *Bootstrap {
	return &Bootstrap{secret: secret, now: time.Now}
}

// Lengths of what a bootstrap token is made of, which a dot joins: its id, which anybody may know, and its secret.
const (
	bootstrapID     = 6
	bootstrapSecret = 16
)

// bootstrapGroup is the group of all that have joined by a token. Further groups have names that begin so.
const bootstrapGroup = "system:bootstrappers"

// isBootstrapGroup reports whether a group is a further one: bootstrapGroup, a colon and 1 to 256 of a-z, 0-9, colons and dashes, of which
// the last is no colon or dash.
func isBootstrapGroup(group string) bool {
	rest, ok := strings.CutPrefix(group, bootstrapGroup+":")
	if !ok || rest == "" || len(rest) > 256 || strings.HasSuffix(rest, ":") || strings.HasSuffix(rest, "-") {
		return false
	}
	return strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789:-") == "" // if nothing else is in it
}

// AuthenticateToken returns who joins with a token. A token that does not hold is none: whoever tries does not learn how much of it is
// right.
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
		subtle.ConstantTimeCompare(s.Data["token-secret"], alias.Bytes(private)) != 1 || string(s.Data["token-id"]) != id ||
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

// parseBootstrap splits a token, if it looks like one.
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

// expired reports whether a secret with an expiration is over. One that cannot be read is.
func expired(expiration string, now time.Time) bool {
	if expiration == "" {
		return false
	}
	at, err := time.Parse(time.RFC3339, expiration)
	return err != nil || !at.After(now)
}
