package interop

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// guest is a service account that may read the config map "shown" in a namespace of its own. Its
// token may be bound to a pod or a secret.
type guest struct {
	ns, token string
}

// invite makes a guest.
func invite(t *testing.T, admin kubernetes.Interface) *guest {
	t.Helper()
	g := &guest{ns: namespace(t, admin)}
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	create := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, opts := t.Context(), metav1.CreateOptions{}
	core, roles := admin.CoreV1(), admin.RbacV1()
	create(core.ServiceAccounts(g.ns).Create(ctx, &corev1.ServiceAccount{ObjectMeta: named("guest")}, opts))
	create(core.ConfigMaps(g.ns).Create(ctx, configMap("shown"), opts))
	create(core.Pods(g.ns).Create(ctx, &corev1.Pod{ObjectMeta: named("pod"), Spec: corev1.PodSpec{
		ServiceAccountName: "guest", Containers: []corev1.Container{{Name: "c", Image: "i"}},
	}}, opts))
	create(core.Secrets(g.ns).Create(ctx, &corev1.Secret{ObjectMeta: named("secret")}, opts))
	create(roles.Roles(g.ns).Create(ctx, &rbacv1.Role{ObjectMeta: named("role"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
	}}, opts))
	create(roles.RoleBindings(g.ns).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: named("binding"), RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "role"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "guest", Namespace: g.ns}},
	}, opts))
	return g
}

// tokenOf gives the guest a token that is bound to an object, or to the account alone if kind is
// "".
func (g *guest) tokenOf(t *testing.T, admin kubernetes.Interface, kind, name string) {
	t.Helper()
	asked := &authenticationv1.TokenRequest{}
	if kind != "" {
		asked.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: kind, Name: name}
	}
	made, err := admin.CoreV1().ServiceAccounts(g.ns).CreateToken(t.Context(), "guest", asked, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	g.token = made.Status.Token
}

// reads returns the error of the guest's read at a server.
func (g *guest) reads(ctx context.Context, t *testing.T, s *server, opts metav1.GetOptions) error {
	t.Helper()
	_, err := clientset(t, s.withToken(t, g.token)).CoreV1().ConfigMaps(g.ns).Get(ctx, "shown", opts)
	return err
}

// accountKeys are the flags of servers that know each other's service accounts.
func accountKeys(t *testing.T) [2]string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "accounts.key")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return [2]string{"--service-account-key-file=" + file, "--service-account-signing-key-file=" + file}
}

// revocations are the ways to take a guest's rights or token away.
var revocations = []struct {
	name   string
	token  [2]string // kind and name of the object to which the token is bound
	revoke func(ctx context.Context, c kubernetes.Interface, ns string) error
	is     func(error) bool // recognizes the refusal
}{
	{"the binding is deleted", [2]string{}, func(ctx context.Context, c kubernetes.Interface, ns string) error {
		return c.RbacV1().RoleBindings(ns).Delete(ctx, "binding", metav1.DeleteOptions{})
	}, apierrors.IsForbidden},
	{"the binding is for others", [2]string{}, func(ctx context.Context, c kubernetes.Interface, ns string) error {
		_, err := c.RbacV1().RoleBindings(ns).Patch(ctx, "binding", types.MergePatchType, []byte(`{"subjects":[]}`), metav1.PatchOptions{})
		return err
	}, apierrors.IsForbidden},
	{"the role is narrowed", [2]string{}, func(ctx context.Context, c kubernetes.Interface, ns string) error {
		_, err := c.RbacV1().Roles(ns).Patch(ctx, "role", types.MergePatchType, []byte(`{"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]}`), metav1.PatchOptions{})
		return err
	}, apierrors.IsForbidden},
	{"the role is deleted", [2]string{}, func(ctx context.Context, c kubernetes.Interface, ns string) error {
		return c.RbacV1().Roles(ns).Delete(ctx, "role", metav1.DeleteOptions{})
	}, apierrors.IsForbidden},
	{"the token's pod is deleted", [2]string{"Pod", "pod"}, func(ctx context.Context, c kubernetes.Interface, ns string) error {
		now := int64(0)
		return c.CoreV1().Pods(ns).Delete(ctx, "pod", metav1.DeleteOptions{GracePeriodSeconds: &now})
	}, apierrors.IsUnauthorized},
	{"the token's secret is deleted", [2]string{"Secret", "secret"}, func(ctx context.Context, c kubernetes.Interface, ns string) error {
		return c.CoreV1().Secrets(ns).Delete(ctx, "secret", metav1.DeleteOptions{})
	}, apierrors.IsUnauthorized},
	{"the account is deleted", [2]string{}, func(ctx context.Context, c kubernetes.Interface, ns string) error {
		return c.CoreV1().ServiceAccounts(ns).Delete(ctx, "guest", metav1.DeleteOptions{})
	}, apierrors.IsUnauthorized},
}

// seen waits until a server has seen all changes of the store. A consistent read does that.
func seen(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	if _, err := c.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestPairRevokes takes rights and tokens away at one server. Another server on the same etcd must
// refuse the guest as soon as it has answered any request from a state with the change. The test
// logs how long the change takes to arrive by itself.
func TestPairRevokes(t *testing.T) {
	t.Parallel()
	const rounds = 10
	store, keys := newEtcd(t).url, accountKeys(t)
	pair := [2]*server{newServer(t, "--etcd-servers="+store, keys[0], keys[1]), newServer(t, "--etcd-servers="+store, keys[0], keys[1])}
	here, there := pair[0].client(t), pair[1].client(t)
	var lags []time.Duration
	for _, r := range revocations {
		for round := range rounds {
			g := invite(t, here)
			g.tokenOf(t, here, r.token[0], r.token[1])
			seen(t, there)
			if err := g.reads(t.Context(), t, pair[1], metav1.GetOptions{}); err != nil {
				t.Fatalf("%s: before: %v", r.name, err)
			}
			if err := r.revoke(t.Context(), here, g.ns); err != nil {
				t.Fatal(err)
			}
			if err := g.reads(t.Context(), t, pair[0], metav1.GetOptions{}); !r.is(err) {
				t.Errorf("%s: at the server that made the change: got %v, want a refusal", r.name, err)
			}
			if round%2 == 0 {
				seen(t, there)
				if err := g.reads(t.Context(), t, pair[1], metav1.GetOptions{}); !r.is(err) {
					t.Errorf("%s: at the server that has seen the change: got %v, want a refusal", r.name, err)
				}
				continue
			}
			begun := time.Now()
			eventually(t, 20*time.Second, func() error {
				if err := g.reads(t.Context(), t, pair[1], metav1.GetOptions{}); !r.is(err) {
					return errors.New(r.name + ": the guest is not refused")
				}
				return nil
			})
			lags = append(lags, time.Since(begun))
		}
	}
	slices.Sort(lags)
	t.Logf("%d times, the other server refuses: median after %v, at most %v", len(lags), lags[len(lags)/2], lags[len(lags)-1])
}

// TestPairRevokesBehindBack takes rights and tokens away while another server is cut off from its
// etcd. That server cannot know, but it must not show the guest a state as new as the revocation:
// consistent reads wait. Once the server is connected again, it must refuse the guest.
func TestPairRevokesBehindBack(t *testing.T) {
	t.Parallel()
	store, keys := newEtcd(t), accountKeys(t)
	wire := newWire(t, store.url)
	here, cut := newServer(t, "--etcd-servers="+store.url, keys[0], keys[1]), newServer(t, "--etcd-servers="+wire.url, keys[0], keys[1])
	admin, behind := here.client(t), cut.client(t)
	guests := make([]*guest, len(revocations))
	for i, r := range revocations {
		guests[i] = invite(t, admin)
		guests[i].tokenOf(t, admin, r.token[0], r.token[1])
	}
	seen(t, behind)
	for i, r := range revocations {
		if err := guests[i].reads(t.Context(), t, cut, metav1.GetOptions{}); err != nil {
			t.Fatalf("%s: before: %v", r.name, err)
		}
	}
	wire.hold()
	for i, r := range revocations {
		if err := r.revoke(t.Context(), admin, guests[i].ns); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i, r := range revocations {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if err := guests[i].reads(ctx, t, cut, metav1.GetOptions{}); err == nil {
				t.Errorf("%s: a server that is cut off from its store answers a consistent read", r.name)
			}
			if err := guests[i].reads(t.Context(), t, cut, metav1.GetOptions{ResourceVersion: "0"}); err != nil {
				t.Errorf("%s: a read from the cache: got %v", r.name, err)
			}
		})
	}
	wg.Wait()
	wire.release()
	eventually(t, 60*time.Second, func() error {
		_, err := behind.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	for i, r := range revocations {
		if err := guests[i].reads(t.Context(), t, cut, metav1.GetOptions{ResourceVersion: "0"}); !r.is(err) {
			t.Errorf("%s: at the server that is connected again: got %v, want a refusal", r.name, err)
		}
	}
}

// wire is a proxy between a server and its etcd, which can hold all traffic.
type wire struct {
	url  string
	mu   sync.RWMutex // write-locked while nothing may pass
	held bool
}

func newWire(t *testing.T, target string) *wire {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{url: "http://" + l.Addr().String()}
	background(t, func(ctx context.Context) {
		var wg sync.WaitGroup
		defer wg.Wait()
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to.Host)
			if err != nil {
				near.Close()
				continue
			}
			context.AfterFunc(ctx, func() { near.Close(); far.Close() })
			wg.Go(func() { w.pass(near, far) })
			wg.Go(func() { w.pass(far, near) })
		}
	})
	t.Cleanup(func() { w.release(); l.Close() })
	return w
}

// pass copies bytes from one connection to the other, except while the wire is held.
func (w *wire) pass(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		w.mu.RLock()
		_, writeErr := to.Write(buf[:n])
		w.mu.RUnlock()
		if err != nil && !errors.Is(err, io.EOF) || writeErr != nil || n == 0 {
			return
		}
	}
}

func (w *wire) hold() { w.mu.Lock(); w.held = true }

func (w *wire) release() {
	if w.held {
		w.held = false
		w.mu.Unlock()
	}
}
