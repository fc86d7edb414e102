package addresses_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
)

func TestKubernetesService(t *testing.T) {
	r := runOn(t, nil, "198.51.100.7")
	svc, err := r.services().Get(t.Context(), "kubernetes", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	port := svc.Spec.Ports[0]
	if svc.Spec.ClusterIP != "10.0.0.1" || svc.Labels["component"] != "apiserver" || svc.Labels["provider"] != "kubernetes" ||
		port.Name != "https" || port.Port != 443 || int(port.TargetPort.IntVal) != r.Address().(*net.TCPAddr).Port {
		t.Errorf("service: got %+v %+v", svc.ObjectMeta, svc.Spec)
	}
	r.wantPublished(0, "198.51.100.7")

	// The server undoes each change of them by a client.
	for _, destroy := range []func() error{
		func() error { return r.endpoints().Delete(t.Context(), "kubernetes", meta.DeleteOptions{}) },
		func() error { return r.slices().Delete(t.Context(), "kubernetes", meta.DeleteOptions{}) },
		func() error {
			ep, err := r.endpoints().Get(t.Context(), "kubernetes", meta.GetOptions{})
			if err == nil {
				ep.Labels = nil
				ep.Subsets[0].Addresses[0].IP = "198.51.100.8"
				_, err = r.endpoints().Update(t.Context(), ep, meta.UpdateOptions{})
			}
			return err
		},
		func() error {
			slice := &discoveryv1.EndpointSlice{ObjectMeta: meta.ObjectMeta{Name: "kubernetes"}, AddressType: discoveryv1.AddressTypeIPv6}
			err := r.slices().Delete(t.Context(), "kubernetes", meta.DeleteOptions{})
			if err == nil {
				if _, err = r.slices().Create(t.Context(), slice, meta.CreateOptions{}); meta.IsAlreadyExists(err) {
					err = nil // the server has created it already
				}
			}
			return err
		},
	} {
		if err := destroy(); err != nil {
			t.Fatal(err)
		}
		r.wantPublished(0, "198.51.100.7")
	}
	if err := r.services().Delete(t.Context(), "kubernetes", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if !comesTrue(func() bool {
		again, err := r.services().Get(t.Context(), "kubernetes", meta.GetOptions{})
		return err == nil && again.UID != svc.UID
	}) {
		t.Error("the service is not made again")
	}
}

// TestServersBehindTheService: all servers on a store are endpoints of the Service, until they
// stop. If a server is killed, it is an endpoint until the lease of its record expires.
func TestServersBehindTheService(t *testing.T) {
	store := newSharedStore(t)
	a := runOn(t, store, "198.51.100.2")
	port := a.Address().(*net.TCPAddr).Port
	b := runOn(t, store, "198.51.100.1")
	for _, r := range []*runningServer{a, b} {
		r.wantPublished(port, "198.51.100.1", "198.51.100.2")
	}
	e, err := store.Get(t.Context(), "/registry/masterleases/198.51.100.2")
	want := `{"kind":"Endpoints","apiVersion":"v1","metadata":{"generation":1},"subsets":[{"addresses":[{"ip":"198.51.100.2"}]}]}`
	if got := string(e.Value); err != nil || strings.ReplaceAll(got, `"generation":2`, `"generation":1`) != want {
		t.Errorf("record: got %s, %v, want %s", got, err, want)
	}

	// A server that is killed leaves its record, which ends with its lease.
	lease, err := store.Lease(t.Context(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.ReplaceAll(want, "198.51.100.2", "198.51.100.3")
	if _, err := store.Put(t.Context(), "/registry/masterleases/198.51.100.3", []byte(other), storage.Pre{}, lease); err != nil {
		t.Fatal(err)
	}
	b.wantPublished(port, "198.51.100.1", "198.51.100.2", "198.51.100.3")
	b.wantPublished(port, "198.51.100.1", "198.51.100.2")

	a.stop()
	b.wantPublished(0, "198.51.100.1")
	if _, err := store.Get(t.Context(), "/registry/masterleases/198.51.100.2"); storage.KindOf(err) != storage.NotFound {
		t.Errorf("the record of the server that has stopped: got %v, want %v", err, storage.NotFound)
	}
	b.stop()
	e, err = store.Get(t.Context(), "/registry/services/endpoints/default/kubernetes")
	if err != nil || strings.Contains(string(e.Value), "198.51.100") {
		t.Errorf("endpoints after the last server: got %s, %v", e.Value, err)
	}
}

// TestServerWithoutAnAddress: a server whose address is of another IP family than the Service is no
// endpoint.
func TestServerWithoutAnAddress(t *testing.T) {
	store := newSharedStore(t)
	r := runOn(t, store, "2001:db8::7")
	if _, err := r.services().Get(t.Context(), "kubernetes", meta.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := r.endpoints().Get(t.Context(), "kubernetes", meta.GetOptions{}); !meta.IsNotFound(err) {
		t.Errorf("endpoints: got %v, want none", err)
	}
	r.stop()
	r = runOn(t, store, "2001:db8::7", func(c *server.Config) { c.API.Services.ClusterIPRanges = []string{"fd00:10::/112"} })
	if !comesTrue(func() bool {
		slice, err := r.slices().Get(t.Context(), "kubernetes", meta.GetOptions{})
		return err == nil && slice.AddressType == discoveryv1.AddressTypeIPv6 && slice.Endpoints[0].Addresses[0] == "2001:db8::7"
	}) {
		t.Errorf("published: %s", r.published())
	}
}

// TestNoKubernetesService: a server that does not serve Services writes no record.
func TestNoKubernetesService(t *testing.T) {
	store := newSharedStore(t)
	runOn(t, store, "198.51.100.7", func(c *server.Config) { c.API.Profile = server.ProfileCRDOnly })
	for _, prefix := range []string{"masterleases/", "ranges/", "services/", "endpointslices/"} {
		res, err := store.Range(t.Context(), storage.RangeRequest{Prefix: "/registry/" + prefix})
		if err != nil || len(res.Entries) != 0 {
			t.Errorf("%s: got %v, %v, want nothing", prefix, res.Entries, err)
		}
	}
}

// TestRecordsAreKnown: the records that are no objects are encrypted and counted under the names
// that kube-apiserver gives them.
func TestRecordsAreKnown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	config := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"+
		"- resources: ['*.']\n  providers:\n  - aesgcm:\n      keys: [{name: a, secret: %s}]\n",
		base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	store := newSharedStore(t)
	r := runOn(t, store, "198.51.100.7", func(c *server.Config) { c.Storage.EncryptionConfigFile = file })
	for _, key := range []string{"ranges/servicenodeports", "masterleases/198.51.100.7"} {
		if e, err := store.Get(t.Context(), "/registry/"+key); err != nil || !strings.HasPrefix(string(e.Value), "k8s:enc:aesgcm:v1:a:") {
			t.Errorf("%s: got %q, %v, want it encrypted", key, e.Value, err)
		}
	}
	r.wantPublished(0, "198.51.100.7")
	families, err := r.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "etcd_requests_total" {
			continue
		}
		for _, name := range []string{"servicenodeportallocations", "apiServerIPInfo"} {
			if !strings.Contains(f.String(), `"`+name+`"`) {
				t.Errorf("%s is not measured", name)
			}
		}
	}
}

// TestServersWithOneAddress: two servers on different ports of one address do not overwrite each
// other's endpoints all the time. Each leaves the endpoints to the other for a while.
func TestServersWithOneAddress(t *testing.T) {
	store := newSharedStore(t)
	runOn(t, store, "198.51.100.1")
	runOn(t, store, "198.51.100.1")
	before, err := store.Get(t.Context(), "/registry/services/endpoints/default/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	cursor, err := store.Watch(t.Context(), storage.WatchRequest{Prefix: "/registry/services/endpoints/default/", After: before.Rev})
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	changes := 0
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for ctx.Err() == nil {
		batch, err := cursor.Next(ctx)
		if err == nil {
			changes += len(batch.Events)
		}
	}
	if changes > 4 { // each server may have written its port once
		t.Errorf("the endpoints have changed %d times", changes)
	}
}

// TestKubernetesNodePort: the service kubernetes can have a node port. The server need not manage
// its endpoints.
func TestKubernetesNodePort(t *testing.T) {
	r := runOn(t, nil, "198.51.100.7", func(c *server.Config) {
		c.API.Services.KubernetesNodePort, c.API.Services.NoKubernetesEndpoints = 30443, true
	})
	svc, err := r.services().Get(t.Context(), "kubernetes", meta.GetOptions{})
	if err != nil || svc.Spec.Type != corev1.ServiceTypeNodePort || svc.Spec.Ports[0].NodePort != 30443 {
		t.Errorf("got %+v, %v", svc, err)
	}
	if _, err := r.endpoints().Get(t.Context(), "kubernetes", meta.GetOptions{}); !meta.IsNotFound(err) {
		t.Errorf("endpoints: got %v, want none", err)
	}
	_, err = servertest.New(t, server.Config{DataDir: t.TempDir(), API: server.APIConfig{Services: addresses.Config{KubernetesNodePort: 80}}})
	if err == nil || !strings.Contains(err.Error(), "kubernetes service node port range 30000-32767 doesn't contain 80") {
		t.Errorf("a port out of range: got %v", err)
	}
}
