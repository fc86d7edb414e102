package filters

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/coracle-project/coracle/router/request"
)

// This file compresses large responses. Compress is a step of the chain; compressor is the
// ResponseWriter that it puts in front of the handler.

// compressFrom is the size in bytes of the smallest response that is compressed, as in
// kube-apiserver. Compressing smaller responses is not worth the time.
const compressFrom = 128 << 10

// Compress sends large responses to get and list as gzip if the client accepts it. A response is
// large if its Content-Length, or without one its first bytes, reach compressFrom; up to that many
// bytes are held back to find out. If off is set, there is no such filter.
// Order: around the handler alone, because errors of other filters are small. Cost for a small
// response: a look at two headers.
func Compress(off bool) Filter {
	if off {
		return nil
	}
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := exchangeOf(r)
			if !compressible(x, r) {
				next(w, r)
				return
			}
			c := &x.compressor
			c.ResponseWriter = w
			next(c, r)
			// After a panic the response must look broken, so finish is not deferred.
			c.finish()
		}
	}
}

// compressible reports whether the response to r may be compressed.
func compressible(x *exchange, r *http.Request) bool {
	if !x.info.IsResource || r.Method != http.MethodGet || x.info.Verb != "get" && x.info.Verb != "list" ||
		LongRunning(&x.info) {
		return false
	}
	return request.AcceptsGzip(r.Header)
}

// compressor is a ResponseWriter that holds a response back until it is decided whether to compress
// it.
type compressor struct {
	http.ResponseWriter
	held    *[]byte      // the body so far, while undecided; nil: none
	gz      *gzip.Writer // nil: not compressed
	code    int32        // the status, while undecided; 0 if the handler has not set it
	decided bool
}

var (
	gzips = sync.Pool{New: func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // only an invalid level is an error
		return w
	}}
	// The capacity of these buffers never grows beyond compressFrom, so all of them may be kept.
	holdBuffers = sync.Pool{New: func() any { b := make([]byte, 0, compressFrom); return &b }}
)

// WriteHeader implements http.ResponseWriter. It holds the status back until the decision;
// responses without a body and informational responses are not compressed.
func (c *compressor) WriteHeader(code int) {
	switch {
	case c.decided, code < http.StatusOK:
		c.ResponseWriter.WriteHeader(code)
	case c.code == 0:
		c.code = int32(code)
		if code == http.StatusNoContent || code == http.StatusNotModified || c.Header().Get("Content-Encoding") != "" {
			c.decide(false)
		}
	}
}

// Write implements http.ResponseWriter.
func (c *compressor) Write(p []byte) (int, error) {
	if !c.decided && !c.hold(p) {
		return c.send(p)
	}
	if !c.decided {
		return len(p), nil
	}
	return c.send(p)
}

// send writes p after the decision.
func (c *compressor) send(p []byte) (int, error) {
	if c.gz != nil {
		return c.gz.Write(p)
	}
	return c.ResponseWriter.Write(p)
}

// hold returns true if it has kept p because it is still undecided. Otherwise it decides, sends
// what was held, and returns false: the caller then sends p.
func (c *compressor) hold(p []byte) bool {
	if s := c.Header().Get("Content-Length"); s != "" {
		n, err := strconv.Atoi(s)
		c.decide(err == nil && n >= compressFrom)
		return false
	}
	if c.Header().Get("Content-Encoding") != "" {
		c.decide(false)
		return false
	}
	held := 0
	if c.held != nil {
		held = len(*c.held)
	}
	if held+len(p) >= compressFrom {
		c.decide(true)
		return false
	}
	if c.held == nil {
		c.held = holdBuffers.Get().(*[]byte)
	}
	*c.held = append(*c.held, p...)
	return true
}

// decide sends the header and then what was held back. An error of that shows at the next write.
func (c *compressor) decide(zip bool) {
	c.decided = true
	if zip {
		h := c.Header()
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		h.Del("Content-Length")
		c.gz = gzips.Get().(*gzip.Writer)
		c.gz.Reset(c.ResponseWriter)
	}
	if c.code != 0 {
		c.ResponseWriter.WriteHeader(int(c.code))
	}
	if c.held != nil {
		_, _ = c.send(*c.held)
		*c.held = (*c.held)[:0]
		holdBuffers.Put(c.held)
		c.held = nil
	}
}

// finish sends what is held back, and ends the gzip stream.
func (c *compressor) finish() {
	if !c.decided && (c.code != 0 || c.held != nil) {
		c.decide(false)
	}
	if c.gz != nil {
		_ = c.gz.Close()
		c.gz.Reset(nil)
		gzips.Put(c.gz)
		c.gz = nil
	}
}

// Flush sends everything that has been written.
func (c *compressor) Flush() { _ = c.FlushError() }

// FlushError flushes for http.ResponseController. A handler that flushes sends small parts, so a
// flush while undecided decides against compression.
func (c *compressor) FlushError() error {
	if !c.decided {
		c.decide(false)
	}
	if c.gz != nil {
		if err := c.gz.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (c *compressor) Unwrap() http.ResponseWriter { return c.ResponseWriter }
