package cluster

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// resource is a resource in one of the versions in which it is served.
type resource struct {
	root       string // /api/v1 or /apis/GROUP/VERSION
	name       string
	namespaced bool
}

// collection is the path of all objects, of one namespace if the resource has namespaces and
// namespace is not empty.
func (r resource) collection(namespace string) string {
	if r.namespaced && namespace != "" {
		return r.root + "/namespaces/" + namespace + "/" + r.name
	}
	return r.root + "/" + r.name
}

// path is the path of an object.
func (r resource) path(o object) string {
	return r.collection(text(o, "metadata", "namespace")) + "/" + text(o, "metadata", "name")
}

// versions returns the paths of all versions of groups that a server serves, the preferred one of
// each group first.
func (c *client) versions() ([]string, error) {
	roots := []string{"/api/v1"}
	groups, err := c.get("/apis")
	if err != nil {
		return nil, err
	}
	for _, g := range groups["groups"].([]any) {
		preferred := text(g, "preferredVersion", "groupVersion")
		roots = append(roots, "/apis/"+preferred)
		for _, v := range at(g, "versions").([]any) {
			if gv := text(v, "groupVersion"); gv != preferred {
				roots = append(roots, "/apis/"+gv)
			}
		}
	}
	return roots, nil
}

// resources returns the resources that can be listed and read, in all versions.
func (c *client) resources() ([]resource, error) {
	roots, err := c.versions()
	if err != nil {
		return nil, err
	}
	var all []resource
	for _, root := range roots {
		list, err := c.get(root)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", root, err)
		}
		for _, r := range list["resources"].([]any) {
			verbs, _ := at(r, "verbs").([]any)
			if name := text(r, "name"); !strings.Contains(name, "/") && name != "componentstatuses" &&
				slices.Contains(verbs, any("list")) && slices.Contains(verbs, any("get")) {
				all = append(all, resource{root, name, at(r, "namespaced") == true})
			}
		}
	}
	return all, nil
}

// state is every object that a server has, by its path in each version.
type state map[string]object

// read gets every object in every version that the server serves it in.
func (s *server) read(t *testing.T) state {
	t.Helper()
	resources, err := s.resources()
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, r := range resources {
		list, err := s.get(r.collection(""))
		if err != nil {
			t.Errorf("list %s/%s: %v", r.root, r.name, err)
		}
		for _, o := range items(list) {
			paths = append(paths, r.path(o))
		}
	}
	all, mu := state{}, sync.Mutex{}
	each(paths, func(path string) {
		o, err := s.get(path)
		if refusedWith(err, 404) { // it was deleted after the list
			return
		}
		if err != nil {
			t.Errorf("get %s: %v", path, err)
			return
		}
		mu.Lock()
		all[path] = o
		mu.Unlock()
	})
	return all
}

// objects is a state with one path for each object: the same object has the same uid in all
// versions.
func (all state) objects() state {
	once, seen := state{}, map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		uid := text(all[path], "metadata", "uid")
		if other, ok := seen[uid]; ok && uid != "" && !newer(path, other) {
			continue
		} else if ok {
			delete(once, other)
		}
		once[path], seen[uid] = all[path], path
	}
	return once
}

// newer reports whether a path has a stable version and the other an alpha or beta version.
func newer(path, other string) bool {
	beta := regexp.MustCompile(`/v\d+(alpha|beta)\d+/`)
	return !beta.MatchString(path) && beta.MatchString(other)
}

// each calls f with all values, several at a time.
func each[T any](values []T, f func(T)) {
	var wg sync.WaitGroup
	next := make(chan T)
	for range 8 {
		wg.Go(func() {
			for v := range next {
				f(v)
			}
		})
	}
	for _, v := range values {
		next <- v
	}
	close(next)
	wg.Wait()
}

// excuse is an intended difference: in objects whose path matches object, in fields whose path
// matches field.
type excuse struct{ object, field, why string }

// compare reports the differences between two states that have no excuse.
func compare(t *testing.T, was, is state, excuses []excuse) {
	t.Helper()
	excused := func(path, field string) bool {
		return slices.ContainsFunc(excuses, func(e excuse) bool {
			return regexp.MustCompile(e.object).MatchString(path) && regexp.MustCompile(e.field).MatchString(field)
		})
	}
	same, differ := 0, 0
	report := func(path, field string, was, is any) {
		if !excused(path, field) {
			differ++
			t.Errorf("%s %s:\n\twas %.400v\n\tis  %.400v", path, field, was, is)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(was)) {
		now, ok := is[path]
		if !ok {
			report(path, "", "there", "missing")
			continue
		}
		before := differ
		differences("", was[path], now, func(field string, was, is any) { report(path, field, was, is) })
		if before == differ {
			same++
		}
	}
	for _, path := range slices.Sorted(maps.Keys(is)) {
		if _, ok := was[path]; !ok {
			report(path, "", "missing", "there")
		}
	}
	t.Logf("%d of %d objects are the same", same, len(was))
}

// differences calls report for each field that differs between two values.
func differences(field string, was, is any, report func(field string, was, is any)) {
	a, isMap := was.(object)
	b, isMapToo := is.(object)
	if isMap && isMapToo {
		names := maps.Clone(a)
		maps.Copy(names, b)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			x, inA := a[name]
			y, inB := b[name]
			if inA && inB {
				differences(field+"."+name, x, y, report)
			} else {
				report(field+"."+name, orMissing(x, inA), orMissing(y, inB))
			}
		}
		return
	}
	x, isList := was.([]any)
	y, isListToo := is.([]any)
	if isList && isListToo && len(x) == len(y) {
		for i := range x {
			differences(fmt.Sprintf("%s[%d]", field, i), x[i], y[i], report)
		}
		return
	}
	if !reflect.DeepEqual(was, is) {
		report(field, was, is)
	}
}

func orMissing(v any, there bool) any {
	if !there {
		return "(missing)"
	}
	return v
}
