// Package looptest runs servers for tests of loops. A World is a server in real time, with the
// controllers that the test asks for. A Fake is a server in fake time without controllers, beside
// which the test runs the loop that it is about. In both, the admission plugin ServiceAccount is
// off, because the loop that makes service accounts need not run.
//
// A server, and each loop that a test starts here, ends with the test, and the test waits for its
// end.
package looptest

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/server/servertest"
)

// World is a server in real time. The functions of this package use its namespace "n", which
// CreateNamespace creates.
type World struct {
	T testing.TB
	S *server.Server
}

// noAccounts is the plugin that is off.
const noAccounts = "ServiceAccount"

// Start runs a server until the end of the test. It replaces cfg.Serving: the server speaks plain
// HTTP on a free port.
func Start(t testing.TB, cfg server.Config) *World {
	t.Helper()
	cfg.Serving = server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort}
	cfg.Admission.Disable = append(slices.Clip(cfg.Admission.Disable), noAccounts)
	return &World{t, servertest.Start(t, cfg).Server}
}

// TB returns the test.
func (w *World) TB() testing.TB { return w.T }

// API returns the client of the server itself.
func (w *World) API() *client.Client { return w.S.Client() }

// CreateNamespace creates the namespace "n".
func (w *World) CreateNamespace() {
	w.T.Helper()
	Make(w, Of[*corev1.Namespace](w, "namespaces"), &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: "n"}}, nil)
}

// DeleteNamespace deletes the namespace "n".
func (w *World) DeleteNamespace() {
	w.T.Helper()
	Delete(w, Of[*corev1.Namespace](w, "namespaces"), "n")
}

// Run runs a loop until the end of the test.
func (w *World) Run(run func(ctx context.Context)) {
	w.T.Helper()
	begin(w.T, run)
}

// Fake is a server in the fake time of package synctest: time passes only while all goroutines
// wait, such as in Sleep. It has the namespace "kube-system".
type Fake struct {
	T     *testing.T
	S     *server.Server
	Begun time.Time
}

// InFakeTime runs f with a server in fake time that does not listen and has no controllers.
func InFakeTime(t *testing.T, f func(t *testing.T, w *Fake)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := servertest.New(t, server.Config{
			DataDir: dir, Storage: server.StorageConfig{Engine: server.StorageMemory}, Controllers: []string{},
			Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
			Authorization: access.Config{Modes: []string{access.AlwaysAllow}},
			Admission:     plugins.Config{Disable: []string{noAccounts}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		w := &Fake{T: t, S: s, Begun: time.Now()}
		w.CreateNamespace("kube-system")
		f(t, w)
	})
}

// TB returns the test.
func (w *Fake) TB() testing.TB { return w.T }

// API returns the client of the server itself.
func (w *Fake) API() *client.Client { return w.S.Client() }

// Sleep lets d pass, and then waits until all goroutines wait for time to pass.
func (w *Fake) Sleep(d time.Duration) { time.Sleep(d); synctest.Wait() }

// CreateNamespace creates a namespace.
func (w *Fake) CreateNamespace(name string) {
	w.T.Helper()
	Make(w, Of[*corev1.Namespace](w, "namespaces"), &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}}, nil)
}

// Run runs a loop until the end of the test, with informers of its own.
func (w *Fake) Run(run func(ctx context.Context, in *controller.Informers)) {
	begin(w.T, func(ctx context.Context) {
		in := controller.NewInformers(ctx, w.API(), zap.NewNop())
		run(ctx, in)
		in.Wait()
	})
	w.Sleep(0)
}

// Pods returns a client of the pods of the namespace "n".
func (w *Fake) Pods() client.Resource[*corev1.Pod] { return Of[*corev1.Pod](w, "pods") }

// Pod creates a pod in the namespace "n". If node is "", the pod is not bound; if phase is "", its
// status is empty.
func (w *Fake) Pod(name, node string, phase corev1.PodPhase, finalizers ...string) {
	w.T.Helper()
	pod := &corev1.Pod{
		ObjectMeta: meta.ObjectMeta{Name: name, Finalizers: finalizers},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	var status func(*corev1.Pod)
	if phase != "" {
		status = func(p *corev1.Pod) { p.Status.Phase = phase }
	}
	Make(w, w.Pods(), pod, status)
}

// begin runs f in a goroutine. At the end of the test it cancels the context of f and waits for f.
func begin(t testing.TB, f func(ctx context.Context)) {
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); f(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
}
