package filters

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/coracle-project/coracle/router/request"
)

// compressFrom is the size, in bytes, from which on an answer is worth the time that compressing it takes.
const compressFrom = 128 << 10

// Compress sends large answers to gets and lists as gzip to clients that accept it. An answer is large if its
// Content-Length or its first 128 KiB say so; up to that much of an answer without Content-Length is held back to find out.
// Order: around the handler alone; errors of other filters are small. Cost of a small answer: nothing but a look at
// two headers. There is no such filter if off is set.
func Compress(off bool) Filter {
	if off {
		return nil
	}
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := of(r)
			if !compressible(x, r) {
				next(w, r)
				return
			}
			c := &x.compressor
			c.ResponseWriter = w
			next(c, r)
			// Not deferred: after a panic the answer must look broken.
			c.finish()
		}
	}
}

func compressible(x *exchange, r *http.Request) bool {
	if !x.info.IsResource || r.Method != http.MethodGet || x.info.Verb != "get" && x.info.Verb != "list" || LongRunning(&x.info) {
		return false
	}
	return request.AcceptsGzip(r.Header)
}

// compressor is a ResponseWriter that decides at the last moment how to send its answer.
type compressor struct {
	http.ResponseWriter
	held    *[]byte // body held back until decided
	gz      *gzip.Writer
	code    int32 // held back until decided; 0 if the handler has not said
	decided bool
}

var (
	gzips = sync.Pool{New: func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // only a wrong level fails
		return w
	}}
	// Buffers never grow beyond compressFrom, so all of them may be kept.
	holds = sync.Pool{New: func() any { b := make([]byte, 0, compressFrom); return &b }}
)

// WriteHeader holds the code back, unless it belongs to no body.
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

func (c *compressor) Write(p []byte) (int, error) {
	if !c.decided && !c.hold(p) {
		return c.send(p)
	}
	if !c.decided {
		return len(p), nil
	}
	return c.send(p)
}

func (c *compressor) send(p []byte) (int, error) {
	if c.gz != nil {
		return c.gz.Write(p)
	}
	return c.ResponseWriter.Write(p)
}

// hold keeps p if it is still open how to send it; else it decides, and sends what was held.
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
		c.held = holds.Get().(*[]byte)
	}
	*c.held = append(*c.held, p...)
	return true
}

// decide settles the header and sends what was held back. An error of that shows at the next write.
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
		holds.Put(c.held)
		c.held = nil
	}
}

// finish sends what is left.
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

// Flush sends everything written so far.
func (c *compressor) Flush() { _ = c.FlushError() }

// FlushError is Flush for http.ResponseController. A handler that flushes sends little at a time.
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
