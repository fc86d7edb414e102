package interop

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/coracle-project/coracle/server/servertest/ports"
)

// testCmdFlags are the flags with which hack/make-rules/test-cmd.sh of Kubernetes 1.36 starts
// kube-apiserver for kubectl's tests (test/cmd), in their order. DIR, PORT and ETCD stand for
// values that differ from run to run. --feature-gates and --storage-media-type are empty by
// default.
const testCmdFlags = `--bind-address=127.0.0.1
--authorization-mode=RBAC,AlwaysAllow
--secure-port=PORT
--feature-gates=
--enable-admission-plugins=LimitRanger,ResourceQuota
--disable-admission-plugins=ServiceAccount,DefaultStorageClass,DefaultTolerationSeconds,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,StorageObjectInUseProtection
--etcd-servers=ETCD
--runtime-config=api/v1
--service-account-key-file=DIR/kube-serviceaccount.key
--service-account-lookup=true
--service-account-issuer=https://kubernetes.default.svc
--service-account-signing-key-file=DIR/kube-serviceaccount.key
--storage-media-type=
--cert-dir=DIR
--service-cluster-ip-range=10.0.0.0/24
--client-ca-file=DIR/ca.crt
--token-auth-file=DIR/auth-tokens.csv`

// assets has coracle make the directory of programs that envtest needs.
func assets(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "envtest's programs")
	cmd := exec.Command(programs.server, "envtest", dir)
	cmd.Env = append(os.Environ(), "KUBEBUILDER_ASSETS=", "PATH="+filepath.Dir(programs.kubectl))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := "export KUBEBUILDER_ASSETS='" + strings.ReplaceAll(dir, "'", `'\''`) + "'\n"; string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
	return dir
}

// startTestCmd starts a program called kube-apiserver with testCmdFlags, and returns a client for
// the user of the script's token file.
func startTestCmd(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	port, err := ports.Free("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeTestCmdFiles(t, dir)
	p := &process{}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("the end of the server's log:\n%s", p.log)
		}
	})
	flags := strings.NewReplacer("PORT", fmt.Sprint(port), "ETCD", newEtcd(t).url, "DIR", dir).Replace(testCmdFlags)
	if err := p.run(filepath.Join(assets(t), "kube-apiserver"), strings.Split(flags, "\n")...); err != nil {
		t.Fatal(err)
	}
	config := &rest.Config{Host: fmt.Sprintf("https://127.0.0.1:%d", port), BearerToken: "admin-token", QPS: -1}
	config.Insecure = true
	if err := p.waitReady(config, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	return clientset(t, config)
}

// writeTestCmdFiles writes the files that the script gives to kube-apiserver: a key, a client CA
// and the tokens.
func writeTestCmdFiles(t *testing.T, dir string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "clients"}, key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) error { return os.WriteFile(filepath.Join(dir, name), text, 0o600) }
	err = errors.Join(
		write("kube-serviceaccount.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
		write("ca.crt", pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: authority.Raw})),
		write("auth-tokens.csv", []byte(`admin-token,admin,,"system:masters"`+"\n")))
	if err != nil {
		t.Fatal(err)
	}
}

// TestTestCmdFlags starts a server as kubectl's own tests start kube-apiserver, and checks that the
// plugins are on and off as the flags say.
func TestTestCmdFlags(t *testing.T) {
	t.Parallel()
	c := startTestCmd(t)
	ctx, core, ns := t.Context(), c.CoreV1(), namespace(t, c)

	// LimitRanger is on. ServiceAccount and DefaultTolerationSeconds are off: the namespace has no
	// account, as no controllers run, and the pod gets neither an account nor tolerations.
	_, err := core.LimitRanges(ns).Create(ctx, &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "sizes"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{"cpu": resource.MustParse("100m")},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if pod, err = core.Pods(ns).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); got != "100m" {
		t.Errorf("the pod requests the CPU %s, want 100m of the limit range", got)
	}
	if spec := &pod.Spec; spec.ServiceAccountName != "" || len(spec.Volumes) > 0 || len(spec.Tolerations) > 0 {
		t.Errorf("got account %q, volumes %v, tolerations %v, want none", spec.ServiceAccountName, spec.Volumes, spec.Tolerations)
	}

	// StorageObjectInUseProtection is off.
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "c"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
		},
	}
	if claim, err = core.PersistentVolumeClaims(ns).Create(ctx, claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(claim.Finalizers) > 0 {
		t.Errorf("the claim has the finalizers %v, want none", claim.Finalizers)
	}
	refusedByQuota(t, c, ns)
}

// refusedByQuota checks that a quota refuses a ConfigMap. It writes the status of the quota, which
// kube-controller-manager would write.
func refusedByQuota(t *testing.T, c *kubernetes.Clientset, ns string) {
	t.Helper()
	quotas := c.CoreV1().ResourceQuotas(ns)
	hard := corev1.ResourceList{"count/configmaps": resource.MustParse("0")}
	quota, err := quotas.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: hard},
	}, metav1.CreateOptions{})
	if err == nil {
		quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: hard}
		_, err = quotas.UpdateStatus(t.Context(), quota, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	_, err = c.CoreV1().ConfigMaps(ns).Create(t.Context(), config, metav1.CreateOptions{})
	const want = `configmaps "m" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=0, limited: count/configmaps=0`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
