package router

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// received is the body of a request. receive is the only function in this package that reads a
// body.
type received struct {
	body  []byte // never changed: decoded objects may share its memory
	media string // the Content-Type as sent
}

// receive reads the body of a request, at most Config.MaxBody bytes, and notes it in the Record if
// there is one.
func (e *endpoint) receive(r *http.Request, info *request.Info) (received, error) {
	_, span := request.Begin(r.Context(), request.SpanOther, "read body")
	body, err := readBody(r, e.cfg.MaxBody)
	span.End()
	if err != nil {
		return received{}, err
	}
	in := received{body, r.Header.Get("Content-Type")}
	if info.Record != nil && len(body) > 0 {
		info.Record.Received = request.Received{Body: body, MediaType: in.media}
	}
	return in, nil
}

// receiveObject is receive for a create or update. It reads the body only after it has checked that
// the media types of both the body and the response are supported.
func (e *endpoint) receiveObject(r *http.Request, info *request.Info) (media codec.Media, in received, err error) {
	if media, err = e.accept(r, 0); err != nil {
		return media, in, err
	}
	if _, err = codec.BodyType(r.Header.Get("Content-Type")); err != nil {
		return media, in, err
	}
	in, err = e.receive(r, info)
	return media, in, err
}

// noteObject notes the object in the body. The record gets a copy, because the registry changes the
// object.
func noteObject(info *request.Info, obj meta.Typed) {
	if info.Record != nil {
		info.Record.Received.Object = typeinfo.Copy(obj)
	}
}

// maxPreallocated is the largest Content-Length, in bytes, for which a buffer is allocated before
// the body has arrived. For larger bodies the buffer grows with the bytes that arrive, so a client
// cannot make the server allocate memory by announcing a large body.
const maxPreallocated = 64 << 10

// readBody reads a request body of at most limit bytes. The caller owns the result.
func readBody(r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if n := r.ContentLength; n > 0 && n <= maxPreallocated { // the usual case: one buffer of the right size
		body := make([]byte, n)
		if _, err := io.ReadFull(r.Body, body); err != nil {
			return nil, bodyError(err)
		}
		return body, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, bodyError(err)
	}
	if int64(len(body)) > limit {
		return nil, tooLarge(limit)
	}
	return body, nil
}

// tooLarge returns the 413 for a body of more than limit bytes.
func tooLarge(limit int64) error {
	return meta.NewRequestEntityTooLarge(fmt.Sprintf("limit is %d", limit))
}

// bodyError returns the error for a body that cannot be read to its end.
func bodyError(err error) error {
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return tooLarge(over.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return context.DeadlineExceeded
	}
	return meta.NewBadRequest(err.Error())
}
