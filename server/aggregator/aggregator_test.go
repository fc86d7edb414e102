package aggregator

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
)

// through returns two functions that send a request for a resource of this server through an
// Aggregator: "alone" without a server behind, "beside" with one.
func through(t testing.TB) map[string]func() {
	r := httptest.NewRequest("GET", "/apis/apps/v1/namespaces/default/deployments/d", nil)
	info := new(request.Info)
	if err := request.Parse(r, info); err != nil {
		t.Fatal(err)
	}
	r = r.WithContext(request.NewContext(r.Context(), info))
	w := httptest.NewRecorder()
	sends := map[string]func(){}
	for name, table := range map[string]*map[meta.GroupVersion]*remote{
		"alone": nil, "beside": {{Group: "boats.example.com", Version: "v1"}: new(remote)},
	} {
		served := 0
		core := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ })
		on := generic.NewServer("aggregator", &router.Config{}, router.NewDiscovery(codec.NewFactory(scheme.New())), core)
		a := &Aggregator{on: on}
		a.table.Store(table)
		sends[name] = func() {
			before := served
			if a.ServeHTTP(w, r); served != before+1 {
				t.Fatal("it did not reach the core")
			}
		}
	}
	return sends
}

// TestAggregatorAllocates: a request that is not handed on allocates nothing.
func TestAggregatorAllocates(t *testing.T) {
	for name, send := range through(t) {
		if n := testing.AllocsPerRun(100, send); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkAggregator(b *testing.B) {
	for name, send := range through(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				send()
			}
		})
	}
}
