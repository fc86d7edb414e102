package filters

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/filters/authz"
)

// head returns the head of a request with a body.
func head(token, more string) string {
	text := "POST /api/v1/namespaces/n/pods HTTP/1.1\r\nHost: x\r\n"
	if token != "" {
		text += "Authorization: Bearer " + token + "\r\n"
	}
	return text + more + "\r\n\r\n"
}

// TestBodyLeft: if the unread rest of the body is short and arrives soon, the response waits for
// it, and the connection serves the next request.
func TestBodyLeft(t *testing.T) {
	refuse := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) }
	read := func(n int64) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.CopyN(io.Discard, r.Body, n); err != nil {
				t.Errorf("reading %d bytes: %v", n, err)
			}
			refuse(w, r)
		}
	}
	const expect = "Expect: 100-continue\r\n"
	length := func(n int) string { return fmt.Sprintf("Content-Length: %d", n) }
	for _, tt := range []struct {
		name, headers string
		sent          []string
		h             http.HandlerFunc
		waits         time.Duration
		open          bool // afterwards
	}{
		{"none", length(0), nil, refuse, 0, true},
		{"all there", length(5), []string{"01234"}, refuse, 0, true},
		{"all there, chunked", "Transfer-Encoding: chunked", []string{"2\r\nab\r\n0\r\n\r\n"}, refuse, 0, true},
		{"all read", length(5), []string{"01234"}, read(5), 0, true},
		{"some read", length(5), []string{"01234"}, read(2), 0, true},
		{"as much as is read", length(maxRest), []string{strings.Repeat("x", maxRest)}, refuse, 0, true},
		{"as much as is read is left", length(maxRest + 9), []string{strings.Repeat("x", maxRest+9)}, read(9), 0, true},
		{"more than is read", length(maxRest + 1), nil, refuse, 0, false},
		{"chunked, more than is read", "Transfer-Encoding: chunked", []string{"fffff\r\n" + strings.Repeat("x", 1<<20)}, refuse, 0, false},
		{"no byte arrives", length(5), nil, refuse, restTime, false},
		{"a part arrives", length(5), []string{"0"}, refuse, restTime, false},
		{"a part arrives, chunked", "Transfer-Encoding: chunked", []string{"5\r\nab"}, refuse, restTime, false},
		{"a part arrives, some is read", length(5), []string{"0"}, read(1), restTime, false},
		{"waits to be asked", expect + length(5), nil, refuse, 0, false},
		{"was asked, a part arrives", expect + length(5), []string{"0"}, read(1), restTime, false},
		{"was asked, all arrives", expect + length(5), []string{"01234"}, read(1), 0, true},
		{"silent handler", length(5), nil, func(http.ResponseWriter, *http.Request) {}, restTime, false},
	} {
		runStill(t, tt.name, func(t *testing.T) {
			begun := time.Now()
			c := dial(t, testConfig(t), func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodOptions {
					w.WriteHeader(http.StatusOK)
					return
				}
				tt.h(w, r)
			})
			c.send(append([]string{head("admin-token", tt.headers)}, tt.sent...)...)
			code, _ := c.answer(t)
			if code == http.StatusContinue {
				code, _ = c.answer(t)
			}
			if took := time.Since(begun); took != tt.waits {
				t.Errorf("got %d after %v, want it after %v", code, took, tt.waits)
			}
			if open := c.open(); open != tt.open {
				t.Errorf("another request is served: %v, want %v", open, tt.open)
			}
		})
	}
}

// TestBodyAskedFor: the client is not asked (100-continue) for a body that is not read.
func TestBodyAskedFor(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    http.HandlerFunc
		want int
	}{
		{"unread", ok, http.StatusOK},
		{"read", func(w http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body); ok(w, r) }, http.StatusContinue},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := dial(t, testConfig(t), tt.h)
			c.send(head("admin-token", "Expect: 100-continue\r\nContent-Length: 1"), "x")
			if code, _ := c.answer(t); code != tt.want {
				t.Errorf("%s: got %d first, want %d", tt.name, code, tt.want)
			}
		})
	}
}

// TestBodyEnds: the deadline of a body that arrived in time does not end a long request.
func TestBodyEnds(t *testing.T) {
	for _, tt := range []struct {
		name, token string
		answerFirst bool // the handler responds at once, and net/http reads the rest of the body
		lasts       time.Duration
	}{
		{"a stranger's", "", false, 3 * strangerTime},
		{"a stranger's, read by the answer", "", true, 2 * restTime},
		{"a user's, read by the answer", "admin-token", true, 3 * strangerTime},
	} {
		for _, length := range []string{"Content-Length: 5", "Transfer-Encoding: chunked"} {
			synctest.Test(t, func(t *testing.T) {
				config := testConfig(t)
				config.Authorizer = authz.AlwaysAllow()
				c := dial(t, config, func(w http.ResponseWriter, r *http.Request) {
					if tt.answerFirst {
						ok(w, r)
						w.(http.Flusher).Flush()
					} else if _, err := io.ReadAll(r.Body); err != nil {
						t.Errorf("%s, %s: %v", tt.name, length, err)
					}
					time.Sleep(tt.lasts)
					if err := r.Context().Err(); err != nil {
						t.Errorf("%s, %s: %v", tt.name, length, err)
					}
					ok(w, r)
				})
				sent := "01234"
				if strings.HasPrefix(length, "Transfer") {
					sent = "5\r\n01234\r\n0\r\n\r\n"
				}
				c.send(head(tt.token, length), sent[:3])
				time.Sleep(restTime / 2)
				c.send(sent[3:])
				if code, body := c.answer(t); code != http.StatusOK || !strings.HasSuffix(body, "ok") {
					t.Errorf("%s, %s: got %d %q", tt.name, length, code, body)
				}
			})
		}
	}
}

// TestSlowBodies bounds how long a handler waits for a body: a stranger's for strangerTime, a
// user's for a little longer than the request may take.
func TestSlowBodies(t *testing.T) {
	for token, want := range map[string]time.Duration{"": strangerTime, "admin-token": time.Minute + bodyGrace} {
		synctest.Test(t, func(t *testing.T) {
			config := testConfig(t)
			config.Authorizer = authz.AlwaysAllow()
			begun := time.Now()
			c := dial(t, config, func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.ReadAll(r.Body); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("as %q: the body ends with %v", token, err)
				}
				w.WriteHeader(http.StatusRequestTimeout)
			})
			c.send(head(token, "Content-Length: 5"), "0")
			if code, _ := c.answer(t); code != http.StatusRequestTimeout || time.Since(begun) != want {
				t.Errorf("as %q: got %d after %v, want it after %v", token, code, time.Since(begun), want)
			}
		})
	}
}

// deadlines is a connection that counts calls of SetReadDeadline, because each of them wakes a
// goroutine.
type deadlines struct {
	sink
	set int
}

func (d *deadlines) SetReadDeadline(time.Time) error { d.set++; return nil }

// TestBodylessSetsNoDeadline: a request without a body sets no deadline, with HTTP/2 neither, where
// net/http always gives the request a body.
func TestBodylessSetsNoDeadline(t *testing.T) {
	h := Chain(noop, testConfig(t).Steps()...)
	for _, major := range []int{1, 2} {
		r, w := anyRequest("alice-token", "GET", "/api/v1/pods"), &deadlines{sink: sink{header: http.Header{}}}
		r.ProtoMajor = major
		if major == 2 {
			r.Body = io.NopCloser(strings.NewReader(""))
		}
		if h.ServeHTTP(w, r); w.code != http.StatusOK || w.set != 0 {
			t.Errorf("HTTP/%d: got code %d, %d deadlines, want none", major, w.code, w.set)
		}
	}
}

// TestBodyOverHTTP2: the rest of a body is not read, because the stream ends with the response.
func TestBodyOverHTTP2(t *testing.T) {
	body := strings.NewReader("the rest")
	r := httptest.NewRequest("POST", "/api/v1/namespaces/n/pods", body)
	r.ProtoMajor = 2
	r.Header.Set("Authorization", "Bearer admin-token")
	Chain(noop, testConfig(t).Steps()...).ServeHTTP(&sink{header: http.Header{}}, r)
	if body.Len() == 0 {
		t.Error("the rest has been read")
	}
}

// TestBodyReadElsewhere: if another goroutine is reading the body when the response begins, neither
// the reader nor the response waits long, and the connection goes on if the body is complete. The
// test takes real time, because fake time stands still while a goroutine waits for a lock.
func TestBodyReadElsewhere(t *testing.T) {
	t.Parallel()
	reading := make(chan struct{})
	s := httptest.NewServer(Chain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			reading <- struct{}{}
			_, _ = r.Body.Read(make([]byte, 1))
		}()
		<-reading
		time.Sleep(time.Millisecond) // by now it most likely reads; the test holds in either case
		w.WriteHeader(http.StatusConflict)
		<-done
		if err := r.Context().Err(); err != nil && r.Header["X-Comes"] != nil { // if the body does not come, net/http thinks that the client has left
			t.Errorf("the request has ended: %v", err)
		}
	}), testConfig(t).Steps()...))
	defer s.Close()
	for _, comes := range []bool{true, false} {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		answers, begun := bufio.NewReader(conn), time.Now()
		for range 2 {
			header := "Content-Length: 5"
			if comes {
				header += "\r\nX-Comes: 1"
			}
			_, _ = io.WriteString(conn, head("admin-token", header))
			if comes {
				time.AfterFunc(50*time.Millisecond, func() { _, _ = io.WriteString(conn, "01234") })
			}
			resp, err := http.ReadResponse(answers, nil)
			if err != nil || resp.StatusCode != http.StatusConflict {
				t.Fatalf("all comes: %t: %v, %v", comes, resp, err)
			}
			resp.Body.Close()
			if took := time.Since(begun); !comes && (took < restTime || took > 5*restTime) {
				t.Errorf("an answer after %v", took)
			}
			if resp.Close != !comes {
				t.Errorf("all comes: %t, and the connection closes: %t", comes, resp.Close)
			}
			if !comes {
				break
			}
		}
	}
}
