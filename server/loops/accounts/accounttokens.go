package accounts

import (
	"bytes"
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// This file is the loop for legacy tokens: it fills secrets of the type
// kubernetes.io/service-account-token, deletes them when their account is gone, and removes
// references to deleted secrets from accounts. The server runs it unless an external signer has the
// key for account tokens. Bound tokens, which TokenRequest issues, are never stored, so this loop
// has nothing to do with them.

// AccountTokens writes a legacy token, the namespace and the trusted certificates into each secret
// of the type kubernetes.io/service-account-token whose annotation names a service account, and
// deletes the secret when the account does not exist. It decides as Kubernetes'
// serviceaccount-token-controller does, with one exception: if a client replaces ca.crt by other
// certificates, the loop does not write it again at once, but only when it next looks at the
// secret, for example at its start or after another key was removed.
type AccountTokens struct {
	Informers *controller.Informers
	// CA returns the certificates to trust, as PEM, or nil if the server has no secure port. Run
	// calls it once.
	CA func() ([]byte, error)
	// Sign returns the token that goes into a secret: a JWT that names the account and the secret,
	// and that never expires.
	Sign func(namespace, account string, uid meta.UID, secret string) (string, error)
	Log  *zap.Logger
}

// tokenSecret is the part of a token secret that the loop keeps in memory. It holds no token: the
// loop reads the secret before it writes it.
type tokenSecret struct {
	Account    string   // from the annotation; if it is "", the loop leaves the secret alone
	AccountUID meta.UID // from the annotation; if it is "", any account of that name is meant
	// Full says that none of the three keys is empty. When a client empties a key, Full changes, so
	// the Informer adds the secret.
	Full bool
}

// tokenAccount is the part of a service account that the loop keeps in memory.
type tokenAccount struct {
	UID     meta.UID
	Secrets []string // the names in the field secrets; forget looks for a deleted secret among them
}

var (
	secretsResource  = corev1.GroupVersion.WithResource("secrets")
	accountsResource = corev1.GroupVersion.WithResource("serviceaccounts")
)

// newTokenSecret returns nil for secrets of other types, so that the Informer keeps none of them.
func newTokenSecret(s *corev1.Secret) *tokenSecret {
	if s.Type != corev1.SecretTypeServiceAccountToken {
		return nil
	}
	return &tokenSecret{
		Account:    s.Annotations[corev1.ServiceAccountNameKey],
		AccountUID: meta.UID(s.Annotations[corev1.ServiceAccountUIDKey]),
		Full: len(s.Data[corev1.ServiceAccountTokenKey]) > 0 && len(s.Data[corev1.ServiceAccountNamespaceKey]) > 0 &&
			len(s.Data[corev1.ServiceAccountRootCAKey]) > 0,
	}
}

// isFor reports whether the secret is for the account with this name and UID. An account that was
// deleted and created again has another UID, so a secret whose annotation has the old UID is not
// for the new account.
func (s *tokenSecret) isFor(name string, uid meta.UID) bool {
	return s.Account == name && (s.AccountUID == "" || s.AccountUID == uid)
}

// Run fills and deletes secrets until ctx ends. If CA fails, Run logs the error and returns.
func (c *AccountTokens) Run(ctx context.Context) {
	ca, err := c.CA()
	if err != nil {
		c.Log.Error("cannot read the CA certificates of the server, no token secret is filled", zap.Error(err))
		return
	}
	secrets := controller.InformerOf(c.Informers, secretsResource, newTokenSecret)
	accounts := controller.InformerOf(c.Informers, accountsResource, func(a *corev1.ServiceAccount) *tokenAccount {
		v := &tokenAccount{UID: a.UID}
		for _, ref := range a.Secrets {
			v.Secrets = append(v.Secrets, ref.Name)
		}
		return v
	})
	f := &fillTokens{AccountTokens: c, ca: ca, secrets: secrets, accounts: accounts}
	controller.Loop{
		Name: "serviceaccount_tokens_service",
		// A secret is added when it changes, and when its account was deleted, or deleted and
		// created again. A new account adds no secrets: those that named it before were deleted.
		Source: controller.Join(
			secrets.Own(),
			accounts.Source(func(name controller.Name, before, now *tokenAccount) (left []controller.Name) {
				if before == nil || now != nil && now.UID == before.UID {
					return nil
				}
				secrets.Each(name.Namespace, func(secret controller.Name, s *tokenSecret) {
					if s.isFor(name.Name, before.UID) {
						left = append(left, secret)
					}
				})
				return left
			}),
		),
		Reconcile: f.reconcile, After: []controller.Syncer{secrets, accounts}, Log: c.Log,
	}.Run(ctx)
}

// fillTokens is one run of AccountTokens.
type fillTokens struct {
	*AccountTokens
	ca       []byte // what CA returned when Run began; if it is empty, ca.crt is not written
	secrets  *controller.Informer[tokenSecret]
	accounts *controller.Informer[tokenAccount]
}

// reconcile works on one secret. If the Informer has no such token secret, the secret was deleted,
// and reconcile removes it from the accounts that name it. Otherwise reconcile reads the secret and
// its account. It deletes the secret if the account does not exist, and fills the secret if
// something is missing in it.
func (f *fillTokens) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	if f.secrets.Get(name) == nil {
		return 0, f.forget(ctx, name)
	}
	secrets := client.For[*corev1.Secret](f.Informers.Client(), secretsResource).In(name.Namespace)
	s, err := secrets.Get(ctx, name.Name, meta.GetOptions{})
	if err != nil {
		return 0, controller.IgnoreNotFound(err)
	}
	wants := newTokenSecret(s)
	if wants == nil || wants.Account == "" {
		return 0, nil
	}
	account, err := client.For[*corev1.ServiceAccount](f.Informers.Client(), accountsResource).In(name.Namespace).
		Get(ctx, wants.Account, meta.GetOptions{})
	if err != nil && !meta.IsNotFound(err) {
		return 0, err
	}
	if err != nil || !wants.isFor(account.Name, account.UID) {
		err := secrets.Delete(ctx, name.Name, meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &s.UID}})
		if meta.IsConflict(err) { // another secret has the name by now, and the watch adds it
			return 0, nil
		}
		return 0, controller.IgnoreNotFound(err)
	}
	if changed, err := f.fill(s, account); !changed || err != nil {
		return 0, err
	}
	_, err = secrets.Update(ctx, s, meta.UpdateOptions{})
	if meta.IsConflict(err) { // the secret has changed since it was read
		return 0, nil
	}
	return 0, controller.IgnoreNotFound(err)
}

// fill sets those of the keys ca.crt, namespace and token of s that are missing, and reports
// whether it set any. A ca.crt with other certificates counts as missing; a token or a namespace
// only if it is empty. Other keys stay.
func (f *fillTokens) fill(s *corev1.Secret, account *corev1.ServiceAccount) (changed bool, err error) {
	data := map[string][]byte{}
	if len(f.ca) > 0 && !bytes.Equal(s.Data[corev1.ServiceAccountRootCAKey], f.ca) {
		data[corev1.ServiceAccountRootCAKey] = f.ca
	}
	if len(s.Data[corev1.ServiceAccountNamespaceKey]) == 0 {
		data[corev1.ServiceAccountNamespaceKey] = []byte(s.Namespace)
	}
	if len(s.Data[corev1.ServiceAccountTokenKey]) == 0 {
		token, err := f.Sign(s.Namespace, account.Name, account.UID, s.Name)
		if err != nil {
			return false, err
		}
		data[corev1.ServiceAccountTokenKey] = []byte(token)
	}
	if len(data) == 0 {
		return false, nil
	}
	for key, value := range s.Data {
		if data[key] == nil {
			data[key] = value
		}
	}
	s.Data = data
	s.Annotations[corev1.ServiceAccountNameKey], s.Annotations[corev1.ServiceAccountUIDKey] =
		account.Name, string(account.UID)
	return true, nil
}

// forget removes a deleted secret from the field secrets of all accounts of its namespace that
// name it.
func (f *fillTokens) forget(ctx context.Context, secret controller.Name) error {
	var named []string
	f.accounts.Each(secret.Namespace, func(name controller.Name, a *tokenAccount) {
		if slices.Contains(a.Secrets, secret.Name) {
			named = append(named, name.Name)
		}
	})
	accounts := client.For[*corev1.ServiceAccount](f.Informers.Client(), accountsResource).In(secret.Namespace)
	for _, name := range named {
		account, err := accounts.Get(ctx, name, meta.GetOptions{})
		if err == nil {
			account.Secrets = slices.DeleteFunc(account.Secrets, func(ref corev1.ObjectReference) bool {
				return ref.Name == secret.Name
			})
			_, err = accounts.Update(ctx, account, meta.UpdateOptions{})
		}
		if controller.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
