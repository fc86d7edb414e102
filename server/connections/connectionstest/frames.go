package connectionstest

import (
	"bytes"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Frames is a client that speaks HTTP/2 as it likes.
type Frames struct {
	*http2.Framer
	Conn   net.Conn
	tb     testing.TB
	fields bytes.Buffer
	enc    *hpack.Encoder
	next   uint32 // the id of the next stream
	// Cut counts the streams that the server has given up, but for those of which Answers tells.
	Cut int
}

// NewFrames begins to speak on conn and grants the server window bytes of each answer.
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

// Must ends the test if there is an error.
func (f *Frames) Must(err error) {
	f.tb.Helper()
	if err != nil {
		f.tb.Fatal(err)
	}
}

// Send begins a request, and ends it, too, if end is set. The names of further headers are sent as
// they are.
func (f *Frames) Send(method, path string, end bool, headers ...string) uint32 {
	f.tb.Helper()
	f.fields.Reset()
	headers = append([]string{":method", method, ":scheme", "https", ":authority", "server", ":path", path}, headers...)
	for i := 0; i < len(headers); i += 2 {
		f.Must(f.enc.WriteField(hpack.HeaderField{Name: headers[i], Value: headers[i+1]}))
	}
	id := f.next
	f.next += 2
	const most = 16 << 10 // of a frame
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

// Answers returns the status of each of the next n answers by stream, "reset" for none.
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

// Ping returns when the server has seen all that was sent, or has had enough of it.
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

// Ignore reads what the server sends, and leaves it there.
func (f *Frames) Ignore() {
	for {
		if _, err := f.ReadFrame(); err != nil {
			return
		}
	}
}
