package differential

import (
	"context"
	"fmt"
	"maps"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	aggregatorfake "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"
	aggregatorinformers "k8s.io/kube-aggregator/pkg/client/informers/externalversions"
	"k8s.io/kube-aggregator/pkg/controllers/autoregister"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/loops/apiservices"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestRegistration has both controllers register group versions, some of which have APIServices of
// all sorts already. Then it changes the APIServices or the versions. Each combination has a group
// of its own.
func TestRegistration(t *testing.T) {
	var ways []registrationWay
	for _, wanted := range []string{"", "onstart", "true"} {
		for _, label := range []string{"absent", "", "onstart", "true", "other"} {
			for _, spec := range []string{"same", "changed", "remote"} {
				for _, then := range []string{"", "delete", "change", "unlabel", "come", "go", "create ", "create onstart", "create true"} {
					if label == "absent" && spec != "same" || wanted == "onstart" && (then == "come" || then == "go") {
						continue // equal to another combination, or cannot happen
					}
					ways = append(ways, registrationWay{fmt.Sprintf("g%d.example.com", len(ways)), wanted, label, spec, then})
				}
			}
		}
	}
	theirs, ours := theirRegistration(), ourRegistration(t)
	for _, side := range []*registration{theirs, ours} {
		for _, w := range ways {
			if w.label != "absent" {
				side.create(t, w.group, w.label, w.spec)
			}
			if w.wanted != "" {
				side.want(w.group, w.wanted)
			}
		}
		side.run(t)
	}
	settleRegistrations(t, "at the start", ways, theirs, ours)
	for _, side := range []*registration{theirs, ours} {
		for _, w := range ways {
			side.act(t, w)
		}
	}
	settleRegistrations(t, "after that", ways, theirs, ours)
}

// registrationWay is a combination: how the version is wanted, if at all; the label and spec of the
// APIService that exists; and what act does then.
type registrationWay struct{ group, wanted, label, spec, then string }

// settleRegistrations waits until both sides have the same APIServices and have not changed them
// for two seconds, which is longer than any wait of either side.
func settleRegistrations(t *testing.T, when string, ways []registrationWay, theirs, ours *registration) {
	t.Helper()
	var last, a, b map[string]string
	same := time.Now()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if a, b = theirs.now(t), ours.now(t); !maps.Equal(a, b) || !maps.Equal(a, last) {
			same = time.Now()
		} else if time.Since(same) > 2*time.Second {
			t.Logf("%s: %d ways, %d APIServices", when, len(ways), len(a))
			return
		}
		last = a
	}
	for _, w := range ways {
		if a[w.group] != b[w.group] {
			t.Errorf("%s: %+v: Kubernetes: %q, Coracle: %q", when, w, a[w.group], b[w.group])
		}
	}
	if !t.Failed() {
		t.Errorf("%s: it does not settle", when)
	}
}

// registration is a controller with the server on which it registers.
type registration struct {
	client aggregator.Interface
	want   func(group, label string) // an empty label: the version is no longer wanted
	run    func(t *testing.T)
}

// theirRegistration is Kubernetes' controller over a fake server.
func theirRegistration() *registration {
	c := aggregatorfake.NewSimpleClientset()
	f := aggregatorinformers.NewSharedInformerFactory(c, 0)
	register := autoregister.NewAutoRegisterController(f.Apiregistration().V1().APIServices(), c.ApiregistrationV1())
	return &registration{
		client: c,
		want: func(group, label string) {
			switch s := apiServiceOf(group, "", "same"); label {
			case "":
				register.RemoveAPIServiceToSync(s.Name)
			case "onstart":
				register.AddAPIServiceToSyncOnStart(s)
			default:
				register.AddAPIServiceToSync(s)
			}
		},
		run: func(t *testing.T) {
			background(t, func(ctx context.Context) {
				f.Start(ctx.Done())
				register.Run(1, ctx.Done())
				f.Shutdown()
			})
		},
	}
}

// ourRegistration is Coracle's controller over a server that does not run, and so registers nothing
// itself.
func ourRegistration(t *testing.T) *registration {
	s, err := servertest.New(madeUp{t}, server.Config{
		DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory}, Controllers: []string{},
		Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
		Authorization: access.Config{Modes: []string{access.AlwaysAllow}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	front := httptest.NewServer(s.Handler())
	t.Cleanup(front.Close)
	local := &madeUpVersions{versions: map[meta.GroupVersion]apiservices.LocalVersion{}, changed: make(chan struct{})}
	register := &apiservices.APIServiceRegistration{Client: s.Client(), Local: local, KubeAPIServerLives: func() bool { return false }, Log: zap.NewNop()}
	return &registration{
		client: aggregator.NewForConfigOrDie(&rest.Config{Host: front.URL, QPS: -1}),
		want:   local.want,
		run: func(t *testing.T) {
			register.Begin(t.Context())
			background(t, register.Run)
		},
	}
}

// background runs f until the end of the test.
func background(t *testing.T, f func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { f(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
}

// madeUpVersions are the group versions that a server serves itself, as the test sets them.
type madeUpVersions struct {
	mu       sync.Mutex
	versions map[meta.GroupVersion]apiservices.LocalVersion
	changed  chan struct{}
}

func (v *madeUpVersions) All() map[meta.GroupVersion]apiservices.LocalVersion {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.versions)
}

func (v *madeUpVersions) Changed() (own, custom <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed, v.changed
}

func (v *madeUpVersions) Hidden(string) bool { return false }

func (v *madeUpVersions) want(group, label string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	gv, spec := meta.GroupVersion{Group: group, Version: "v1"}, apiServiceOf(group, "", "same").Spec
	if delete(v.versions, gv); label != "" {
		v.versions[gv] = apiservices.LocalVersion{
			GroupPriority: spec.GroupPriorityMinimum, VersionPriority: spec.VersionPriority, Permanent: label == "onstart",
		}
	}
	close(v.changed)
	v.changed = make(chan struct{})
}

// apiServiceOf is the APIService for v1 of a group. With the spec "same" it is equal to the
// registered one.
func apiServiceOf(group, label, spec string) *apiregistrationv1.APIService {
	s := &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1." + group},
		Spec:       apiregistrationv1.APIServiceSpec{Group: group, Version: "v1", GroupPriorityMinimum: 1000, VersionPriority: 100},
	}
	if label != "" {
		s.Labels = map[string]string{"kube-aggregator.kubernetes.io/automanaged": label}
	}
	switch spec {
	case "changed":
		s.Spec.VersionPriority = 7
	case "remote":
		s.Spec.Service = &apiregistrationv1.ServiceReference{Namespace: "n", Name: "s", Port: new(int32(443))}
	}
	return s
}

func (r *registration) create(t *testing.T, group, label, spec string) {
	_, err := r.client.ApiregistrationV1().APIServices().Create(t.Context(), apiServiceOf(group, label, spec), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// act does what w.then says, if its APIService exists.
func (r *registration) act(t *testing.T, w registrationWay) {
	services := r.client.ApiregistrationV1().APIServices()
	s, err := services.Get(t.Context(), "v1."+w.group, metav1.GetOptions{})
	there := err == nil
	changed := apiServiceOf(w.group, "", "changed").Spec
	switch label, create := strings.CutPrefix(w.then, "create "); {
	case create:
		r.create(t, w.group, label, "changed")
	case w.then == "come":
		r.want(w.group, "true")
	case w.then == "go":
		r.want(w.group, "")
	case w.then == "delete" && there:
		err = services.Delete(t.Context(), s.Name, metav1.DeleteOptions{})
	case w.then == "change" && there:
		s.Spec = changed
		_, err = services.Update(t.Context(), s, metav1.UpdateOptions{})
	case w.then == "unlabel" && there:
		s.Labels, s.Spec = nil, changed
		_, err = services.Update(t.Context(), s, metav1.UpdateOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// now describes the existing APIServices, by group.
func (r *registration) now(t *testing.T) map[string]string {
	list, err := r.client.ApiregistrationV1().APIServices().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for i := range list.Items {
		s := &list.Items[i]
		all[s.Spec.Group] = fmt.Sprint(s.Labels, " ", s.Spec.VersionPriority, " ", s.Spec.Service)
	}
	return all
}
