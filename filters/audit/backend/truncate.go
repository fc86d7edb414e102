package backend

import (
	"context"
	"errors"
	"maps"

	"github.com/coracle-project/coracle/filters/audit"
)

// truncatedAnnotation is the annotation of an event that has lost its objects. Its value is "true".
const truncatedAnnotation = "audit.k8s.io/truncated"

// errTooLarge is why events are dropped that truncation does not make small enough.
var errTooLarge = errors.New("event is too large even after truncating")

// truncating is a store that bounds what another store gets.
type truncating struct {
	to       store
	bounds   Truncate
	tooLarge *failures
}

// deliver implements store. An event that is too large is not lost in the sense of store: it counts
// as an error of truncation, and no request is refused because of it.
func (t *truncating) deliver(ctx context.Context, events []*audit.Event) (lost int, err error) {
	var (
		piece   []*audit.Event
		size    int64 // of piece
		large   int
		scratch []byte
	)
	flush := func() {
		if len(piece) == 0 {
			return
		}
		if n, failure := t.to.deliver(ctx, piece); failure != nil {
			lost, err = lost+n, failure
		}
		piece, size = piece[:0], 0
	}
	for _, e := range events {
		e, scratch = t.fit(e, scratch)
		if e == nil {
			large++
			continue
		}
		n := int64(len(scratch))
		if size+n > t.bounds.BatchBytes {
			flush()
		}
		piece, size = append(piece, e), size+n
	}
	flush()
	if large > 0 {
		t.tooLarge.add(large, errTooLarge)
	}
	return lost, err
}

// fit returns an event, or a copy without its objects, or nil if both are too large. It also
// returns scratch with the event's JSON and a newline, whose length is the event's size.
func (t *truncating) fit(e *audit.Event, scratch []byte) (*audit.Event, []byte) {
	scratch = append(e.AppendJSON(scratch[:0], false), '\n')
	if int64(len(scratch)) > t.bounds.EventBytes && e.Level >= audit.Request {
		short := *e
		short.RequestObject, short.ResponseObject = nil, nil
		if short.Annotations = maps.Clone(e.Annotations); short.Annotations == nil {
			short.Annotations = map[string]string{}
		}
		short.Annotations[truncatedAnnotation] = "true"
		e, scratch = &short, append(short.AppendJSON(scratch[:0], false), '\n')
	}
	if int64(len(scratch)) > t.bounds.EventBytes {
		return nil, scratch
	}
	return e, scratch
}

// close implements store.
func (t *truncating) close(ctx context.Context) { t.to.close(ctx) }
