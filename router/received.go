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

// received is the body of a request. receive is the one way in: nothing else in this package reads
// a body.
type received struct {
	body  []byte // nobody changes it: what is decoded may refer to it
	media string // the Content-Type as sent
}

// receive reads the body of a request, at most Config.MaxBody, and notes it in the Record, if there
// is one.
func (e *endpoint) receive(r *http.Request, info *request.Info) (received, error) {
	body, err := readBody(r, e.cfg.MaxBody)
	if err != nil {
		return received{}, err
	}
	in := received{body, r.Header.Get("Content-Type")}
	if info.Record != nil && len(body) > 0 {
		info.Record.Received = request.Received{Body: body, MediaType: in.media}
	}
	return in, nil
}

// receiveObject is receive for a create or update. It reads the body once it is clear that both the
// body and the answer have forms that are known here.
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

// noteObject notes what the body holds. The record gets a copy: the registry changes the object on
// its way.
func noteObject(info *request.Info, obj meta.Typed) {
	if info.Record != nil {
		info.Record.Received.Object = typeinfo.Copy(obj)
	}
}

// trusted is up to which Content-Length a buffer is made before anything has come, in bytes. Beyond
// it, buffers grow with what comes: announcing a large body costs a client nothing.
const trusted = 64 << 10

// readBody reads a request body of at most limit bytes. The result is the caller's.
func readBody(r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if n := r.ContentLength; n > 0 && n <= trusted { // the usual case: one buffer of the right size
		body := make([]byte, n)
		if _, err := io.ReadFull(r.Body, body); err != nil {
			return nil, badBody(err)
		}
		return body, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, badBody(err)
	}
	if int64(len(body)) > limit {
		return nil, tooLarge(limit)
	}
	return body, nil
}

func tooLarge(limit int64) error {
	return meta.NewRequestEntityTooLarge(fmt.Sprintf("limit is %d", limit))
}

// badBody is the answer to a body that cannot be read to its end.
func badBody(err error) error {
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return tooLarge(over.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return context.DeadlineExceeded
	}
	return meta.NewBadRequest(err.Error())
}
