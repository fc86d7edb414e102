//go:build cluster

package interop

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/coracle-project/coracle/server/servertest/ports"
)

// environment starts an environment that ends with the test. If the test fails, it logs the output
// of the processes.
func environment(t testing.TB, dir string, change ...func(*envtest.Environment)) (*envtest.Environment, *rest.Config) {
	t.Helper()
	env := &envtest.Environment{BinaryAssetsDirectory: dir}
	log := new(tail)
	api := env.ControlPlane.GetAPIServer()
	api.Out, api.Err = log, log
	env.ControlPlane.Etcd = &envtest.Etcd{Out: log, Err: log}
	for _, f := range change {
		f(env)
	}
	config, err := env.Start()
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		if t.Failed() {
			t.Logf("the processes wrote:\n%s", log)
		}
	})
	if err != nil {
		t.Fatalf("start: %v\n%s", err, log)
	}
	return env, config
}

// TestEnvtest starts an environment as a suite does: with definitions, users, and the command line
// that envtest makes.
func TestEnvtest(t *testing.T) {
	t.Parallel()
	def := lanterns("envtest.example.com")
	env, config := environment(t, assets(t), func(env *envtest.Environment) {
		env.CRDs = []*apiextensionsv1.CustomResourceDefinition{def}
	})
	// The administrator has a certificate of the group system:masters.
	admin := kubernetes.NewForConfigOrDie(config)
	if _, err := admin.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if v, err := admin.ServerVersion(); err != nil || v.GitVersion != "v1.36.3" {
		t.Errorf("version: got %v, %v", v, err)
	}
	if config.CertData == nil || config.BearerToken != "" {
		t.Error("the administrator has no certificate")
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lantern := &unstructured.Unstructured{}
	lantern.SetAPIVersion("envtest.example.com/v1")
	lantern.SetKind("Lantern")
	lantern.SetNamespace("default")
	lantern.SetName("one")
	if err := c.Create(t.Context(), lantern); err != nil {
		t.Errorf("an instance of the installed definition: %v", err)
	}
	// Other users have the rights of their roles.
	user, err := env.AddUser(envtest.User{Name: "kim", Groups: []string{"crew"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	asKim := kubernetes.NewForConfigOrDie(user.Config())
	if _, err := asKim.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `"kim"`) {
		t.Errorf("a user without a role: got %v, want that kim may not", err)
	}
	if kubectl, err := user.Kubectl(); err != nil {
		t.Error(err)
	} else if out, _, err := kubectl.Run("version"); err != nil {
		t.Error(err)
	} else if said, _ := io.ReadAll(out); !bytes.Contains(said, []byte("Server Version: v1.36.3")) {
		t.Errorf("kubectl version: got %s", said)
	}
	// Health needs no authentication, and the data is in envtest's directory.
	trust, err := rest.TLSConfigFor(rest.AnonymousClientConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	anybody := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}}
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		resp, err := anybody.Get(strings.TrimRight(config.Host, "/") + path)
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: got %d %s", path, resp.StatusCode, said)
		}
	}
	if _, err := os.Stat(filepath.Join(env.ControlPlane.Etcd.DataDir, "member", "wal")); err != nil {
		t.Error(err)
	}
}

// TestEnvtestStops stops environments under open watches and requests. They must end soon and leave
// no process and no file.
func TestEnvtestStops(t *testing.T) {
	t.Parallel()
	dir := assets(t)
	env := &envtest.Environment{BinaryAssetsDirectory: dir}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	admin := kubernetes.NewForConfigOrDie(config)
	var watching sync.WaitGroup
	for range 20 {
		w, err := admin.CoreV1().ConfigMaps("").Watch(context.Background(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		watching.Go(func() {
			for range w.ResultChan() {
			}
		})
	}
	certs, data := env.ControlPlane.APIServer.CertDir, env.ControlPlane.Etcd.DataDir
	begun := time.Now()
	if err := env.Stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("stopping took %v", took)
	}
	watching.Wait()
	for _, dir := range []string{certs, data} {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
}

// TestEnvtestKeepsData starts kube-apiserver again on the same etcd, and then both again on the
// same data. All writes must be there. A second API server is refused.
func TestEnvtestKeepsData(t *testing.T) {
	t.Parallel()
	dir, data := assets(t), filepath.Join(t.TempDir(), "data")
	start := func(t testing.TB) (*envtest.Environment, kubernetes.Interface) {
		env, config := environment(t, dir, func(env *envtest.Environment) {
			env.ControlPlane.Etcd.DataDir, env.ControlPlane.GetAPIServer().CertDir = data, t.TempDir()
		})
		return env, kubernetes.NewForConfigOrDie(config)
	}
	t.Run("first", func(t *testing.T) {
		env, admin := start(t)
		kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
		if _, err := admin.CoreV1().ConfigMaps("default").Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		certs := env.ControlPlane.APIServer.CertDir
		port, err := ports.Free("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		second := exec.Command(filepath.Join(dir, "kube-apiserver"), "--etcd-servers="+env.ControlPlane.Etcd.URL.String(), "--cert-dir="+certs,
			"--secure-port="+strconv.Itoa(port), "--service-account-issuer=https://x.example.com",
			"--service-account-key-file="+filepath.Join(certs, "sa-signer.crt"), "--service-account-signing-key-file="+filepath.Join(certs, "sa-signer.key"))
		if out, err := second.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("the data directory is in use by another process")) {
			t.Errorf("a second API server: got %v\n%s", err, out)
		}
		api := env.ControlPlane.APIServer
		if err := errors.Join(api.Stop(), api.Start()); err != nil {
			t.Fatal(err)
		}
		if _, err := admin.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("then", func(t *testing.T) {
		_, admin := start(t)
		if _, err := admin.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// TestEnvtestWithoutEtcd ends the process that stands in for etcd. The API server must become
// unhealthy, as a kube-apiserver would.
func TestEnvtestWithoutEtcd(t *testing.T) {
	t.Parallel()
	env, config := environment(t, assets(t))
	if err := env.ControlPlane.Etcd.Stop(); err != nil {
		t.Fatal(err)
	}
	admin := kubernetes.NewForConfigOrDie(config).RESTClient()
	said, err := admin.Get().AbsPath("/readyz").DoRaw(t.Context())
	if err == nil || !bytes.Contains(said, []byte("[-]etcd failed")) {
		t.Errorf("readiness without etcd: got %s, %v", said, err)
	}
}

// TestEnvtestOnEtcd has kube-apiserver store in a real etcd.
func TestEnvtestOnEtcd(t *testing.T) {
	t.Parallel()
	etcd := newEtcd(t).url
	_, config := environment(t, assets(t), func(env *envtest.Environment) {
		env.ControlPlane.GetAPIServer().Configure().Set("etcd-servers", etcd)
	})
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// BenchmarkEnvtest starts and stops environments, one after another. No process and no directory
// outlives its environment.
func BenchmarkEnvtest(b *testing.B) {
	dir := assets(b)
	b.Setenv("TMPDIR", b.TempDir())
	quickest, stopping := time.Hour, time.Duration(0)
	for b.Loop() {
		env := &envtest.Environment{BinaryAssetsDirectory: dir}
		begun := time.Now()
		if _, err := env.Start(); err != nil {
			b.Fatal(err)
		}
		ready := time.Now()
		if err := env.Stop(); err != nil {
			b.Fatal(err)
		}
		quickest, stopping = min(quickest, ready.Sub(begun)), stopping+time.Since(ready)
		for _, address := range []string{env.ControlPlane.APIServer.SecureServing.HostPort(), env.ControlPlane.Etcd.URL.Host} {
			if conn, err := net.Dial("tcp", address); err == nil {
				conn.Close()
				b.Errorf("a process still listens at %s", address)
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "k8s_test_framework_*")); err != nil || len(left) > 0 {
		b.Errorf("left behind: %q, %v", left, err)
	}
	b.ReportMetric(float64(quickest.Milliseconds()), "ms/quickest-start")
	b.ReportMetric(float64(stopping.Milliseconds())/float64(b.N), "ms/stop")
}
