package authn

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestBootstrap authenticates by tokens of valid and of invalid secrets.
func TestBootstrap(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	groups := "system:bootstrappers system:authenticated"
	for _, tt := range []struct {
		name, token string
		change      func(s *corev1.Secret)
		want        string // groups
	}{
		{name: "good", want: groups},
		{name: "wrong secret", token: "abcdef.0123456789abcdee"},
		{name: "unknown", token: "abcdee.0123456789abcdef"},
		{name: "too long", token: "abcdef.0123456789abcdef0"},
		{name: "upper case", token: "abcdeF.0123456789abcdef"},
		{name: "no dot", token: "abcdef-0123456789abcdef"},
		{name: "path", token: "../../.0123456789abcdef"},
		{name: "another type", change: func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }},
		{name: "going", change: func(s *corev1.Secret) { t := meta.NewTime(now); s.DeletionTimestamp = &t }},
		{name: "another id in the secret", change: func(s *corev1.Secret) { s.Data["token-id"] = []byte("abcdee") }},
		{name: "no token-secret", change: func(s *corev1.Secret) { delete(s.Data, "token-secret") }},
		{name: "not for authentication", change: func(s *corev1.Secret) { delete(s.Data, "usage-bootstrap-authentication") }},
		{name: "usage in upper case", change: func(s *corev1.Secret) { s.Data["usage-bootstrap-authentication"] = []byte("True") }},
		{name: "no data", change: func(s *corev1.Secret) { s.Data = nil }},
		{name: "still good", change: func(s *corev1.Secret) { s.Data["expiration"] = []byte("2026-01-01T00:00:01Z") }, want: groups},
		{name: "in another zone", change: func(s *corev1.Secret) { s.Data["expiration"] = []byte("2026-01-01T00:00:01+01:00") }},
		{name: "expired", change: func(s *corev1.Secret) { s.Data["expiration"] = []byte("2026-01-01T00:00:00Z") }},
		{name: "expiration is no time", change: func(s *corev1.Secret) { s.Data["expiration"] = []byte("tomorrow") }},
		{name: "more groups", change: func(s *corev1.Secret) {
			s.Data["auth-extra-groups"] = []byte("system:bootstrappers:z,system:bootstrappers:a:b,system:bootstrappers:z")
		}, want: "system:bootstrappers system:bootstrappers:a:b system:bootstrappers:z system:authenticated"},
		{name: "a group without the prefix", change: func(s *corev1.Secret) { s.Data["auth-extra-groups"] = []byte("system:masters") }},
		{name: "an empty group", change: func(s *corev1.Secret) { s.Data["auth-extra-groups"] = []byte("system:bootstrappers:a,") }},
		{name: "a group that ends with a dash", change: func(s *corev1.Secret) { s.Data["auth-extra-groups"] = []byte("system:bootstrappers:a-") }},
		{name: "a capital in a group", change: func(s *corev1.Secret) { s.Data["auth-extra-groups"] = []byte("system:bootstrappers:aBc") }},
		{name: "nothing after the prefix", change: func(s *corev1.Secret) { s.Data["auth-extra-groups"] = []byte("system:bootstrappers:") }},
		{name: "the longest group", change: func(s *corev1.Secret) {
			s.Data["auth-extra-groups"] = []byte("system:bootstrappers:" + strings.Repeat("a", 256))
		}, want: "system:bootstrappers system:bootstrappers:" + strings.Repeat("a", 256) + " system:authenticated"},
		{name: "a group too long", change: func(s *corev1.Secret) {
			s.Data["auth-extra-groups"] = []byte("system:bootstrappers:" + strings.Repeat("a", 257))
		}},
		{name: "a line break in a group", change: func(s *corev1.Secret) { s.Data["auth-extra-groups"] = []byte("system:bootstrappers:a\n") }},
	} {
		secret := &corev1.Secret{Type: corev1.SecretTypeBootstrapToken, Data: map[string][]byte{
			"token-id": []byte("abcdef"), "token-secret": []byte("0123456789abcdef"), "usage-bootstrap-authentication": []byte("true"),
		}}
		if tt.change != nil {
			tt.change(secret)
		}
		b := NewBootstrap(func(_ context.Context, namespace, name string) (*corev1.Secret, error) {
			if namespace != "kube-system" || name != "bootstrap-token-abcdef" {
				return nil, meta.NewNotFound(meta.GroupResource{Resource: "secrets"}, name)
			}
			return secret, nil
		})
		b.now = func() time.Time { return now }
		token := tt.token
		if token == "" {
			token = "abcdef.0123456789abcdef"
		}
		user, _, err := b.AuthenticateToken(t.Context(), token, nil)
		if err != nil || (user != nil) != (tt.want != "") {
			t.Errorf("%s: got %v, %v", tt.name, user, err)
			continue
		}
		if user != nil && (user.Name != "system:bootstrap:abcdef" || !slices.Equal(user.Groups, strings.Fields(tt.want))) {
			t.Errorf("%s: got %+v, want groups %s", tt.name, user, tt.want)
		}
	}
}
