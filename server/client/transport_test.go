package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server/client"
)

// roundTrip sends a request to a handler in process.
func roundTrip(t *testing.T, ctx context.Context, h http.HandlerFunc) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", "http://h/a%2Fb?q=1", strings.NewReader("question"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer t")
	resp, err := client.HandlerTransport(h).RoundTrip(r)
	if r.Header.Get("Authorization") == "" || r.URL.Host != "h" {
		t.Error("the caller's request was changed")
	}
	return resp, err
}

func TestHandlerTransport(t *testing.T) {
	resp, err := roundTrip(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI != "/a%2Fb?q=1" || r.URL.Path != "/a/b" || r.URL.Host != "" || r.Host != "h" || r.ContentLength != 8 || r.RemoteAddr == "" {
			t.Errorf("request: got %+v", r)
		}
		r.Header.Del("Authorization")
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "question" {
			t.Errorf("body: got %q, %v", body, err)
		}
		w.Header().Set("X", "before")
		w.WriteHeader(http.StatusProcessing)
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK)
		w.Header().Set("X", "after")
		io.WriteString(w, "ans")
		io.WriteString(w, "wer")
	})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "answer" || resp.StatusCode != http.StatusTeapot || resp.Status != "418 I'm a teapot" || resp.Header.Get("X") != "before" {
		t.Errorf("got %q, %v, %+v", body, err, resp)
	}
	if resp, err = roundTrip(t, t.Context(), func(http.ResponseWriter, *http.Request) {}); err != nil || resp.StatusCode != 200 {
		t.Fatalf("a handler without a word: got %v, %v", resp, err)
	}
	resp.Body.Close()
}

// TestHandlerStreams: the client can read the answer while the handler still writes.
func TestHandlerStreams(t *testing.T) {
	more := make(chan string)
	resp, err := roundTrip(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("Flush: %v", err)
		}
		for text := range more {
			io.WriteString(w, text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, text := range []string{"one", "two"} {
		more <- text
		buf := make([]byte, 10)
		if n, err := resp.Body.Read(buf); err != nil || string(buf[:n]) != text {
			t.Errorf("got %q, %v, want %s", buf[:n], err, text)
		}
	}
	close(more)
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
		t.Errorf("the end: got %q, %v", rest, err)
	}
}

// TestHandlerEndsWithItsCaller: in whatever way the caller gives up, the context of the handler
// ends. The caller continues only after the handler has returned.
func TestHandlerEndsWithItsCaller(t *testing.T) {
	for _, tt := range []struct {
		name   string
		serve  func(w http.ResponseWriter, r *http.Request)
		answer bool // whether the answer has begun before the caller gives up
	}{
		{"before the answer", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, false},
		{"while waiting", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(200); <-r.Context().Done() }, true},
		{"while writing", func(w http.ResponseWriter, r *http.Request) {
			for {
				if _, err := w.Write([]byte("x")); err != nil {
					return
				}
			}
		}, true},
	} {
		for _, how := range []string{"cancel", "close"} {
			if how == "close" && !tt.answer {
				continue
			}
			t.Run(tt.name+"/"+how, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := false // read by the test without a lock: the transport waits for the handler
				if !tt.answer {
					time.AfterFunc(time.Millisecond, cancel)
				}
				resp, err := roundTrip(t, ctx, func(w http.ResponseWriter, r *http.Request) {
					defer func() { ended = true }()
					tt.serve(w, r)
				})
				if !tt.answer {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("got %v, %v", resp, err)
					}
				} else if err != nil {
					t.Fatal(err)
				} else {
					if how == "cancel" {
						cancel()
						if _, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, context.Canceled) {
							t.Errorf("reading on: got %v", err)
						}
					}
					resp.Body.Close()
				}
				if !ended {
					t.Error("the handler still runs")
				}
			})
		}
	}
}

func TestHandlerPanics(t *testing.T) {
	for _, tt := range []struct {
		name  string
		serve http.HandlerFunc
		want  string
	}{
		{"cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "unexpected EOF"},
		{"broken", func(http.ResponseWriter, *http.Request) { panic("oops") }, "the handler panicked: oops"},
		{"cut later", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "half"); panic(http.ErrAbortHandler) }, "unexpected EOF"},
		{"broken later", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "half"); panic("oops") }, "the handler panicked: oops"},
	} {
		resp, err := roundTrip(t, t.Context(), tt.serve)
		if err == nil {
			var body []byte
			body, err = io.ReadAll(resp.Body)
			if string(body) != "half" {
				t.Errorf("%s: got %q", tt.name, body)
			}
			resp.Body.Close()
		}
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}

// TestHandlerHeedsWriteDeadlines: a write deadline ends the answer to a caller that does not read.
func TestHandlerHeedsWriteDeadlines(t *testing.T) {
	written := make(chan error, 1)
	resp, err := roundTrip(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
		rc := http.NewResponseController(w)
		if err := errors.Join(rc.SetReadDeadline(time.Now()), rc.SetWriteDeadline(time.Now()), rc.SetWriteDeadline(time.Now().Add(time.Millisecond))); err != nil {
			t.Error(err)
		}
		w.WriteHeader(200)
		_, err := io.WriteString(w, "nobody reads this")
		written <- err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-written; err == nil {
		t.Error("Write: got no error")
	}
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("reading late: got %v", err)
	}
	resp.Body.Close()
}
