package connectionstest

import (
	"bytes"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Frames is an HTTP/2 client that sends single frames. It belongs to one goroutine.
type Frames struct {
	*http2.Framer
	Conn   net.Conn
	tb     testing.TB
	fields bytes.Buffer
	enc    *hpack.Encoder
	next   uint32 // the id of the next stream
	// Cut counts the streams that the server has reset, without those that Answers has returned.
	Cut int
}

// NewFrames sends the client preface and the settings on conn. window is the initial window of each
// stream: the number of bytes of an answer that the server may send.
func NewFrames(tb testing.TB, conn net.Conn, window uint32) *Frames {
	tb.Helper()
	f := &Frames{Framer: http2.NewFramer(conn, conn), tb: tb, Conn: conn, next: 1}
	f.enc = hpack.NewEncoder(&f.fields)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	io.WriteString(conn, http2.ClientPreface)
	f.Must(f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}))
	f.Must(f.WriteSettingsAck())
	return f
}

// Must fails the test if err is not nil.
func (f *Frames) Must(err error) {
	f.tb.Helper()
	if err != nil {
		f.tb.Fatal(err)
	}
}

// Send sends the HEADERS frame of a request, with CONTINUATION frames if the headers are long, and
// returns the id of the stream. end ends the stream. headers are names and values in turn; they are
// sent as they are, even if they are invalid.
func (f *Frames) Send(method, path string, end bool, headers ...string) uint32 {
	f.tb.Helper()
	f.fields.Reset()
	headers = append([]string{":method", method, ":scheme", "https", ":authority", "server", ":path", path}, headers...)
	for i := 0; i < len(headers); i += 2 {
		f.Must(f.enc.WriteField(hpack.HeaderField{Name: headers[i], Value: headers[i+1]}))
	}
	id := f.next
	f.next += 2
	const most = 16 << 10 // bytes in a frame: every server must accept as many
	first := f.fields.Next(most)
	f.Must(f.WriteHeaders(http2.HeadersFrameParam{
		StreamID:      id,
		BlockFragment: first,
		EndStream:     end,
		EndHeaders:    f.fields.Len() == 0,
	}))
	for f.fields.Len() > 0 {
		more := f.fields.Next(most)
		f.Must(f.WriteContinuation(id, f.fields.Len() == 0, more))
	}
	return id
}

// Answers reads until n streams have an answer, and returns their statuses by stream; the status of
// a stream that the server has reset is "reset".
func (f *Frames) Answers(n int) map[uint32]string {
	f.tb.Helper()
	got := map[uint32]string{}
	for len(got) < n {
		frame, err := f.ReadFrame()
		if err != nil {
			f.tb.Fatalf("after %d answers of %d: %v", len(got), n, err)
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			got[frame.StreamID] = frame.PseudoValue("status")
		case *http2.RSTStreamFrame:
			if got[frame.StreamID] == "" {
				got[frame.StreamID] = "reset"
			} else {
				f.Cut++
			}
		}
	}
	return got
}

// Ping sends a PING and waits for its acknowledgement: the server has then read all earlier frames.
// It also returns if the server closes the connection.
func (f *Frames) Ping() {
	if err := f.WritePing(false, [8]byte{1}); err != nil {
		return
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.RSTStreamFrame:
			f.Cut++
		case *http2.PingFrame:
			if frame.IsAck() {
				return
			}
		}
	}
}

// Ignore reads and drops all frames until the server closes the connection.
func (f *Frames) Ignore() {
	for {
		if _, err := f.ReadFrame(); err != nil {
			return
		}
	}
}
