//go:build cluster

package interop

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"github.com/coracle-project/coracle/server/servertest/leaks"
	"github.com/coracle-project/coracle/server/servertest/ports"
)

func init() {
	built = append(built, program{&programs.extension, "extension", "EXTENSION", ".", "./extension", ""})
}

// The group that Kubernetes' sample server serves, and the names in its manifests.
const (
	wardleGroup   = "wardle.example.com"
	wardleSpace   = "wardle" // the namespace of the server
	wardleService = "api"
	wardleAccount = "apiserver"
)

var wardleVersions = []string{"v1alpha1", "v1beta1"}

// extension is a process of Kubernetes' sample extension server, which delegates authentication and
// authorization to another server. It may be started again after it has ended.
type extension struct {
	dir  string
	port int
	etcd *etcd

	process
}

// newExtension starts an extension server beside s, with the rights that its manifests give it and
// no more.
func newExtension(t *testing.T, s *server) *extension {
	t.Helper()
	x := &extension{dir: t.TempDir(), etcd: newEtcd(t)}
	var err error
	if x.port, err = ports.Free("127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	shell := newShell(t, s)
	for _, name := range []string{"ns", "sa", "auth-delegator", "auth-reader", "rbac", "rbac-bind"} {
		if out := shell.run(t, "kubectl apply -f "+filepath.Join(manifests(t), name+".yaml")); !strings.HasSuffix(out, " created") {
			t.Fatal(out)
		}
	}
	if err := writeKubeconfig(filepath.Join(x.dir, "kubeconfig"), s.withToken(t, tokenOf(t, s.client(t), wardleSpace, wardleAccount))); err != nil {
		t.Fatal(err)
	}
	x.certify(t)
	x.start(t)
	t.Cleanup(func() {
		x.kill()
		if t.Failed() {
			t.Logf("the end of the extension server's log:\n%s", x.log)
		}
	})
	return x
}

// tokenOf requests a token for a service account.
func tokenOf(t *testing.T, c kubernetes.Interface, ns, account string) string {
	t.Helper()
	r, err := c.CoreV1().ServiceAccounts(ns).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	leaks.Learn(r.Status.Token)
	return r.Status.Token
}

// manifests is the directory of the sample's own manifests.
var manifests = func() func(t *testing.T) string {
	find := sync.OnceValues(func() (string, error) {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/sample-apiserver").Output()
		return filepath.Join(strings.TrimSpace(string(out)), "artifacts", "example"), err
	})
	return func(t *testing.T) string {
		t.Helper()
		dir, err := find()
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
}()

// writeKubeconfig writes a client's configuration to a kubeconfig file.
func writeKubeconfig(file string, c *rest.Config) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData, CertificateAuthority: c.CAFile}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: c.BearerToken}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	return clientcmd.WriteToFile(*config, file)
}

func (x *extension) certFile() string { return filepath.Join(x.dir, "tls.crt") }
func (x *extension) keyFile() string  { return filepath.Join(x.dir, "tls.key") }

// certify gives the server a new certificate for the name of its service, each time from a new
// authority.
func (x *extension) certify(t *testing.T) {
	t.Helper()
	crt, key, err := cert.GenerateSelfSignedCertKey(wardleService+"."+wardleSpace+".svc", nil, nil)
	if err == nil {
		err = errors.Join(os.WriteFile(x.certFile(), crt, 0o600), os.WriteFile(x.keyFile(), key, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// bundle is the CA bundle for clients of the server.
func (x *extension) bundle(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(x.certFile())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// start starts the process and waits until it is ready.
func (x *extension) start(t *testing.T) {
	t.Helper()
	kubeconfig := filepath.Join(x.dir, "kubeconfig")
	// The manifests do not let it read the policies for which this plugin would wait.
	err := x.run(programs.extension, "--disable-admission-plugins=MutatingAdmissionPolicy", "--secure-port="+strconv.Itoa(x.port), "--etcd-servers="+x.etcd.url, "--tls-cert-file="+x.certFile(),
		"--tls-private-key-file="+x.keyFile(),
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config := &rest.Config{Host: "https://127.0.0.1:" + strconv.Itoa(x.port), TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	if err := x.waitReady(config, 30*time.Second); err != nil {
		t.Fatal(err)
	}
}

// registry is a client for APIServices, which speaks protobuf.
func (s *server) registry(t *testing.T) aggregator.Interface {
	t.Helper()
	config := s.config(t)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	c, err := aggregator.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// register puts the extension server behind s, with a service that leads to it.
func (x *extension) register(t *testing.T, s *server, service corev1.ServiceSpec) {
	t.Helper()
	_, err := s.client(t).CoreV1().Services(wardleSpace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: wardleService}, Spec: service,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	services := s.registry(t).ApiregistrationV1().APIServices()
	for i, version := range wardleVersions {
		_, err := services.Create(t.Context(), &apiregistrationv1.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: version + "." + wardleGroup},
			Spec: apiregistrationv1.APIServiceSpec{
				Group: wardleGroup, Version: version, GroupPriorityMinimum: 1000, VersionPriority: int32(15 + i), CABundle: x.bundle(t),
				Service: &apiregistrationv1.ServiceReference{Namespace: wardleSpace, Name: wardleService, Port: new(int32(x.port))},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// available returns an error if the condition Available of a version has another status or reason.
func available(t *testing.T, s *server, version string, status apiregistrationv1.ConditionStatus, reason string) error {
	t.Helper()
	found, err := s.registry(t).ApiregistrationV1().APIServices().Get(t.Context(), version+"."+wardleGroup, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range found.Status.Conditions {
		if c.Type == apiregistrationv1.Available && c.Status == status && c.Reason == reason {
			return nil
		}
	}
	return fmt.Errorf("%s: got %+v, want %s, %s", found.Name, found.Status.Conditions, status, reason)
}

// awaitAvailable waits until the condition Available has the status and reason.
func awaitAvailable(t *testing.T, s *server, version string, status apiregistrationv1.ConditionStatus, reason string) {
	t.Helper()
	eventually(t, 20*time.Second, func() error { return available(t, s, version, status, reason) })
}
