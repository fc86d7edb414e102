package filters

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/router/request"
)

// live serves h behind c's chain on a real connection, and sends it a request of alice's.
func live(t *testing.T, c Config, h http.HandlerFunc, target string, headers ...string) (*http.Response, string) {
	t.Helper()
	s := httptest.NewServer(Chain(h, c.Steps()...))
	defer s.Close()
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice-token")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	// DisableCompression: we want to see what is sent.
	tr := &http.Transport{DisableCompression: true}
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(r)
	if err != nil {
		return nil, "error: " + err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp, "error: " + err.Error()
	}
	return resp, string(body)
}

func TestFlushAndHijack(t *testing.T) {
	resp, body := live(t, testConfig(t), func(w http.ResponseWriter, r *http.Request) {
		if _, ok := w.(http.Flusher); !ok {
			t.Error("writer is no http.Flusher")
		}
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = io.WriteString(w, "a")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("Flush: %v", err)
		}
		_, _ = io.WriteString(w, "b")
		if i := request.From(r.Context()); i.Status != 200 || i.Written != 2 {
			t.Errorf("Info: got status %d, %d bytes, want 200, 2", i.Status, i.Written)
		}
	}, "/api/v1/pods?watch=1", "Accept-Encoding", "gzip")
	if resp == nil || resp.StatusCode != 200 || body != "ab" {
		t.Errorf("got %+v %q", resp, body)
	}

	resp, body = live(t, testConfig(t), func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("Hijack: %v", err)
			return
		}
		defer conn.Close()
		fmt.Fprint(rw, "HTTP/1.1 299 Mine\r\nContent-Length: 1\r\n\r\nx")
		_ = rw.Flush()
	}, "/api/v1/namespaces/n/pods/p/exec")
	if resp == nil || resp.StatusCode != 299 || body != "x" {
		t.Errorf("hijacked: got %+v %q, want 299 x", resp, body)
	}
}

// TestFlushCompressed: flushed data arrives even if the response is compressed and goes on.
func TestFlushCompressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := strings.Repeat("x", compressFrom)
		c := dial(t, testConfig(t), func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, large+"first")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("Flush: %v", err)
			}
			<-r.Context().Done()
		})
		c.send("GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice-token\r\nAccept-Encoding: gzip\r\n\r\n")
		begun := time.Now()
		resp, err := http.ReadResponse(c.answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(large)+len("first"))
		if _, err := io.ReadFull(z, got); err != nil || !strings.HasSuffix(string(got), "xfirst") || time.Since(begun) > 0 {
			t.Errorf("got %.10q... after %v, %v", got, time.Since(begun), err)
		}
	})
}

// TestStatus: log and Info show the code that the client got, however it was set.
func TestStatus(t *testing.T) {
	hijack := func(w http.ResponseWriter) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Mine\r\n\r\n")
			conn.Close()
		}
	}
	for _, tt := range []struct {
		name string
		h    func(w http.ResponseWriter)
		want int
	}{
		{"silent", func(http.ResponseWriter) {}, 200},
		{"written", func(w http.ResponseWriter) { _, _ = w.Write(nil) }, 200},
		{"said", func(w http.ResponseWriter) { w.WriteHeader(409) }, 409},
		{"continue, then said", func(w http.ResponseWriter) { w.WriteHeader(100); w.WriteHeader(409) }, 409},
		{"hints, then said", func(w http.ResponseWriter) { w.WriteHeader(103); w.WriteHeader(409) }, 409},
		{"switched", func(w http.ResponseWriter) { w.WriteHeader(101) }, 101},
		{"hijacked", hijack, 101},
	} {
		runStill(t, tt.name, func(t *testing.T) {
			core, lines := observer.New(zapcore.DebugLevel)
			config := testConfig(t)
			config.Log = zap.New(core)
			c := dial(t, config, func(w http.ResponseWriter, _ *http.Request) { tt.h(w) })
			c.send("GET /api/v1/namespaces/n/pods/p/exec HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice-token\r\n\r\n")
			code, _ := c.answer(t)
			for code < 200 && code != tt.want {
				code, _ = c.answer(t)
			}
			synctest.Wait()
			logged := lines.FilterMessage("request").All()
			if code != tt.want || len(logged) != 1 || logged[0].ContextMap()["status"] != int64(tt.want) {
				t.Errorf("got %d, logged as %v, want %d", code, logged, tt.want)
			}
		})
	}
}

// TestHijackRefused: where there is no connection to take over, the handler can still answer.
func TestHijackRefused(t *testing.T) {
	w := serve(testConfig(t), func(w http.ResponseWriter, r *http.Request) {
		if _, _, err := http.NewResponseController(w).Hijack(); err == nil {
			t.Error("Hijack: got no error")
		}
		request.From(r.Context()).Warn("not here")
		w.WriteHeader(http.StatusNotImplemented)
	}, "alice-token", "GET", "/api/v1/namespaces/n/pods/p/exec")
	if w.Code != http.StatusNotImplemented || w.Header().Get("Warning") == "" {
		t.Errorf("got %d %v, want 501 with a warning", w.Code, w.Header())
	}
}

func TestWarnings(t *testing.T) {
	long := strings.Repeat("ä", 3000)
	for _, tt := range []struct {
		name  string
		texts []string
		want  []string
	}{
		{"none", nil, nil},
		{"order, once each", []string{"b", "a", "b"}, []string{`299 - "b"`, `299 - "a"`}},
		{"escapes", []string{`unknown field "spec.x\y"`}, []string{`299 - "unknown field \"spec.x\\y\""`}},
		{"not for headers", []string{"a\nb", "\xff", "c"}, []string{`299 - "c"`}},
		{"long but alone", []string{long}, []string{`299 - "` + long + `"`}},
		{"too long", []string{long, long + "b"}, []string{`299 - "` + long[:512] + `"`, `299 - "` + long[:512] + `"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := serve(testConfig(t), func(w http.ResponseWriter, r *http.Request) {
				for _, text := range tt.texts {
					request.From(r.Context()).Warn(text)
				}
				ok(w, r)
			}, "alice-token", "GET", "/api/v1/pods")
			if got := w.Header()["Warning"]; fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCompress(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", compressFrom/16)
	write := func(pieces ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			for _, p := range pieces {
				_, _ = io.WriteString(w, p)
			}
		}
	}
	sized := func(size string, pieces ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", size)
			write(pieces...)(w, r)
		}
	}
	for _, tt := range []struct {
		name, accept, target string
		h                    http.HandlerFunc
		want                 string
		zipped               bool
	}{
		{"large", "gzip", "/api/v1/pods", write(large), large, true},
		{"large, among others", "br, gzip ,deflate", "/api/v1/pods", write(large), large, true},
		{"one object", "gzip", "/api/v1/namespaces/n/pods/p", write(large), large, true},
		{"in pieces", "gzip", "/api/v1/pods", write(large[:1000], large[1000:2000], large), large[:2000] + large, true},
		{"sized, in pieces", "gzip", "/api/v1/pods", sized("131072", large[:7], large[7:]), large, true},
		{"small", "gzip", "/api/v1/pods", write(large[1:]), large[1:], false},
		{"small, sized", "gzip", "/api/v1/pods", sized("2", "o", "k"), "ok", false},
		{"empty", "gzip", "/api/v1/pods", write(), "", false},
		{"silent", "gzip", "/api/v1/pods", func(http.ResponseWriter, *http.Request) {}, "", false},
		{"flushed when it is large", "gzip", "/api/v1/pods", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, large)
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "more")
		}, large + "more", true},
		{"not wanted", "", "/api/v1/pods", write(large), large, false},
		{"watch", "gzip", "/api/v1/pods?watch=1", write(large), large, false},
		{"log", "gzip", "/api/v1/namespaces/n/pods/p/log", write(large), large, false},
		{"no resource", "gzip", "/openapi/v2", write(large), large, false},
		{"encoded already", "gzip", "/api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "identity")
			write(large)(w, r)
		}, large, false},
		{"not modified", "gzip", "/api/v1/pods", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, "", false},
		{"no content", "gzip", "/api/v1/pods", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "", false},
		{"hints first", "gzip", "/api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			write(large)(w, r)
		}, large, true},
		{"code said twice", "gzip", "/api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.WriteHeader(http.StatusTeapot)
			write("ok")(w, r)
		}, "ok", false},
		{"flushed", "gzip", "/api/v1/pods", func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, large)
		}, large, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := live(t, testConfig(t), tt.h, tt.target, "Accept-Encoding", tt.accept)
			if resp == nil {
				t.Fatal(body)
			}
			zipped := resp.Header.Get("Content-Encoding") == "gzip"
			if zipped != tt.zipped || zipped != (resp.Header.Get("Vary") == "Accept-Encoding") {
				t.Errorf("headers: got %v, want gzip: %v", resp.Header, tt.zipped)
			}
			if resp.StatusCode >= 400 {
				t.Errorf("got %d", resp.StatusCode)
			}
			if zipped {
				z, err := gzip.NewReader(strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				plain, err := io.ReadAll(z)
				if err != nil {
					t.Fatal(err)
				}
				body = string(plain)
			}
			if body != tt.want {
				t.Errorf("body: got %d bytes, want %d", len(body), len(tt.want))
			}
		})
	}
}

func TestRecover(t *testing.T) {
	core, logs := observer.New(zapcore.DebugLevel)
	c := testConfig(t)
	c.Log = zap.New(core)
	resp, body := live(t, c, func(http.ResponseWriter, *http.Request) { panic("oh") }, "/api/v1/pods?x=secret")
	if resp == nil {
		t.Fatal(body)
	}
	if want := "InternalError: This request caused apiserver to panic. Look in the logs for details."; resp.StatusCode != 500 || body != want {
		t.Errorf("got %d %s, want 500 %s", resp.StatusCode, body, want)
	}
	if n := logs.FilterMessage("request panicked").Len(); n != 1 {
		t.Errorf("panic logged %d times, want once", n)
	}
	lines := logs.FilterMessage("request").All()
	if len(lines) != 1 || lines[0].Level != zapcore.WarnLevel || lines[0].ContextMap()["status"] != int64(500) || lines[0].ContextMap()["user"] != "alice" {
		t.Errorf("log: got %v", lines)
	}
	for _, line := range logs.All() {
		if s := fmt.Sprint(line.ContextMap()); strings.Contains(s, "alice-token") || strings.Contains(s, "secret") {
			t.Errorf("the log line contains a secret: %s", s)
		}
	}
	c = testConfig(t)
	if _, body := live(t, c, func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		panic("oh")
	}, "/api/v1/pods"); !strings.HasPrefix(body, "error:") {
		t.Errorf("panic in the middle of an answer: got %q, want a cut connection", body)
	}
}

func TestRecoverAbort(t *testing.T) {
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("recovered %v, want ErrAbortHandler", got)
		}
	}()
	serve(testConfig(t), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "alice-token", "GET", "/api/v1/pods")
}

// TestCompressPanic: after a panic during a compressed response, the client must not see a complete
// one.
func TestCompressPanic(t *testing.T) {
	_, body := live(t, testConfig(t), func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("x"), compressFrom))
		panic("oh")
	}, "/api/v1/pods", "Accept-Encoding", "gzip")
	if !strings.HasPrefix(body, "error:") {
		t.Errorf("got %d bytes, want a cut connection", len(body))
	}
}

func TestNewID(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		var text [36]byte
		newID(&text)
		id := string(text[:])
		if len(id) != 36 || id[14] != '4' || !strings.ContainsRune("89ab", rune(id[19])) || seen[id] {
			t.Fatalf("newID: got %q", id)
		}
		seen[id] = true
	}
}
