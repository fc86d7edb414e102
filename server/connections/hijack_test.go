package connections

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/server/connections/connectionstest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// TestStreamsHoldLittle bounds the heap that an idle watch over HTTP/1.1 holds: it must not hold
// the connection's buffers.
func TestStreamsHoldLittle(t *testing.T) {
	const watches, bound = 200, 12 << 10
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // also frees what pools keep
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	overPipes(t, 1000, func(t *testing.T, p *served) {
		var all []net.Conn
		open := func() {
			c := p.Dial("GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n")
			all = append(all, c)
			for read := ""; !strings.HasSuffix(read, "\r\n\r\n"); {
				var b [512]byte
				n, err := c.Read(b[:])
				if err != nil {
					t.Fatal(err)
				}
				read += string(b[:n])
			}
		}
		open() // loads caches and pools
		before := heap()
		for range watches {
			open()
		}
		synctest.Wait()
		if each := (heap() - before) / watches; each > bound {
			t.Errorf("got %d bytes, want at most %d", each, bound)
		}
		for _, c := range all {
			c.Close()
		}
	})
}

// streamed serves h over a pipe, and returns the client's end after its request.
func streamed(t *testing.T, target string, log *zap.Logger, h http.HandlerFunc) (*peer, *conns) {
	p, all := connectionstest.NewPipes(), newConns(10, MaxStreams, &Bursts{}, zap.NewNop())
	srv := &http.Server{Handler: hijackWatches(h, log), ConnState: all.stateChanged, ConnContext: all.context, ErrorLog: QuietLog(zap.NewNop())}
	go srv.Serve(all.wrap(p))
	t.Cleanup(func() {
		srv.Close()
		_ = all.awaitHijacked(t.Context()) // the context has ended, so that remaining streams are cut
	})
	c := p.Dial("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n")
	return &peer{t, c, bufio.NewReader(c)}, all
}

// answer reads the header of an answer.
func (c *peer) answer() *http.Response {
	c.t.Helper()
	resp, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp
}

// TestStream sends events of all sizes until the stream ends. Then the connection closes, as the
// header Connection has announced.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var want strings.Builder
		events := []string{"a\n", "", "b\n" + strings.Repeat("x", 3*maxFrames), strings.Repeat("y", 100)}
		c, _ := streamed(t, "/?watch=1", zap.NewNop(), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Audit-Id", "1")
			w.WriteHeader(http.StatusOK)
			for range 2 {
				_ = http.NewResponseController(w).Flush()
			}
			for _, e := range events {
				if n, err := io.WriteString(w, e); n != len(e) || err != nil {
					t.Errorf("got %d, %v of %d bytes", n, err, len(e))
				}
				_ = http.NewResponseController(w).Flush()
			}
			_, _ = io.WriteString(w, "unflushed")
		})
		for _, e := range append(events, "unflushed") {
			want.WriteString(e)
		}
		resp := c.answer()
		if !resp.Close || resp.Header.Get("Audit-Id") != "1" || len(resp.TransferEncoding) != 1 {
			t.Errorf("got %+v", resp)
		}
		if body, err := io.ReadAll(resp.Body); string(body) != want.String() || err != nil {
			t.Errorf("got %d bytes, %v, want %d", len(body), err, want.Len())
		}
		c.is(false, "the connection behind the stream")
	})
}

// TestNoStream: a request that only looks like a watch stays with net/http, and its connection can
// be used again.
func TestNoStream(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"refused":      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
		"nothing said": func(http.ResponseWriter, *http.Request) {},
		"code alone":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) },
		"flushed later": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "x")
			http.NewResponseController(w).Flush()
		},
		"refusal flushed": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			http.NewResponseController(w).Flush()
		},
		"length known": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1")
			w.WriteHeader(http.StatusOK)
			http.NewResponseController(w).Flush()
			io.WriteString(w, "x")
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := streamed(t, "/?watch=1", zap.NewNop(), h)
			defer c.Close()
			for range 2 {
				resp := c.answer()
				if _, err := io.ReadAll(resp.Body); err != nil || resp.Close {
					t.Errorf("%s: got %v, close is %v", name, err, resp.Close)
				}
				go io.WriteString(c, "GET /?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n")
			}
			c.answer()
		})
	}
}

// TestRefusedAgain: after a watch is refused, net/http serves the watches of its connection for a
// moment, because a client may try again at once. A watch that succeeds in that time is served by
// net/http, too.
func TestRefusedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		code, alone := 403, false
		c, _ := streamed(t, "/?watch=1", zap.NewNop(), func(w http.ResponseWriter, r *http.Request) {
			_, alone = w.(*stream)
			w.WriteHeader(code)
			_ = http.NewResponseController(w).Flush()
			io.WriteString(w, "x")
		})
		for i, step := range []struct {
			after       time.Duration
			code        int
			alone, ends bool
		}{
			{0, code, true, false},
			{refusedFor / 2, 403, false, false},
			{refusedFor / 4, 200, false, false},
			{refusedFor, 429, true, false},
			{refusedFor, 403, true, false},
			{2 * refusedFor, 200, true, true},
		} {
			time.Sleep(step.after)
			if i > 0 { // streamed has sent the first request
				code = step.code
				go io.WriteString(c, "GET /?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n")
			}
			resp := c.answer()
			body, err := io.ReadAll(resp.Body)
			if err != nil || string(body) != "x" || resp.StatusCode != step.code || alone != step.alone || resp.Close != step.ends {
				t.Errorf("%+v: got %d, %q, %v, alone is %v, close is %v", step, resp.StatusCode, body, err, alone, resp.Close)
			}
		}
	})
}

// TestStreamEndsWithItsClient: the request of a stream ends when its client leaves and not before,
// although net/http's own request has ended.
func TestStreamEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		c, _ := streamed(t, "/api/v1/watch/pods", zap.NewNop(), func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			ended = true
		})
		c.answer()
		time.Sleep(time.Hour)
		synctest.Wait()
		if ended {
			t.Error("the request has ended before its client left")
		}
		c.Close()
		synctest.Wait()
		if !ended {
			t.Error("the request goes on without its client")
		}
	})
}

// TestStreamPanics: a panic before the stream begins is handled by net/http. A later one cuts off
// the stream, and is logged.
func TestStreamPanics(t *testing.T) {
	for _, begun := range []bool{false, true} {
		for _, reason := range []any{http.ErrAbortHandler, "fault"} {
			t.Run(fmt.Sprint(begun, reason), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					core, logs := observer.New(zapcore.ErrorLevel)
					c, _ := streamed(t, "/?watch=1", zap.New(core), func(w http.ResponseWriter, r *http.Request) {
						if begun {
							w.WriteHeader(http.StatusOK)
							_ = http.NewResponseController(w).Flush()
							_, _ = io.WriteString(w, "half")
						}
						panic(reason)
					})
					answer, _ := connectionstest.Until(c.Conn)
					if begun != strings.HasPrefix(answer, "HTTP/1.1 200") || strings.HasSuffix(answer, "0\r\n\r\n") {
						t.Errorf("got %q", answer)
					}
					if got, want := logs.Len() == 1, begun && reason != http.ErrAbortHandler; got != want {
						t.Errorf("logged is %v, want %v", got, want)
					}
				})
			})
		}
	}
}

// TestStreamDeadline: a write deadline applies to a stream, whether it was set before the stream
// began or after.
func TestStreamDeadline(t *testing.T) {
	for _, before := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			failed := make(chan error, 1)
			c, _ := streamed(t, "/?watch=1", zap.NewNop(), func(w http.ResponseWriter, r *http.Request) {
				rc := http.NewResponseController(w)
				limit := func() { _ = rc.SetWriteDeadline(time.Now().Add(time.Minute)) }
				if before {
					limit()
				}
				w.WriteHeader(http.StatusOK)
				_ = rc.Flush()
				if !before {
					limit()
				}
				_, _ = io.WriteString(w, "event")
				failed <- rc.Flush()
			})
			c.answer()
			begun := time.Now()
			if err := <-failed; err == nil || time.Since(begun) != time.Minute {
				t.Errorf("a client that does not read: got %v after %v, want an error after a minute", err, time.Since(begun))
			}
			c.Close()
		})
	}
}

// TestStreamsAreSeenOut: at shutdown, the stream of a client that does not read is cut.
func TestStreamsAreSeenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, all := streamed(t, "/?watch=1", zap.NewNop(), func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		})
		c.answer()
		synctest.Wait()
		begun := time.Now()
		if err := all.awaitHijacked(t.Context()); err != nil || time.Since(begun) != Linger || all.open != 0 {
			t.Errorf("got %v after %v, %d are open; want the end after %v", err, time.Since(begun), all.open, Linger)
		}
	})
}
