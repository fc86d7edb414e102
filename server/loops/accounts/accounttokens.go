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

// AccountTokens fills in the secrets that ask for a token of a service account, and deletes them
// with it.
type AccountTokens struct {
	Informers *controller.Informers
	// CA returns the certificates to trust, as PEM; none if the server shows none.
	CA func() ([]byte, error)
	// Sign makes the token of an account that stands in a secret.
	Sign func(namespace, account string, uid meta.UID, secret string) (string, error)
	Log  *zap.Logger
}

// tokenSecret is what is to be known of a secret with a token.
type tokenSecret struct {
	Account    string
	AccountUID meta.UID // "": any of the name
	Full       bool     // nothing has been taken out
}

// tokenAccount is what is to be known of a service account.
type tokenAccount struct {
	UID     meta.UID
	Secrets []string
}

var (
	secretsResource  = corev1.GroupVersion.WithResource("secrets")
	accountsResource = corev1.GroupVersion.WithResource("serviceaccounts")
)

func newTokenSecret(s *corev1.Secret) *tokenSecret {
	if s.Type != corev1.SecretTypeServiceAccountToken {
		return nil
	}
	return &tokenSecret{
		Account: s.Annotations[corev1.ServiceAccountNameKey], AccountUID: meta.UID(s.Annotations[corev1.ServiceAccountUIDKey]),
		Full: len(s.Data[corev1.ServiceAccountTokenKey]) > 0 && len(s.Data[corev1.ServiceAccountNamespaceKey]) > 0 &&
			len(s.Data[corev1.ServiceAccountRootCAKey]) > 0,
	}
}

// of reports whether the secret is for an account.
func (s *tokenSecret) of(name string, uid meta.UID) bool {
	return s.Account == name && (s.AccountUID == "" || s.AccountUID == uid)
}

// Run works until ctx ends.
func (c *AccountTokens) Run(ctx context.Context) {
	ca, err := c.CA()
	if err != nil {
		c.Log.Error("cannot read whom clients should trust", zap.Error(err))
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
		Source: controller.Join(secrets.Own(), accounts.Source(func(name controller.Name, before, now *tokenAccount) (left []controller.Name) {
			if before == nil || now != nil && now.UID == before.UID {
				return nil
			}
			secrets.Each(name.Namespace, func(secret controller.Name, s *tokenSecret) {
				if s.of(name.Name, before.UID) {
					left = append(left, secret)
				}
			})
			return left
		})),
		Reconcile: f.reconcile, After: []controller.Syncer{secrets, accounts}, Log: c.Log,
	}.Run(ctx)
}

// fillTokens is one run of AccountTokens.
type fillTokens struct {
	*AccountTokens
	ca       []byte
	secrets  *controller.Informer[tokenSecret]
	accounts *controller.Informer[tokenAccount]
}

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
	account, err := client.For[*corev1.ServiceAccount](f.Informers.Client(), accountsResource).In(name.Namespace).Get(ctx, wants.Account, meta.GetOptions{})
	if err != nil && !meta.IsNotFound(err) {
		return 0, err
	}
	if err != nil || !wants.of(account.Name, account.UID) {
		err := secrets.Delete(ctx, name.Name, meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &s.UID}})
		if meta.IsConflict(err) { // it is another one
			return 0, nil
		}
		return 0, controller.IgnoreNotFound(err)
	}
	if changed, err := f.fill(s, account); !changed || err != nil {
		return 0, err
	}
	_, err = secrets.Update(ctx, s, meta.UpdateOptions{})
	if meta.IsConflict(err) { // the watch tells of what it is now
		return 0, nil
	}
	return 0, controller.IgnoreNotFound(err)
}

// fill completes a secret, and reports whether something was missing.
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
	s.Annotations[corev1.ServiceAccountNameKey], s.Annotations[corev1.ServiceAccountUIDKey] = account.Name, string(account.UID)
	return true, nil
}

// forget takes a secret that is gone off the accounts that name it.
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
			account.Secrets = slices.DeleteFunc(account.Secrets, func(ref corev1.ObjectReference) bool { return ref.Name == secret.Name })
			_, err = accounts.Update(ctx, account, meta.UpdateOptions{})
		}
		if controller.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
