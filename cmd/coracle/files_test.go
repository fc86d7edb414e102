//go:build unix

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// endless has the flags that name files that the server reads. Each comes with its value and the
// other flags that it needs. VALUE stands for the file that never ends.
var endless = map[string]string{
	"admission-control-config-file":                   "VALUE",
	"authentication-config":                           "VALUE",
	"authentication-token-webhook-config-file":        "VALUE",
	"authorization-config":                            "VALUE",
	"authorization-policy-file":                       "VALUE --authorization-mode=ABAC",
	"authorization-webhook-config-file":               "VALUE --authorization-mode=Webhook",
	"basic-auth-file":                                 "VALUE",
	"client-ca-file":                                  "VALUE",
	"cluster-signing-cert-file":                       "VALUE --cluster-signing-key-file=VALUE",
	"cluster-signing-key-file":                        "VALUE --cluster-signing-cert-file=VALUE",
	"cluster-signing-kube-apiserver-client-cert-file": "VALUE --cluster-signing-kube-apiserver-client-key-file=VALUE",
	"cluster-signing-kube-apiserver-client-key-file":  "VALUE --cluster-signing-kube-apiserver-client-cert-file=VALUE",
	"cluster-signing-kubelet-client-cert-file":        "VALUE --cluster-signing-kubelet-client-key-file=VALUE",
	"cluster-signing-kubelet-client-key-file":         "VALUE --cluster-signing-kubelet-client-cert-file=VALUE",
	"cluster-signing-kubelet-serving-cert-file":       "VALUE --cluster-signing-kubelet-serving-key-file=VALUE",
	"cluster-signing-kubelet-serving-key-file":        "VALUE --cluster-signing-kubelet-serving-cert-file=VALUE",
	"cluster-signing-legacy-unknown-cert-file":        "VALUE --cluster-signing-legacy-unknown-key-file=VALUE",
	"cluster-signing-legacy-unknown-key-file":         "VALUE --cluster-signing-legacy-unknown-cert-file=VALUE",
	"audit-policy-file":                               "VALUE --audit-log-path=-",
	"audit-webhook-config-file":                       "VALUE --audit-policy-file=POLICY",
	"encryption-provider-config":                      "VALUE",
	"etcd-cafile":                                     "VALUE --etcd-servers=https://127.0.0.1:1",
	"etcd-certfile":                                   "VALUE --etcd-keyfile=VALUE --etcd-servers=https://127.0.0.1:1",
	"etcd-keyfile":                                    "VALUE --etcd-certfile=VALUE --etcd-servers=https://127.0.0.1:1",
	"manifests":                                       "VALUE",
	"oidc-ca-file":                                    "VALUE --oidc-issuer-url=https://127.0.0.1:1 --oidc-client-id=a",
	"proxy-client-cert-file":                          "VALUE --proxy-client-key-file=VALUE",
	"proxy-client-key-file":                           "VALUE --proxy-client-cert-file=VALUE",
	"requestheader-client-ca-file":                    "VALUE",
	"service-account-key-file":                        "VALUE",
	"service-account-signing-key-file":                "VALUE",
	"tls-cert-file":                                   "VALUE --tls-private-key-file=VALUE",
	"tls-private-key-file":                            "VALUE --tls-cert-file=VALUE",
	"tls-sni-cert-key":                                "VALUE,VALUE",
	"token-auth-file":                                 "VALUE",
	"tracing-config-file":                             "VALUE",
}

// unread has the flags whose names end like those of endless, but whose files the server does not
// read.
var unread = map[string]bool{
	"egress-selector-config-file":   true,
	"kubelet-certificate-authority": true, "kubelet-client-certificate": true, "kubelet-client-key": true, "peer-ca-file": true,
	"profile": true, "runtime-config": true,
}

// TestEndlessFiles: the server refuses a file that never ends, whichever flag names it.
func TestEndlessFiles(t *testing.T) {
	named := regexp.MustCompile(`(file|config|key|certificate|authority|manifests)$`)
	serve, _, err := newCommand().Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(t.TempDir(), "policy")
	text := `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}`
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	serve.Flags().VisitAll(func(f *pflag.Flag) {
		more, ok := endless[f.Name]
		if named.MatchString(f.Name) && !ok && !unread[f.Name] {
			t.Errorf("--%s is in no list", f.Name)
		}
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		args := append([]string{"serve", "--data-dir", filepath.Join(t.TempDir(), "data"), "--secure-port", anyPort},
			strings.Fields("--"+f.Name+"="+strings.NewReplacer("VALUE", "/dev/zero", "POLICY", policy).Replace(more))...)
		if !strings.Contains(more, "etcd") {
			args = append(args, "--storage=memory")
		}
		err := run(ctx, io.Discard, args...)
		if err == nil || !strings.Contains(err.Error(), "/dev/zero: neither a regular file nor a pipe") {
			t.Errorf("--%s: got %v", f.Name, err)
		}
	})
}

// TestPipedFile: a configuration file may be a pipe.
func TestPipedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		written <- os.WriteFile(path, []byte("{apiVersion: nonsense/v1, kind: AuthorizationConfiguration}\n"), 0)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := run(ctx, io.Discard, "serve", "--data-dir", filepath.Join(t.TempDir(), "data"), "--storage=memory",
		"--secure-port", anyPort, "--authorization-config="+path)
	if err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("got %v, want an error about the content of the pipe", err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}
