package robust

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// garbageObject is an object of a family. A family is in one namespace.
type garbageObject struct {
	resource, namespace, name, uid string
	owners                         []*garbageObject // of the same family, each made before it
	gone                           bool             // it must be gone at the end
}

// family is a group of objects that own each other. Some are deleted, all with one policy, so that
// the order of the deletions does not matter.
type family struct {
	namespace string
	policy    string
	objects   []*garbageObject
	deleted   []*garbageObject // the objects to delete, which have no owners
}

var kinds = map[string]string{"configmaps": "ConfigMap", "secrets": "Secret"}

func collection(namespace, resource string) string {
	return "/api/v1/namespaces/" + namespace + "/" + resource
}

func newFamily(rng *rand.Rand, namespace, name string) *family {
	f := &family{namespace: namespace, policy: []string{"Background", "Foreground", "Orphan"}[rng.IntN(3)]}
	for i := range 20 {
		o := &garbageObject{namespace: namespace, resource: []string{"configmaps", "secrets"}[rng.IntN(2)], name: fmt.Sprintf("%s-%d", name, i)}
		for range rng.IntN(3) {
			if owner := rng.IntN(3 + i); owner < i && !slices.Contains(o.owners, f.objects[owner]) {
				o.owners = append(o.owners, f.objects[owner])
			}
		}
		if f.objects = append(f.objects, o); len(o.owners) == 0 && (i == 0 || rng.IntN(2) == 0) {
			f.deleted = append(f.deleted, o)
		}
	}
	return f
}

// makeFamily makes the objects, owners first.
func (c *caller) makeFamily(f *family) error {
	for _, o := range f.objects {
		refs := []tree{}
		for _, owner := range o.owners {
			refs = append(refs, tree{"apiVersion": "v1", "kind": kinds[owner.resource], "name": owner.name, "uid": owner.uid,
				"blockOwnerDeletion": c.rng.IntN(2) == 0})
		}
		data, err := c.must(collection(o.namespace, o.resource), request{method: "POST", contentType: asJSON, body: tree{
			"apiVersion": "v1", "kind": kinds[o.resource], "metadata": tree{"name": o.name, "ownerReferences": refs}}})
		if err != nil {
			return err
		}
		a := &answer{}
		if err := json.Unmarshal(data, a); err != nil {
			return err
		}
		o.uid = a.Metadata.UID
	}
	return nil
}

// remove deletes an object, which may be gone already if an answer is lost.
func (c *caller) remove(path, name, policy string) error {
	for end := time.Now().Add(patience); ; {
		t := Try{}
		c.try(&t, path, request{method: "DELETE", name: name, contentType: asJSON,
			body: tree{"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy}})
		if t.Result == acked || t.Result == notFound || t.Result == conflict { // a terminating namespace answers with a conflict
			return nil
		}
		if t.Result != unsent && t.Result != inDoubt || time.Now().After(end) {
			return fmt.Errorf("DELETE %s/%s: %d %s", path, name, t.Code, t.Error)
		}
	}
}

// garbageRun is a run of rounds, each with families of its own.
type garbageRun struct {
	*field
	families []*family
	doomed   string // a namespace that is deleted
}

// each does something with all families, several at a time.
func (r *garbageRun) each(do func(c *caller, f *family) error) error {
	const workers = 6
	errs := make([]error, workers)
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			c := r.caller(i)
			for at := i; at < len(r.families) && errs[i] == nil; at += workers {
				errs[i] = do(c, r.families[at])
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// round makes families, deletes some of each, and kills the server a few times meanwhile.
func (r *garbageRun) round(rng *rand.Rand, number, families int) error {
	var namespaces []string
	for i := range 3 {
		namespaces = append(namespaces, fmt.Sprintf("garbage-%d-%d", number, i))
		if _, err := r.caller(preparerID).must("/api/v1/namespaces", request{method: "POST", contentType: asJSON,
			body: tree{"apiVersion": "v1", "kind": "Namespace", "metadata": tree{"name": namespaces[i]}}}); err != nil {
			return err
		}
	}
	r.doomed, r.families = namespaces[0], nil
	for i := range families {
		r.families = append(r.families, newFamily(rng, namespaces[rng.IntN(len(namespaces))], fmt.Sprint("f", i)))
	}
	if err := r.each((*caller).makeFamily); err != nil {
		return err
	}
	deleted := make(chan error, 2)
	go func() {
		deleted <- r.each(func(c *caller, f *family) error {
			for _, o := range f.deleted {
				if err := c.remove(collection(o.namespace, o.resource), o.name, f.policy); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	go func() { deleted <- r.caller(finisherID).remove("/api/v1/namespaces", r.doomed, "Background") }()
	for range 4 {
		time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond) // the kill comes at a random time
		if err := r.cluster.fault("kill", rng); err != nil {
			return err
		}
	}
	if err := errors.Join(<-deleted, <-deleted); err != nil {
		return err
	}
	return r.settled(r.caller(preparerID), namespaces)
}

// remain returns the objects that must exist at the end, with the names of their owners. An object
// is deleted with the last of its owners, unless the policy is Orphan; it loses the references to
// owners that are deleted before.
func (r *garbageRun) remain() map[string]string {
	left := map[string]string{}
	for _, f := range r.families {
		for _, o := range f.objects {
			o.gone = slices.Contains(f.deleted, o)
			var owners []string
			for _, owner := range o.owners {
				if !owner.gone {
					owners = append(owners, owner.name)
				}
			}
			o.gone = o.gone || len(o.owners) > 0 && len(owners) == 0 && f.policy != "Orphan"
			if !o.gone && f.namespace != r.doomed {
				left[o.namespace+"/"+o.resource+"/"+o.name] = strings.Join(owners, " ")
			}
		}
	}
	return left
}

// found returns the existing objects, with the names of their owners.
func (c *caller) found(namespaces []string) (map[string]string, error) {
	found := map[string]string{}
	for _, namespace := range namespaces {
		for resource := range kinds {
			items, _, err := c.list(collection(namespace, resource))
			if err != nil {
				return nil, err
			}
			for _, item := range items {
				var o struct {
					Metadata struct {
						Name            string
						OwnerReferences []struct{ Name string }
					}
				}
				if err := json.Unmarshal(item, &o); err != nil {
					return nil, err
				}
				var owners []string
				for _, owner := range o.Metadata.OwnerReferences {
					owners = append(owners, owner.Name)
				}
				if o.Metadata.Name != rootCA {
					found[namespace+"/"+resource+"/"+o.Metadata.Name] = strings.Join(owners, " ")
				}
			}
		}
	}
	return found, nil
}

// settled waits until exactly the objects of remain exist. Then it waits until the collector has
// done all its work, and checks that they still do.
func (r *garbageRun) settled(c *caller, namespaces []string) error {
	want := r.remain()
	var got map[string]string
	same := func() (ok bool, err error) {
		got, err = c.found(namespaces)
		return maps.Equal(got, want), err
	}
	differ := func() error {
		for key := range got {
			if owners, ok := want[key]; !ok || owners != got[key] {
				return fmt.Errorf("%s (of %q) is there; want it to be: %v, of %q", key, got[key], ok, owners)
			}
		}
		for key := range want {
			if _, ok := got[key]; !ok {
				return fmt.Errorf("%s is gone", key)
			}
		}
		return nil
	}
	if err := within(patience, "other objects are there than should remain", same); err != nil {
		return errors.Join(err, differ())
	}
	last := &family{namespace: namespaces[1]}
	owner := &garbageObject{namespace: last.namespace, resource: "configmaps", name: "last"}
	last.objects = []*garbageObject{owner, {namespace: last.namespace, resource: "secrets", name: "behind", owners: []*garbageObject{owner}}}
	if err := c.makeFamily(last); err != nil {
		return err
	}
	if err := c.remove(collection(last.namespace, "configmaps"), "last", "Foreground"); err != nil {
		return err
	}
	if err := within(patience, "the last dependent is there", func() (bool, error) {
		found, err := c.found(namespaces)
		_, there := found[last.namespace+"/secrets/behind"]
		_, waits := found[last.namespace+"/configmaps/last"]
		return !there && !waits, err
	}); err != nil {
		return err
	}
	if _, err := same(); err != nil {
		return err
	}
	return differ()
}

// TestGarbage deletes owners by every policy, and a namespace, while the server is killed. Exactly
// the objects of remain must exist afterwards.
func TestGarbage(t *testing.T) {
	t.Parallel()
	build(t)
	rounds, families := 1, 20
	if soaking {
		rounds, families = 40, 100
	}
	f, err := newField(Config{Storage: "embedded", Servers: 1}, programs, workDir(t, "garbage"), seed)
	if err != nil {
		t.Fatal(err)
	}
	defer f.cluster.kill()
	rng := rand.New(rand.NewPCG(seed, 0))
	begun := time.Now()
	for i := range rounds {
		if err := (&garbageRun{field: f}).round(rng, i, families); err != nil {
			t.Fatalf("round %d: %v; %v", i, err, f.woes)
		}
	}
	f.cluster.end(f.trouble)
	for _, woe := range f.woes {
		t.Error(woe)
	}
	log.Printf("garbage: %d rounds of %d families in %v", rounds, families, time.Since(begun).Round(time.Millisecond))
}
