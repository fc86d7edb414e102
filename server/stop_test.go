package server_test

import (
	"crypto/tls"
	"net/http"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestStopsSoon: a server ends without waiting for idle connections: one of HTTP/2, and one on
// which no request was sent.
func TestStopsSoon(t *testing.T) {
	t.Parallel()
	var begun time.Time
	ended := t                     // the clients close their connections after the server has ended
	t.Run("", func(t *testing.T) { // the end of the subtest ends the server
		s := servertest.Start(t, server.Config{})
		trust := &tls.Config{RootCAs: pool(t, s.CAPEM)}
		idle := &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true}
		ended.Cleanup(idle.CloseIdleConnections)
		resp, err := (&http.Client{Transport: idle}).Get(s.URL + "/readyz")
		if err != nil || resp.ProtoMajor != 2 {
			t.Fatal(resp, err)
		}
		resp.Body.Close()
		silent, err := tls.Dial("tcp", s.URL[len("https://"):], trust)
		if err != nil {
			t.Fatal(err)
		}
		ended.Cleanup(func() { silent.Close() })
		begun = time.Now()
	})
	if took := time.Since(begun); took > 900*time.Millisecond {
		t.Errorf("stopping took %v", took)
	}
}
