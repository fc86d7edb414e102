package addresses_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

func (r *runningServer) leases() client.Resource[*coordinationv1.Lease] {
	return client.For[*coordinationv1.Lease](r.Client(), coordinationv1.GroupVersion.WithResource("leases")).In("kube-system")
}

// identities returns the names of the leases of servers, selected as kube-apiserver does.
func (r *runningServer) identities() []string {
	r.t.Helper()
	list, err := r.leases().List(r.t.Context(), meta.ListOptions{LabelSelector: "apiserver.kubernetes.io/identity=kube-apiserver"})
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, l := range list.Items {
		names = append(names, l.Name)
	}
	return names
}

// serverLease returns the lease of a server that renewed it this long ago.
func serverLease(name string, ago time.Duration) *coordinationv1.Lease {
	holder, seconds := name+"_0", int32(3600)
	return &coordinationv1.Lease{
		ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"apiserver.kubernetes.io/identity": "kube-apiserver"}},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &meta.MicroTime{Time: time.Now().Add(-ago)},
		},
	}
}

// timed returns how long f takes.
func timed(t *testing.T, f func() error) time.Duration {
	t.Helper()
	begin := time.Now()
	if err := f(); err != nil {
		t.Fatal(err)
	}
	return time.Since(begin)
}

// TestIdentityLease: each server on a store has a lease while it runs. Leases that have expired are
// deleted.
func TestIdentityLease(t *testing.T) {
	store := newSharedStore(t)
	first := runOn(t, store, "192.0.2.1")
	mine := first.identities()
	if len(mine) != 1 || !regexp.MustCompile(`^apiserver-[a-z2-7]{26}$`).MatchString(mine[0]) {
		t.Fatalf("got %v, want the lease of the server", mine)
	}
	l, err := first.leases().Get(t.Context(), mine[0], meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s := l.Spec; *s.LeaseDurationSeconds != 3600 || time.Since(s.RenewTime.Time) > time.Minute || !strings.HasPrefix(*s.HolderIdentity, mine[0]+"_") {
		t.Errorf("got %+v", s)
	}
	for _, lease := range []*coordinationv1.Lease{serverLease("apiserver-expired", 2*time.Hour), serverLease("apiserver-silent", 50*time.Minute)} {
		if _, err := first.leases().Create(t.Context(), lease, meta.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	second := runOn(t, store, "192.0.2.2")
	all := second.identities()
	if len(all) != 3 || slices.Contains(all, "apiserver-expired") || !slices.Contains(all, mine[0]) {
		t.Errorf("got %v, want the leases of both servers, and the one that is silent", all)
	}
	second.stop()
	if left := first.identities(); !slices.Contains(left, mine[0]) || len(left) != 2 {
		t.Errorf("got %v, want that of the server that stopped gone", left)
	}
	alone := runOn(t, nil, "192.0.2.3")
	if got := alone.identities(); got != nil {
		t.Errorf("got %v on a store of its own, want none", got)
	}
}

// TestAddressesBeside: if a kube-apiserver runs on the same store, an IPAddress is created some
// time before its service, and deleted some time after it.
func TestAddressesBeside(t *testing.T) {
	const head = 200 * time.Millisecond
	store := newSharedStore(t)
	alone := runOn(t, store, "192.0.2.1")
	churn := func(s *runningServer) (created, deleted time.Duration) {
		svc := &corev1.Service{ObjectMeta: meta.ObjectMeta{Name: "x"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		created = timed(t, func() error { _, err := s.services().Create(t.Context(), svc, meta.CreateOptions{}); return err })
		deleted = timed(t, func() error { return s.services().Delete(t.Context(), "x", meta.DeleteOptions{}) })
		return created, deleted
	}
	if created, deleted := churn(alone); created+deleted >= 2*head {
		t.Errorf("among servers of this program: a service was created in %v and deleted in %v", created, deleted)
	}
	if _, err := alone.leases().Create(t.Context(), serverLease("apiserver-other", 0), meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if created, deleted := churn(runOn(t, store, "192.0.2.2")); created < head || deleted < head {
		t.Errorf("beside a kube-apiserver: a service was created in %v and deleted in %v, want no less than %v", created, deleted, head)
	}
}
