package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestRemoteOwners: the garbage collector asks the server behind whether an owner exists. It
// deletes objects whose owner does not exist. It keeps other objects, also if the server behind
// gives no answer about their owner.
func TestRemoteOwners(t *testing.T) {
	const boats = "/apis/boats.example.com/v1/namespaces/ns/boats/"
	here := func(name string) scriptedAnswer {
		return scriptedAnswer{typ: "application/json", body: fmt.Sprintf(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",
			"metadata":{"name":%q,"namespace":"ns","uid":"of-%s","resourceVersion":"1"}}`, name, name)}
	}
	gone := func(name string) scriptedAnswer {
		return scriptedAnswer{code: 404, typ: "application/json", body: fmt.Sprintf(
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":%q,"group":"boats.example.com","kind":"boats"}}`, name)}
	}
	s := newScriptedServer(t, map[string]scriptedAnswer{
		"/apis": {typ: aggregatedList, body: boatsList}, boats + "here": here("here"), boats + "other": here("there"), boats + "gone": gone("gone"),
		boats + "silent": {code: http.StatusServiceUnavailable}, boats + "lost": {code: 404, typ: "text/plain", body: "404 page not found"},
	})
	front := servertest.Start(t, server.Config{
		Authorization: access.Config{Modes: []string{access.AlwaysAllow}}, Controllers: []string{"garbagecollector"},
	})
	server.NoAvailability(front.Server)
	p := &inProcess{&handled{Server: front.Server, TB: t}}
	p.mustDo("POST", "/api/v1/namespaces", `{"metadata":{"name":"ns"}}`)
	owned := func(name, owner, uid string) {
		t.Helper()
		p.mustDo("POST", "/api/v1/namespaces/ns/configmaps", fmt.Sprintf(`{"metadata":{"name":%q,"ownerReferences":[
			{"apiVersion":"boats.example.com/v1","kind":"Boat","name":%q,"uid":%q}]}}`, name, owner, uid))
	}
	owned("before", "gone", "of-gone") // created before the version of its owner is served
	s.aggregates(p, "v1", "boats.example.com", 100)
	available(p, "v1", "boats.example.com", "True")
	eventually(t, "the version is shown", func() bool { return discovered(p, "boats.example.com") == "v1 Current boats/status" })
	for _, owner := range []string{"here", "silent", "lost", "gone"} {
		owned(owner, owner, "of-"+owner)
	}
	owned("other", "other", "of-other") // another object has the name of its owner
	left := func() string {
		_, body := p.do("GET", "/api/v1/namespaces/ns/configmaps", "")
		var names []string
		for _, name := range []string{"before", "gone", "here", "lost", "other", "silent"} {
			if strings.Contains(body, `"name":"`+name+`","namespace":"ns"`) {
				names = append(names, name)
			}
		}
		return strings.Join(names, " ")
	}
	eventually(t, "objects without an owner are gone", func() bool { return left() == "here lost silent" })
	for _, owner := range []string{"here", "silent", "lost"} {
		eventually(t, "the server was asked for "+owner, func() bool { return s.was(boats+owner+" system:apiserver system:masters system:authenticated") > 0 })
	}
	if got, want := left(), "here lost silent"; got != want {
		t.Errorf("got the objects %q, want %q", got, want)
	}
	s.say(boats+"silent", gone("silent"))
	eventually(t, "the object is gone whose owner is known to be gone", func() bool { return left() == "here lost" })
}

// TestRemoteDependents: objects of a server behind are deleted with their owners, and their
// dependents with them, as if they were in this server's store.
func TestRemoteDependents(t *testing.T) {
	t.Parallel()
	const boats = "/apis/boats.example.com/v1/namespaces/ns/boats"
	back := newInProcess(t, func(cfg *server.Config) { cfg.Controllers = []string{} })
	back.mustDo("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"boats.boats.example.com"},"spec":{
		"group":"boats.example.com","scope":"Namespaced","names":{"plural":"boats","kind":"Boat"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)
	ext := httptest.NewTLSServer(back.Handler())
	t.Cleanup(ext.Close)
	front := servertest.Start(t, server.Config{
		Authorization: access.Config{Modes: []string{access.AlwaysAllow}}, Controllers: []string{"garbagecollector"},
	})
	server.NoAvailability(front.Server)
	p := &inProcess{&handled{Server: front.Server, TB: t}}
	p.mustDo("POST", "/api/v1/namespaces", `{"metadata":{"name":"ns"}}`)
	(&scriptedServer{Server: ext}).aggregates(p, "v1", "boats.example.com", 100)
	available(p, "v1", "boats.example.com", "True")
	eventually(t, "boats are shown", func() bool { return strings.HasPrefix(discovered(p, "boats.example.com"), "v1 Current boats") })

	kinds := map[string]string{boats: `"apiVersion":"boats.example.com/v1","kind":"Boat"`, maps: `"apiVersion":"v1","kind":"ConfigMap"`}
	const held = `,"finalizers":["example.com/held"]`
	make := func(path, name, more string) (ref string) {
		t.Helper()
		var made struct{ Metadata struct{ UID string } }
		code, body := p.do("POST", path, fmt.Sprintf(`{%s,"metadata":{"name":%q%s}}`, kinds[path], name, more))
		if err := json.Unmarshal([]byte(body), &made); code != http.StatusCreated || err != nil {
			t.Fatal(code, body, err)
		}
		return fmt.Sprintf(`,"ownerReferences":[{%s,"name":%q,"uid":%q,"blockOwnerDeletion":true}]`, kinds[path], name, made.Metadata.UID)
	}
	remove := func(path, name, policy string) {
		p.mustDo("DELETE", path+"/"+name, `{"propagationPolicy":"`+policy+`"}`)
	}
	is := func(path, name, text string) bool {
		code, body := p.do("GET", path+"/"+name, "")
		return code == http.StatusOK && strings.Contains(body, text)
	}
	gone := func(path, name string) {
		t.Helper()
		eventually(t, path+"/"+name+" is gone", func() bool { code, _ := p.do("GET", path+"/"+name, ""); return code == http.StatusNotFound })
	}
	// seenIfRemote returns when the collector has seen all boats made so far. It sees them in
	// order, and deletes a boat whose owner never existed as soon as it sees that boat. As in
	// Kubernetes, the collector's conclusions hold for the remote dependents that it has seen.
	// Dependents in the server's own store need no wait.
	objects := 0
	seenIfRemote := func(path string) {
		t.Helper()
		if path != boats {
			return
		}
		objects++
		name := fmt.Sprint("last-", objects)
		make(path, name, `,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"never","uid":"0"}]`)
		gone(path, name)
	}
	both := []string{maps, boats}
	for i, owners := range both {
		for j, dependents := range both {
			of := fmt.Sprint(i, "-", j)
			make(dependents, "background-"+of, make(owners, "b-"+of, ""))
			remove(owners, "b-"+of, "Background")
			gone(dependents, "background-"+of)

			make(dependents, "foreground-"+of, make(owners, "f-"+of, "")+held)
			seenIfRemote(dependents)
			remove(owners, "f-"+of, "Foreground")
			eventually(t, "the dependent goes", func() bool { return is(dependents, "foreground-"+of, "deletionTimestamp") })
			if !is(owners, "f-"+of, "foregroundDeletion") {
				t.Errorf("%s of %s: the owner has not waited", dependents, owners)
			}
			p.mustDo("PATCH", dependents+"/foreground-"+of, `{"metadata":{"finalizers":null}}`)
			gone(owners, "f-"+of)

			make(dependents, "orphan-"+of, make(owners, "o-"+of, ""))
			seenIfRemote(dependents)
			remove(owners, "o-"+of, "Orphan")
			gone(owners, "o-"+of)
			if is(dependents, "orphan-"+of, "ownerReferences") || !is(dependents, "orphan-"+of, "") {
				t.Errorf("%s of %s: the dependent has not been left alone", dependents, owners)
			}
		}
	}

	make(boats, "unreachable", make(maps, "owner", ""))
	make(maps, "kept", make(boats, "kept", ""))
	seenIfRemote(boats)
	available(p, "v1", "boats.example.com", "False")
	eventually(t, "the server behind this one is not asked any more", func() bool {
		code, _ := p.do("GET", boats+"/kept", "")
		return code == http.StatusServiceUnavailable
	})
	back.mustDo("DELETE", boats+"/kept", "") // this server does not learn of it
	remove(maps, "owner", "Foreground")
	time.Sleep(time.Second)
	if !is(maps, "kept", "") || !is(maps, "owner", "foregroundDeletion") {
		t.Error("an object was deleted while its owner or its dependents were unknown")
	}
	available(p, "v1", "boats.example.com", "True")
	gone(boats, "unreachable")
	gone(maps, "owner")
	gone(maps, "kept")
}
