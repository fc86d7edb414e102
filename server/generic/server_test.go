package generic

import (
	"context"
	"fmt"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// conflict is a Getter that answers 409. The test thus distinguishes a served resource from one
// that is not served (404).
type conflict struct{ router.Encoder }

func (conflict) FormOf(string, codec.Media) uint32 { return 1 }

func (conflict) Get(context.Context, string, string, string) (request.Encoded, error) {
	return nil, meta.NewConflict(meta.GroupResource{}, "a", fmt.Errorf("served"))
}

// TestServerOrder installs and removes groups while a client polls discovery and requests each
// resource as soon as discovery shows it: a resource that is shown is served.
func TestServerOrder(t *testing.T) {
	codecs := codec.NewFactory(scheme.New())
	g := NewServer("one", &router.Config{Codecs: codecs}, router.NewDiscovery(codecs), nil)
	served := func(r *request.Info, path string) bool {
		w := httptest.NewRecorder()
		req := httptest.NewRequest("GET", path, nil)
		g.ServeHTTP(w, req.WithContext(request.NewContext(req.Context(), r)))
		return w.Code == 409
	}
	shown, seen := make(chan string), make(chan bool)
	var client sync.WaitGroup
	client.Go(func() {
		for path := range shown {
			info := &request.Info{}
			if err := request.Parse(httptest.NewRequest("GET", path, nil), info); err != nil {
				t.Error(err)
			}
			for !inDiscovery(g, path, info) {
				runtime.Gosched()
			}
			if !served(info, path) {
				t.Errorf("%s is shown before it is served", path)
			}
			seen <- true
			for served(info, path) {
				runtime.Gosched()
			}
			if inDiscovery(g, path, info) {
				t.Errorf("%s is shown after its end", path)
			}
			seen <- true
		}
	})
	for i := range 300 {
		gv := meta.GroupVersion{Group: fmt.Sprintf("g%d", i), Version: "v1"}
		versions := []router.GroupVersion{{GroupVersion: gv, Resources: []router.Resource{{
			Description: meta.Description{Name: "things", Kind: gv.WithKind("Thing")},
			Getter:      conflict{},
			Encoder:     conflict{},
		}}}}
		shown <- "/apis/" + gv.String() + "/things/a"
		g.Install(versions...)
		<-seen
		if err := g.Remove(versions...).Wait(t.Context()); err != nil {
			t.Error(err)
		}
		<-seen
	}
	close(shown)
	client.Wait()
}

// inDiscovery reports whether discovery has the group of a path.
func inDiscovery(g *Server, path string, info *request.Info) bool {
	_, known := g.Discovery.GroupOf(path, info)
	return known
}
