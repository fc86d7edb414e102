package cluster

import (
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTakeover fills an etcd with a kube-apiserver, takes it over, uses it, and gives it back.
func TestTakeover(t *testing.T) {
	for _, fills := range []struct {
		name, program string
		args          []string // of the kube-apiserver that fills the etcd and gets it back
		ours          []string // more arguments, of Coracle
	}{
		{"1.36", kube136, nil, nil},
		{"1.36 as 1.33", kube136, []string{"--emulated-version=1.33"}, []string{"--min-compatibility-version=1.33"}},
		{"1.34", kube134, nil, []string{"--min-compatibility-version=1.34"}},
	} {
		t.Run(fills.name, func(t *testing.T) {
			p := newPlane(t, append(controlPrograms, fills.program, kube136, coracle)...)
			p.emulated = fills.args
			encrypted := []string{"--encryption-provider-config=" + p.path("encryption.yaml")}
			theirs := append(encrypted, fills.args...)
			s := p.serve(fills.program, 0, theirs...)
			stop := p.control(s)
			fill(t, s)
			eventually(t, 90*time.Second, s.settled)
			stop()
			token := s.token(t)
			if fills.args != nil || fills.program != kube136 { // kube-apiserver 1.36 is the reference for reads
				s.stop()
				s = p.serve(kube136, 0, encrypted...)
			}
			informers := follow(t, p, s)
			watches := s.revisions(t)
			was := s.read(t)
			s.stop()

			p.fsck(t)
			s = p.serve(coracle, 0, append(encrypted, fills.ours...)...)
			compare(t, was, s.read(t), whenTaken)
			s.resume(t, watches)
			s.knows(t, token)
			stop = p.control(s)
			s.use(t)
			informers.check(t, s)
			stop()
			if err := s.ready(); err != nil {
				t.Error(err)
			}
			was = s.read(t)
			s.stop()

			s = p.serve(fills.program, 0, theirs...)
			if fills.args == nil && fills.program == kube136 { // other servers serve other versions
				compare(t, was, s.read(t), whenGiven)
			}
			s.knows(t, token)
			s.rewrite(t)
		})
	}
}

// fsck wants `coracle fsck` to read everything in the etcd, before Coracle serves.
func (p *plane) fsck(t *testing.T) {
	t.Helper()
	cmd := exec.Command(executable(t, coracle), "fsck", "--etcd-servers="+p.etcd, "--encryption-provider-config="+p.path("encryption.yaml"))
	cmd.Args[0] = "coracle"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("fsck: %v\n%s", err, out)
	}
	t.Logf("fsck: %s", out)
}

// own are the objects in which each server records that it runs.
const own = `/leases/apiserver-|/namespaces/default/endpoints/kubernetes$|/endpointslices/kubernetes$`

// whenTaken are the differences that are allowed between kube-apiserver's answers and then
// Coracle's on the same etcd.
var whenTaken = []excuse{
	{own, ``, "each server records there that it runs"},
}

// whenGiven are the differences that are allowed between Coracle's answers and then
// kube-apiserver's on the same etcd.
var whenGiven = []excuse{
	{own, ``, "each server records there that it runs"},
}

// revisions returns the revision of each collection, from which watches go on.
func (s *server) revisions(t *testing.T) map[string]string {
	t.Helper()
	resources, err := s.resources()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]string{}
	for _, r := range resources {
		list, err := s.get(r.collection("") + "?limit=1")
		if err != nil {
			t.Errorf("list %s/%s: %v", r.root, r.name, err)
			continue
		}
		at[r.collection("")] = text(list, "metadata", "resourceVersion")
	}
	return at
}

// resume goes on with watches that began at another server.
func (s *server) resume(t *testing.T, revisions map[string]string) {
	t.Helper()
	each(slices.Sorted(maps.Keys(revisions)), func(path string) {
		err := s.watch(path+"?timeoutSeconds=1&resourceVersion="+revisions[path], func(event object) error {
			if event["type"] == "ERROR" {
				return fmt.Errorf("%v", event["object"])
			}
			return nil
		})
		if err != nil {
			t.Errorf("watch of %s from %s on: %v", path, revisions[path], err)
		}
	})
}

// token returns the token of a service account.
func (s *server) token(t *testing.T) string {
	t.Helper()
	o, err := s.create("/api/v1/namespaces/team/serviceaccounts/worker/token", object{"spec": object{"expirationSeconds": 3600}})
	if err != nil {
		t.Fatal(err)
	}
	return text(o, "status", "token")
}

// knows wants the server to authenticate a token, and to allow its user the read of a config map.
func (s *server) knows(t *testing.T, token string) {
	t.Helper()
	c := newClient(s.base, token)
	if _, err := c.get("/api/v1/namespaces/team/configmaps/settings"); err != nil {
		t.Errorf("with another server's token: %v", err)
	}
	if _, err := c.get("/api/v1/namespaces/team/secrets/keys"); !refusedWith(err, http.StatusForbidden) {
		t.Errorf("with another server's token: got %v, want Forbidden", err)
	}
}

// use labels every object, and has the controllers create, scale and delete some.
func (s *server) use(t *testing.T) {
	t.Helper()
	each(slices.Sorted(maps.Keys(s.read(t).objects())), func(path string) {
		_, err := s.patch(path, object{"metadata": object{"labels": object{"used": "yes"}}})
		if err != nil && !refusedWith(err, http.StatusNotFound) {
			t.Errorf("label %s: %v", path, err)
		}
	})
	s.must(t, "scale", func() error {
		_, err := s.patch("/apis/apps/v1/namespaces/team/deployments/web/scale", object{"spec": object{"replicas": 5}})
		return err
	})
	s.must(t, "delete", func() error { return s.remove("/apis/apps/v1/namespaces/team/deployments/old") })
	s.must(t, "delete", func() error { return s.remove("/api/v1/namespaces/gone") })
	s.must(t, "delete", func() error { return s.remove("/apis/batch/v1/namespaces/team/jobs/once") })
	s.must(t, "delete", func() error { return s.remove("/api/v1/namespaces/team/persistentvolumeclaims/waiting") })
	s.must(t, "delete", func() error {
		return s.remove("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/leavers.cluster.example")
	})
	kinds := s.kinds(t)
	for _, o := range documents(t, "testdata/later.yaml") {
		s.must(t, "create", func() error { return s.install(kinds, o) })
	}
	s.reaches(t, "/apis/apps/v1/namespaces/team/deployments/web", "5", "status", "readyReplicas")
	s.reaches(t, "/apis/apps/v1/namespaces/team/deployments/fresh", "2", "status", "readyReplicas")
	s.reaches(t, "/apis/batch/v1/namespaces/team/jobs/again", "1", "status", "succeeded")
	for _, path := range []string{
		"/apis/apps/v1/namespaces/team/deployments/old", "/api/v1/namespaces/gone", "/apis/batch/v1/namespaces/team/jobs/once",
		"/api/v1/namespaces/team/persistentvolumeclaims/waiting",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/leavers.cluster.example",
	} {
		s.reaches(t, path, "gone")
	}
	eventually(t, 30*time.Second, func() error { // the pods of deleted owners and the contents of the deleted namespace disappear
		for _, path := range []string{
			"/api/v1/namespaces/team/pods?labelSelector=app=old", "/apis/cluster.example/v1/namespaces/gone/gadgets",
			"/api/v1/namespaces/gone/pods",
		} {
			list, err := s.get(path)
			if err == nil && len(items(list)) > 0 {
				err = fmt.Errorf("%s: %d are left", path, len(items(list)))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// must repeats try after a conflict with a controller, and fails the test at another error.
func (s *server) must(t *testing.T, what string, try func() error) {
	t.Helper()
	err := try()
	for range 5 {
		if !refusedWith(err, http.StatusConflict) {
			break
		}
		err = try()
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// reaches waits until a field of an object has a value, or until the object is "gone".
func (s *server) reaches(t *testing.T, path, want string, field ...string) {
	t.Helper()
	var got string
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		o, err := s.get(path)
		switch {
		case refusedWith(err, http.StatusNotFound):
			got = "gone"
		case err != nil:
			got = err.Error()
		default:
			got = fmt.Sprint(at(o, field...))
		}
		if got == want {
			return
		}
	}
	t.Errorf("%s %s: got %.600s, want %s", path, strings.Join(field, "."), got, want)
}

// rewrite reads every object and writes it back unchanged.
func (s *server) rewrite(t *testing.T) {
	t.Helper()
	paths := slices.Sorted(maps.Keys(s.read(t)))
	each(paths, func(path string) {
		s.must(t, "write "+path, func() error {
			o, err := s.get(path)
			if err == nil {
				_, err = s.put(path, o)
			}
			if refusedWith(err, http.StatusNotFound) {
				return nil
			}
			return err
		})
	})
	t.Logf("%d objects were written back", len(paths))
}
