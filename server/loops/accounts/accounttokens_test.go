package accounts_test

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/accounts"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// TestAccountTokens creates token secrets before and after their account, removes their data, and
// deletes the account. The loop fills the secrets, fills them again, and deletes them.
func TestAccountTokens(t *testing.T) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		w.CreateNamespace("n")
		w.Run(func(ctx context.Context, in *controller.Informers) {
			(&accounts.AccountTokens{
				Informers: in, Log: zap.NewNop(), CA: func() ([]byte, error) { return []byte("ca"), nil },
				Sign: func(namespace, account string, uid meta.UID, secret string) (string, error) {
					return fmt.Sprint(namespace, "/", account, "/", uid != "", "/", secret), nil
				},
			}).Run(ctx)
		})
		secrets := looptest.InGroup[*corev1.Secret](w, corev1.GroupVersion.WithResource("secrets"))
		accounts := looptest.InGroup[*corev1.ServiceAccount](w, corev1.GroupVersion.WithResource("serviceaccounts"))
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			w.Sleep(0)
		}
		account := func(name string, refs ...string) {
			t.Helper()
			a := &corev1.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: name}}
			for _, ref := range refs {
				a.Secrets = append(a.Secrets, corev1.ObjectReference{Name: ref})
			}
			_, err := accounts.Create(t.Context(), a, meta.CreateOptions{})
			must(err)
		}
		secret := func(name, account string, uid string, typ corev1.SecretType) {
			t.Helper()
			s := &corev1.Secret{
				ObjectMeta: meta.ObjectMeta{Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: account}}, Type: typ,
				Data: map[string][]byte{"more": []byte("kept")},
			}
			if uid != "" {
				s.Annotations[corev1.ServiceAccountUIDKey] = uid
			}
			_, err := secrets.Create(t.Context(), s, meta.CreateOptions{})
			must(err)
		}
		full := func(name, account string) {
			t.Helper()
			w.Sleep(0)
			s, err := secrets.Get(t.Context(), name, meta.GetOptions{})
			must(err)
			got := fmt.Sprintf("%s %s %s %s", s.Data["token"], s.Data["ca.crt"], s.Data["namespace"], s.Data["more"])
			if want := fmt.Sprintf("n/%s/true/%s ca n kept", account, name); got != want || s.Annotations[corev1.ServiceAccountUIDKey] == "" {
				t.Errorf("%s: got %q and %v, want %q", name, got, s.Annotations, want)
			}
		}
		names := func(want string) {
			t.Helper()
			w.Sleep(0)
			if got := looptest.Names(w, secrets); got != want {
				t.Errorf("got secrets %q, want %q", got, want)
			}
		}
		account("a", "one", "else")
		account("b")
		secret("one", "a", "", corev1.SecretTypeServiceAccountToken)
		secret("two", "a", "", corev1.SecretTypeServiceAccountToken)
		secret("opaque", "a", "", corev1.SecretTypeOpaque)
		secret("of-nobody", "nobody", "", corev1.SecretTypeServiceAccountToken)
		secret("of-another", "b", "another-uid", corev1.SecretTypeServiceAccountToken)
		secret("of-b", "b", "", corev1.SecretTypeServiceAccountToken)
		names("of-b one opaque two")
		full("one", "a")
		full("of-b", "b")

		s, err := secrets.Get(t.Context(), "one", meta.GetOptions{})
		must(err)
		delete(s.Data, "token")
		s.Data["ca.crt"] = []byte("older")
		_, err = secrets.Update(t.Context(), s, meta.UpdateOptions{})
		must(err)
		full("one", "a")

		must(secrets.Delete(t.Context(), "one", meta.DeleteOptions{}))
		a, err := accounts.Get(t.Context(), "a", meta.GetOptions{})
		must(err)
		if len(a.Secrets) != 1 || a.Secrets[0].Name != "else" {
			t.Errorf("got %v, want no secret that is gone", a.Secrets)
		}
		must(accounts.Delete(t.Context(), "a", meta.DeleteOptions{}))
		names("of-b opaque")
		must(accounts.Delete(t.Context(), "b", meta.DeleteOptions{}))
		account("b")
		names("opaque")
	})
}
