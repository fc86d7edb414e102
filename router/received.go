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

// receive reads the body of a request, at most Config.MaxBody bytes.
func (e *endpoint) receive(r *http.Request) (received, error) {
	_, span := request.Begin(r.Context(), request.SpanOther, "read body")
	body, err := readBody(r, e.cfg.MaxBody)
	span.End()
	if err != nil {
		return received{}, err
	}
	return received{body, r.Header.Get("Content-Type")}, nil
}

// receiveObject is receive for a create or update. It reads the body only after it has checked that
// the media types of both the body and the response are supported.
func (e *endpoint) receiveObject(r *http.Request) (media codec.Media, in received, err error) {
	if media, err = e.accept(r, 0); err != nil {
		return media, in, err
	}
	if _, err = codec.BodyType(r.Header.Get("Content-Type")); err != nil {
		return media, in, err
	}
	in, err = e.receive(r)
	return media, in, err
}

// noteObject tells the Record, if there is one, about the object in the body. The registry
// completes and changes the object later, so what the Record wants of it is encoded here. Of
// several calls, the first one counts.
func (e *endpoint) noteObject(ctx context.Context, info *request.Info, obj meta.Typed) {
	record := info.Record
	if record == nil || record.ReceivedObject != nil {
		return
	}
	m := metaOf(obj)
	record.Object = request.ObjectName{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
	}
	if record.Received {
		record.ReceivedObject = e.completed(ctx, obj, record.OmitManagedFields)
	}
}

// noteSent is noteObject for an object that is not of the kind that the client has sent.
func (e *endpoint) noteSent(ctx context.Context, info *request.Info, obj meta.Typed, sent meta.GroupVersionKind) {
	if info.Record == nil {
		return
	}
	obj = typeinfo.Copy(obj)
	obj.GetTypeMeta().SetGroupVersionKind(sent)
	e.noteObject(ctx, info, obj)
}

// completed returns an object with defaults as JSON; nil if it cannot be completed or encoded,
// which is then an error of the write.
func (e *endpoint) completed(ctx context.Context, obj meta.Typed, omitManagedFields bool) []byte {
	obj = typeinfo.Copy(obj)
	if err := e.res.Type.Default(ctx, obj); err != nil {
		return nil
	}
	if omitManagedFields {
		metaOf(obj).ManagedFields = nil
	}
	text, err := e.res.Type.Append(nil, obj, codec.Media{})
	if err != nil {
		return nil
	}
	return text
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
