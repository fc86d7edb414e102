package interop

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// requestToken requests a token for a service account, bound to a secret.
func requestToken(t *testing.T, c kubernetes.Interface, ns, account, secret string) string {
	t.Helper()
	r, err := c.CoreV1().ServiceAccounts(ns).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: secret}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Status.Token
}

// TestTokenRotation has a client read its token from a program (exec credentials), or from a file
// that changes as in a projected volume. When the first token ends, the client must use the next
// one.
func TestTokenRotation(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(config *rest.Config, file string){
		"a program": func(config *rest.Config, file string) {
			config.ExecProvider = &clientcmdapi.ExecConfig{
				APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
				Command: "sh", Args: []string{"-c", fmt.Sprintf(
					`printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%%s"}}' "$(cat %q)"`, file)},
			}
		},
		"a file": func(config *rest.Config, file string) { config.BearerTokenFile = file },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testRotation(t, use)
		})
	}
}

func testRotation(t *testing.T, use func(config *rest.Config, file string)) {
	admin := shared.client(t)
	ns := namespace(t, admin)
	if _, err := admin.CoreV1().ServiceAccounts(ns).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "bot"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	volume := t.TempDir()
	rotate := func(secret string) {
		t.Helper()
		if _, err := admin.CoreV1().Secrets(ns).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secret}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		project(t, volume, secret, requestToken(t, admin, ns, "bot", secret))
	}
	rotate("first")
	config := rest.AnonymousClientConfig(shared.config(t))
	use(config, filepath.Join(volume, "token"))
	bot := clientset(t, config)
	known := func() bool {
		t.Helper()
		_, err := bot.CoreV1().ConfigMaps(ns).Get(t.Context(), "none", metav1.GetOptions{})
		if err != nil && !apierrors.IsUnauthorized(err) && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return !apierrors.IsUnauthorized(err)
	}
	if !known() {
		t.Fatal("the client is not authenticated by the first token")
	}
	rotate("second")
	if !known() {
		t.Error("the client is not authenticated by the first token while both are valid")
	}
	if err := admin.CoreV1().Secrets(ns).Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if known() {
		t.Error("the client is authenticated by a token that has ended")
	}
	// client-go asks a program again at once, and reads a file again within a minute.
	eventually(t, 70*time.Second, func() error {
		if !known() {
			return errors.New("the client is not authenticated by the second token")
		}
		return nil
	})
}

// project puts another token into a volume as kubelets do: into a new directory, to which a
// symbolic link is then switched.
func project(t *testing.T, volume, folder, token string) {
	t.Helper()
	if err := errors.Join(
		os.Mkdir(filepath.Join(volume, folder), 0o700),
		os.WriteFile(filepath.Join(volume, folder, "token"), []byte(token), 0o600),
		os.Symlink(folder, filepath.Join(volume, "..next")),
		os.Rename(filepath.Join(volume, "..next"), filepath.Join(volume, "..data")),
	); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("..data", "token"), filepath.Join(volume, "token")); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
}
