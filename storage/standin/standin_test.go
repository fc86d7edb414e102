package standin_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
	"github.com/coracle-project/coracle/storage/etcd"
	"github.com/coracle-project/coracle/storage/standin"
)

func TestMain(m *testing.M) {
	etcdproc.Main()
	goleak.VerifyTestMain(m)
}

// serve runs a stand-in and returns its URL.
func serve(t *testing.T, p standin.Location) string {
	t.Helper()
	s := httptest.NewUnstartedServer(standin.Handler(p))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

var place = standin.Location{Dir: "/data", NoSync: true}

func TestFind(t *testing.T) {
	here := serve(t, place)
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	liar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"health":"true"}`) }))
	defer liar.Close()
	port := here[strings.LastIndex(here, ":"):]
	for _, tt := range []struct {
		urls  []string
		found bool
	}{
		{[]string{here}, true},
		{[]string{here + "/"}, true},
		{[]string{"http://localhost" + port}, true},
		{[]string{here, here}, false},
		{nil, false},
		{[]string{strings.Replace(here, "http", "https", 1)}, false},
		{[]string{strings.TrimPrefix(here, "http://")}, false},
		{[]string{"http://0.0.0.0" + port}, false},
		{[]string{other.URL}, false},
		{[]string{liar.URL}, false},
		{[]string{"http://127.0.0.1:1"}, false},
		{[]string{etcdproc.Start(t)}, false},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // Find waits if no server listens
		p := standin.Find(ctx, tt.urls, func() {})
		cancel()
		if (p != nil) != tt.found || p != nil && *p != place {
			t.Errorf("%q: got %v, want one: %v", tt.urls, p, tt.found)
		}
	}
}

// TestAnswers checks a stand-in while it runs, when another one answers at its address, and when
// none does.
func TestAnswers(t *testing.T) {
	first, second := httptest.NewServer(standin.Handler(place)), serve(t, standin.Location{Dir: "/other"})
	if err := place.Check(t.Context(), first.URL); err != nil {
		t.Error(err)
	}
	if err := place.Check(t.Context(), second); err == nil {
		t.Error("another: got no error")
	}
	first.Close()
	if err := place.Check(t.Context(), first.URL); err == nil {
		t.Error("no server: got no error")
	}
}

// TestAsEtcd sends the requests of programs that have started an etcd and wait for it.
func TestAsEtcd(t *testing.T) {
	url := serve(t, place)
	for path, want := range map[string]string{
		"/health": `{"health":"true","reason":""}`, "/livez": "ok\n", "/readyz": "ok\n", "/version": `"etcdserver":"3.`, "/none": "404",
	} {
		resp, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.Contains(string(body), want) {
			t.Errorf("%s: got %s, want %s", path, body, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestClient: a client that takes the stand-in for an etcd learns at once that it is none.
func TestClient(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := etcd.Open(ctx, etcd.Config{Endpoints: []string{serve(t, place)}, DialTimeout: 20 * time.Second})
	if err == nil {
		s.Close()
	}
	if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "this is no etcd: it stands in for one") {
		t.Errorf("got %v, want an error at once", err)
	}
}

// TestFindWaits starts the stand-in while Find waits for it.
func TestFindWaits(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	found := make(chan *standin.Location)
	go func() { found <- standin.Find(t.Context(), []string{"http://" + address}, func() {}) }()
	select {
	case p := <-found:
		t.Fatalf("found %v where no server listens", p)
	case <-time.After(50 * time.Millisecond):
	}
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: standin.Handler(standin.Location{Dir: "/somewhere"})}
	go srv.Serve(l)
	defer srv.Close()
	if p := <-found; p == nil || p.Dir != "/somewhere" {
		t.Errorf("found %v", p)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if p := standin.Find(ended, []string{"http://127.0.0.1:1"}, func() {}); p != nil {
		t.Errorf("found %v", p)
	}
}
