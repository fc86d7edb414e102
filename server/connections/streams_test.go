package connections

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/server/connections/connectionstest"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/net/http2"
)

// TestBudget: a taker waits the longer the more is missing in the budget, but at most longestPace.
// Gives and time refill the budget.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10, 100)
		take := func(n int, want time.Duration) {
			t.Helper()
			var got time.Duration
			for range n {
				got = b.take()
			}
			if got != want {
				t.Errorf("after %d more: waits %v, want %v", n, got, want)
			}
		}
		take(10, 0)
		take(1, 10*time.Millisecond)
		take(5, 60*time.Millisecond)
		for range 6 {
			b.give()
		}
		take(1, 10*time.Millisecond)
		time.Sleep(time.Second / 100)
		take(1, 10*time.Millisecond)
		time.Sleep(time.Hour)
		take(10, 0)
		take(1, 10*time.Millisecond)
		take(1000, longestPace)
		for range 1000 {
			b.give()
		}
		take(10, 0)
		take(1, 10*time.Millisecond)
	})
}

// TestFramed reads frames in pieces of all lengths. The bytes that are read are those that were
// sent, and each stream is counted when it begins.
func TestFramed(t *testing.T) {
	var sent bytes.Buffer
	sent.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&sent, nil)
	headers := func(stream uint32, block int) {
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: make([]byte, block), EndHeaders: true}); err != nil {
			t.Fatal(err)
		}
	}
	f.WriteSettings()
	headers(1, 0) // the first stream is not counted
	headers(3, 100)
	f.WriteContinuation(3, true, []byte("HEADERS"))
	f.WriteData(3, false, make([]byte, 5000))
	headers(3, 20) // trailers
	f.WriteRSTStream(3, http2.ErrCodeCancel)
	headers(7, 1)
	headers(5, 1) // stream numbers must grow: net/http finds this mistake
	f.WritePing(false, [8]byte{0, 0, 0, 1})
	headers(9, 16<<10)
	const begun = 4 // streams 3, 7 and 9, and the reset
	overPipes(t, 1000, func(t *testing.T, p *served) {
		for _, most := range []int{1, 2, 8, 9, 10, 4096, 1 << 20} {
			near, far := net.Pipe()
			c := &conn{all: &conns{strangers: newBudget(100, 1)}}
			framed := &framed{Conn: tls.Server(near, p.tls), counted: c, left: len(http2.ClientPreface)}
			go func() {
				client := tls.Client(far, &tls.Config{InsecureSkipVerify: true})
				client.Write(sent.Bytes())
				client.Close()
			}()
			var got bytes.Buffer
			if _, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{framed}, make([]byte, most)); err != nil {
				t.Fatal(err)
			}
			near.Close()
			if !bytes.Equal(got.Bytes(), sent.Bytes()) {
				t.Errorf("by %d bytes: read %d bytes, want the %d that were sent", most, got.Len(), sent.Len())
			}
			if n := 100 - c.all.strangers.left; n != begun {
				t.Errorf("by %d bytes: got %v streams, want %d", most, n, begun)
			}
		}
	})
}

// TestRapidResets: strangers that reset their requests slow each other down, but no other client.
func TestRapidResets(t *testing.T) {
	overPipes(t, 1000, func(t *testing.T, p *served) {
		var all []*connectionstest.Frames
		defer func() {
			for _, f := range all {
				f.Conn.Close()
			}
		}()
		dial := func() *connectionstest.Frames {
			f := connectionstest.NewFrames(t, tls.Client(p.secure.Dial(""), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}), 1<<20)
			all = append(all, f)
			return f
		}
		begun := time.Now()
		const floods, seconds = 8, 5
		flooding := make(chan *connectionstest.Frames)
		for range floods {
			f := dial()
			go f.Ignore()
			go func() {
				for range (2*strangerStreams + strangerRate*seconds) / floods {
					f.Must(f.WriteRSTStream(f.Send("GET", "/api/v1/namespaces", true), http2.ErrCodeCancel))
				}
				flooding <- f
			}()
		}
		time.Sleep(seconds * time.Second / 2)
		for _, header := range [][]string{{"authorization", "Bearer " + token}, nil} {
			f, asked := dial(), time.Now()
			f.Send("GET", "/version", true, header...)
			for stream, status := range f.Answers(1) {
				if status != "200" || time.Since(asked) > 0 {
					t.Errorf("%d with %q: got %s after %v, want 200 at once", stream, header, status, time.Since(asked))
				}
			}
			if header == nil {
				continue
			}
			for range 2 * MaxStreams { // the connection is authenticated
				f.Send("GET", "/version", true)
				f.Answers(1)
			}
			if took := time.Since(asked); took > 0 {
				t.Errorf("an authenticated client waited for %v", took)
			}
		}
		for range floods {
			f := <-flooding
			f.Must(f.WritePing(false, [8]byte{})) // fails if the connection was cut
		}
		// A stream that was answered before its reset counts once, any other reset stream twice.
		if took := time.Since(begun); took < (seconds-1)*time.Second || took > (2*seconds+2)*time.Second {
			t.Errorf("the floods took %v, want %d to %d s", took, seconds, 2*seconds)
		}
	})
}

// TestKnownTakeBack: an authenticated client may cancel requests and watches as often as it likes,
// and never waits.
func TestKnownTakeBack(t *testing.T) {
	overPipes(t, 1000, func(t *testing.T, p *served) {
		dials := 0
		transport := &http.Transport{
			DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				dials++
				c := tls.Client(p.secure.Dial(""), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
				return c, c.HandshakeContext(ctx)
			},
			ForceAttemptHTTP2: true,
		}
		defer transport.CloseIdleConnections()
		begin := func(ctx context.Context, path string) *http.Response {
			r, err := http.NewRequestWithContext(ctx, "GET", "https://server"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			resp, err := transport.RoundTrip(r)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: got %v, %v", path, resp, err)
			}
			return resp
		}
		get := func() {
			resp := begin(t.Context(), "/version")
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		get()
		began := time.Now()
		for range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			for range MaxStreams - 10 {
				resp := begin(ctx, "/api/v1/namespaces?watch=1")
				defer resp.Body.Close()
			}
			cancel()
			synctest.Wait()
			get()
		}
		if took := time.Since(began); took > 0 || dials != 1 {
			t.Errorf("waited %v, by %d connections, want no time and 1", took, dials)
		}
	})
}

// TestConfiguredStreams: a connection may have as many streams at a time as the configuration says.
func TestConfiguredStreams(t *testing.T) {
	l, err := New(Config{Streams: 7, Bursts: &Bursts{}, Log: zap.NewNop()}, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	p := connectionstest.NewPipes()
	port := l.conns.wrap(p)
	go func() { p.Dial("").Close() }()
	c, err := port.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.(*conn).streams.most; got != 7 {
		t.Errorf("got %v streams, want 7", got)
	}
}

// TestLongFrames: the server refuses frames that are longer than the protocol requires it to
// accept.
func TestLongFrames(t *testing.T) {
	overPipes(t, 1000, func(t *testing.T, p *served) {
		for _, length := range []int{maxFrame, maxFrame + 1} {
			f := connectionstest.NewFrames(t, tls.Client(p.secure.Dial(""), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}), 1<<20)
			stream := f.Send("POST", "/version", false)
			go func() { // the server may close the connection before all is sent
				_ = f.WriteData(stream, true, make([]byte, length))
				_ = f.WritePing(false, [8]byte{1})
			}()
			refused, taken := false, false
			for !refused && !taken {
				frame, err := f.ReadFrame()
				if err != nil {
					t.Fatalf("%d bytes: %v", length, err)
				}
				switch frame := frame.(type) {
				case *http2.PingFrame:
					taken = true
				case *http2.GoAwayFrame:
					refused = frame.ErrCode == http2.ErrCodeFrameSize
				}
			}
			if refused != (length > maxFrame) {
				t.Errorf("%d bytes: got refused %v", length, refused)
			}
			f.Conn.Close()
		}
	})
}
