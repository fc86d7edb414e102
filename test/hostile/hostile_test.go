package main

import (
	"io"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRefused sends every request once, and then checks that the server still serves.
func TestRefused(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "coracle")
	build := exec.Command("go", "build", "-o", binary, "./cmd/coracle")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server, err := startServer(t.Context(), binary, "debug", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		server.stop()
		if err := server.leaked(); err != nil {
			t.Error(err)
		}
	}()
	for _, q := range refused() {
		for _, proto := range []protocol{http1, http2} {
			if proto == http2 && q.odd {
				continue
			}
			a, err := newSender(server, proto).once(t.Context(), &q)
			switch {
			case unsaid(err):
			case err != nil:
				t.Errorf("%s over %s: %v", q.name, proto, err)
			case a.Status < 400 || a.Status >= 500:
				t.Errorf("%s over %s: got %d, want 4xx: %.200s", q.name, proto, a.Status, a.Body)
			case len(a.Body) > 32<<10:
				t.Errorf("%s over %s: a refusal of %d bytes", q.name, proto, len(a.Body))
			}
		}
	}
	if err := furnish(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	for _, q := range expensiveRequests() {
		if a, err := newSender(server, http1).once(t.Context(), &q); err != nil {
			t.Errorf("%s: %v", q.name, err)
		} else if a.Status >= 500 {
			t.Errorf("%s: got %d: %.200s", q.name, a.Status, a.Body)
		} else if a.Status >= 400 && len(a.Body) > 1<<20 {
			t.Errorf("%s: a refusal of %d bytes", q.name, len(a.Body))
		}
	}
	ready := request{method: "GET", target: "/readyz"}
	if a, err := newSender(server, http1).once(t.Context(), &ready); err != nil || a.Status != 200 {
		t.Errorf("afterwards: got %+v, %v", a, err)
	}
}

// TestBare wants the bare server to give the answer that it was told.
func TestBare(t *testing.T) {
	in, told := io.Pipe()
	said, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serveBare(in, out) }()
	bare, err := attach(told, said)
	if err != nil {
		t.Fatal(err)
	}
	want := answer{Status: 403, Header: map[string][]string{"X-A": {"b"}}, Body: []byte("no")}
	if err := bare.say(want); err != nil {
		t.Fatal(err)
	}
	for _, proto := range []protocol{http1, http2} {
		got, err := newSender(&bare.process, proto).once(t.Context(), &request{method: "GET", target: "/"})
		if err != nil || got.Status != want.Status || got.Header.Get("X-A") != "b" || string(got.Body) != "no" {
			t.Errorf("%s: got %+v, %v", proto, got, err)
		}
	}
	told.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
