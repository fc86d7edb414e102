package ownership_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/loops/ownergraph"
	"github.com/coracle-project/coracle/server/loops/ownership"
)

// withBoats are Resources with config maps, and with boats, which a server behind keeps.
type withBoats struct {
	mu       sync.Mutex
	followed bool          // boats can be listed and watched
	changed  chan struct{} // closed when that changes
}

const (
	boatsPrefix = "//boats.example.com/boats/"
	boatsPath   = "/apis/boats.example.com/v1/"
	mapsPrefix  = "/registry/configmaps/"
	mapsPath    = "/api/v1/namespaces/default/configmaps/"
)

var mapsMapping = ownergraph.Mapping{
	Resource: meta.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Prefix: mapsPrefix, Namespaced: true,
}

var boatsMapping = ownergraph.Mapping{
	Resource: meta.GroupVersionResource{Group: "boats.example.com", Version: "v1", Resource: "boats"}, Prefix: boatsPrefix, Namespaced: true,
}

func (r *withBoats) ObjectAt(key string) (ownership.ObjectRef, bool) {
	if rest, ok := strings.CutPrefix(key, boatsPrefix); ok {
		namespace, name, _ := strings.Cut(rest, "/")
		return ownership.ObjectRef{Resource: boatsMapping.Resource, Kind: "Boat", Namespace: namespace, Name: name, Remote: true}, true
	}
	namespace, name, ok := strings.Cut(strings.TrimPrefix(key, mapsPrefix), "/")
	return ownership.ObjectRef{Resource: mapsMapping.Resource, Kind: "ConfigMap", Namespace: namespace, Name: name}, ok
}

func (r *withBoats) Mapping(apiVersion, kind string) (ownergraph.Mapping, bool) {
	if apiVersion == "boats.example.com/v1" && kind == "Boat" {
		return boatsMapping, true
	}
	return mapsMapping, apiVersion == "v1" && kind == "ConfigMap"
}

func (*withBoats) Ignored(string) bool { return false }

func (r *withBoats) RemoteResources() ([]ownergraph.Mapping, []meta.GroupVersion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.followed {
		return []ownergraph.Mapping{boatsMapping}, nil
	}
	return nil, nil
}

func (r *withBoats) Changed() (_, elsewhere <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return nil, r.changed
}

// leave ends the lists and watches of boats.
func (r *withBoats) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.followed, r.changed = false, make(chan struct{})
}

// answers has the bodies that a server behind sends, by method and path. "" stands for no answer,
// "late" for a 503 after half a minute, and a missing entry for a 404. A GET of a deleted object
// gets 404.
type answers struct {
	mu    sync.Mutex
	says  map[string]string
	asked map[string]int // the number of requests
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	question := r.Method + " " + r.URL.Path
	if r.URL.Query().Get("watch") != "" {
		question = "WATCH " + r.URL.Path
	}
	a.asked[question]++
	body, ok := a.says[question]
	if r.Method == http.MethodDelete {
		delete(a.says, "GET "+r.URL.Path)
		body, ok = `{"kind":"Status","apiVersion":"v1","status":"Success"}`, true
	}
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"some"}}`)
	case body == "":
		<-r.Context().Done()
	case body == "late", body == "503":
		if body == "late" {
			time.Sleep(30 * time.Second)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		fmt.Fprintln(w, body)
	}
}

func (a *answers) say(question, body string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.says[question] = body
}

func (a *answers) unsay(question string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.says, question)
}

func (a *answers) was(question string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[question]
}

// listOf returns a list of one object.
func listOf(object string) string {
	return `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"y"},"items":[` + object + `]}`
}

// boat returns a boat with more JSON in its metadata.
func boat(name, more string) string {
	return fmt.Sprintf(strings.ReplaceAll(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{
		"name":%q,"namespace":"default","uid":"uid-of-%[1]s","resourceVersion":"x"%s}}`, "\n", ""), name, more) // an event is one line
}

// collect runs a collector in fake time on one stored object, until test returns. followed is
// whether boats can be listed and watched.
func collect(t *testing.T, stored string, followed bool, says map[string]string, test func(r *withBoats, a *answers)) {
	synctest.Test(t, func(t *testing.T) {
		s := scheme.New()
		corev1.Scheme.AddToScheme(s)
		if err := s.Complete(); err != nil {
			t.Fatal(err)
		}
		a, r := &answers{says: says, asked: map[string]int{}}, &withBoats{followed: followed, changed: make(chan struct{})}
		c, err := client.New(client.Config{Transport: client.HandlerTransport(a), Codecs: codec.NewFactory(s)})
		if err != nil {
			t.Fatal(err)
		}
		collector := &ownership.GarbageCollector{Client: c, Resources: r, Stream: func(ctx context.Context) iter.Seq2[ownership.Change, error] {
			return func(yield func(ownership.Change, error) bool) {
				if yield(ownership.Change{Key: mapsPrefix + "default/d", Value: []byte(stored), Rev: 7}, nil) && yield(ownership.Change{Synced: true}, nil) {
					<-ctx.Done()
				}
			}
		}}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { collector.Run(ctx) })
		time.Sleep(time.Second)
		test(r, a)
		cancel()
		wg.Wait() // synctest fails the test if a goroutine is left
	})
}

const ofBoat = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"d","namespace":"default","uid":"uid-of-d","resourceVersion":"7",
	"ownerReferences":[{"apiVersion":"boats.example.com/v1","kind":"Boat","name":"b","uid":"uid-of-b"}]}}`

// TestRemoteOwnerGoesLater: where boats cannot be watched, an owner is asked for once a minute.
func TestRemoteOwnerGoesLater(t *testing.T) {
	const owner, dependent = "GET " + boatsPath + "namespaces/default/boats/b", "DELETE " + mapsPath + "d"
	collect(t, ofBoat, false, map[string]string{owner: boat("b", ""), "GET " + mapsPath + "d": ofBoat}, func(_ *withBoats, a *answers) {
		time.Sleep(10 * time.Minute)
		if got := a.was(owner); got != 11 || a.was(dependent) > 0 {
			t.Errorf("in ten minutes the owner was asked for %d times, want 11, and the dependent deleted %d times", got, a.was(dependent))
		}
		a.say(owner, "503")
		time.Sleep(10 * time.Minute)
		if got := a.was(owner); got > 40 || a.was(dependent) > 0 {
			t.Errorf("a server that is away was asked %d times, and the dependent deleted %d times", got, a.was(dependent))
		}
		a.unsay(owner)
		time.Sleep(time.Minute)
		if a.was(dependent) != 1 {
			t.Errorf("a minute after its owner has gone the dependent was deleted %d times", a.was(dependent))
		}
	})
}

// TestRemoteWatchIsNotTrusted sends a deletion event for an owner that a GET still finds: its
// dependents stay. They go when the GET finds none.
func TestRemoteWatchIsNotTrusted(t *testing.T) {
	const owner, dependent, list = "GET " + boatsPath + "namespaces/default/boats/b", "DELETE " + mapsPath + "d", boatsPath + "boats"
	event := `{"type":"DELETED","object":` + boat("b", "") + `}`
	says := map[string]string{
		owner: boat("b", ""), "GET " + mapsPath + "d": ofBoat, "WATCH " + list: event,
		"GET " + list: listOf(boat("b", "")),
	}
	collect(t, ofBoat, true, says, func(_ *withBoats, a *answers) {
		time.Sleep(20 * time.Second)
		if a.was("WATCH "+list) == 0 || a.was(dependent) > 0 {
			t.Errorf("boats were watched %d times, and the dependent deleted %d times", a.was("WATCH "+list), a.was(dependent))
		}
		a.unsay(owner)
		time.Sleep(2 * time.Second)
		if a.was(dependent) == 0 {
			t.Error("the owner is gone, and the dependent still exists")
		}
	})
}

// TestRemoteDependentsUnavailable expects lists of boats with growing pauses while they fail, and
// the deletion of ownerless boats when one succeeds. When the resource is gone, the watch ends.
func TestRemoteDependentsUnavailable(t *testing.T) {
	const list, dependent = boatsPath + "boats", boatsPath + "namespaces/default/boats/x"
	owned := boat("x", `,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"uid-of-gone"}]`)
	collect(t, ofBoat, true, map[string]string{
		"GET " + list: "503", "GET " + dependent: owned, "GET " + boatsPath + "namespaces/default/boats/b": boat("b", "")},
		func(r *withBoats, a *answers) {
			time.Sleep(10 * time.Minute)
			if got := a.was("GET " + list); got < 10 || got > 30 {
				t.Errorf("a server that is away was asked %d times in ten minutes", got)
			}
			if a.was("DELETE "+dependent) > 0 {
				t.Error("a boat was deleted that no list has returned")
			}
			a.say("WATCH "+list, "")
			a.say("GET "+list, listOf(owned))
			time.Sleep(time.Minute)
			if a.was("DELETE "+dependent) != 1 || a.was("WATCH "+list) == 0 {
				t.Errorf("the boat was deleted %d times, and boats watched %d times", a.was("DELETE "+dependent), a.was("WATCH "+list))
			}
			r.leave()
			time.Sleep(time.Second)
			before := a.was("GET "+list) + a.was("WATCH "+list)
			time.Sleep(10 * time.Minute)
			if after := a.was("GET "+list) + a.was("WATCH "+list); after != before {
				t.Errorf("a resource that is gone was asked for %d times", after-before)
			}
		})
}

// TestRemoteHolds: the finalizer of an owner that waits for its dependents stays until boats have
// been listed, or the list has failed.
func TestRemoteHolds(t *testing.T) {
	const list, owner = "GET " + boatsPath + "boats", mapsPath + "d"
	stored := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"d","namespace":"default","uid":"uid-of-d","resourceVersion":"7",
		"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["orphan"]}}`
	live := boat("d", `,"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["orphan"]`)
	collect(t, stored, true, map[string]string{list: "late", "GET " + owner: live, "PATCH " + owner: live}, func(_ *withBoats, a *answers) {
		time.Sleep(20 * time.Second)
		if a.was("PATCH "+owner) > 0 || a.was("GET "+owner) > 2 {
			t.Errorf("before boats were listed the owner was let go %d times, and looked at %d times", a.was("PATCH "+owner), a.was("GET "+owner))
		}
		time.Sleep(20 * time.Second)
		if a.was("PATCH "+owner) == 0 {
			t.Error("the owner waits for ever")
		}
	})
}
