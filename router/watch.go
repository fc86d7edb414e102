package router

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// watcher is one watch being served. A batch of events passes through a pooled buffer and is flushed.
type watcher struct {
	e      *endpoint
	r      *http.Request
	ctx    context.Context // of the watch, which ends before that of r
	media  codec.Media
	item   *form // how objects in events are encoded
	events int   // sent so far
}

// watch streams changes until the client goes, the time is up or the server stops.
func (e *endpoint) watch(out answer, r *http.Request, info *request.Info) error {
	media, err := e.accept(r, codec.OfferStream|codec.OfferWatch)
	if err != nil {
		return err
	}
	req, opts, err := e.listRequest(info)
	if err != nil {
		return err
	}
	if media.As == codec.AsTable {
		if _, err := includeObject(r); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), e.watchTime(opts))
	defer cancel()
	cursor, err := e.res.Watcher.Watch(ctx, req)
	if err != nil {
		return e.watchError(out, media, err)
	}
	defer cursor.Close()
	if c, ok := cursor.(*countedCursor); ok {
		c.run(cancel)
	}
	return e.stream(out, &watcher{e: e, r: r, ctx: ctx, media: media, item: e.form(ctx, itemMedia(media))}, cursor)
}

// unwatched refuses a watch of what can only be listed. What is wrong with the request itself is
// said first, as of a list.
func (e *endpoint) unwatched(_ answer, r *http.Request, info *request.Info) error {
	if _, err := e.accept(r, codec.OfferStream); err != nil {
		return err
	}
	if _, _, err := e.listRequest(info); err != nil {
		return err
	}
	return meta.NewMethodNotSupported(e.gr, "watch")
}

// watchTime is how long a watch lasts: as the client asks, else between one and two times the minimum, so that clients
// do not come back all at once.
func (e *endpoint) watchTime(opts *meta.ListOptions) time.Duration {
	if t := opts.TimeoutSeconds; t != nil && *t != 0 { // a watch of negative length ends at once
		return time.Duration(min(*t, int64(maxWatch/time.Second))) * time.Second
	}
	return time.Duration(float64(e.cfg.MinWatch) * (1 + rand.Float64()))
}

// maxWatch bounds timeoutSeconds.
const maxWatch = 24 * time.Hour

// itemMedia is the form of the objects in the events of a watch.
func itemMedia(m codec.Media) codec.Media {
	m.Stream, m.Pretty = false, false
	m.As = asItem(m.As)
	return m
}

// watchError answers a watch that cannot start. One from a revision that is gone starts all the same, and has one
// ERROR event, as clients expect of watches.
func (e *endpoint) watchError(out answer, media codec.Media, err error) error {
	if !meta.IsResourceExpired(err) {
		return err
	}
	wt := &watcher{media: media}
	out.stream(media.StreamType())
	b, err := wt.appendError(nil, err)
	if err == nil {
		_, _ = out.Write(b) // it is the end of the watch, whether the client reads it or not
	}
	out.end()
	return nil
}

// stream sends events as they come. Whatever has come by the time of a flush goes out with it.
func (e *endpoint) stream(to answer, wt *watcher, cursor request.EventCursor) error {
	to.stream(wt.media.StreamType())
	defer to.end()
	out := newSender(wt.ctx, to)
	defer out.close()
	if err := out.flush(); err != nil {
		return nil
	}
	var sent func(int)
	if e.cfg.WatchStarted != nil {
		sent = e.cfg.WatchStarted(e.gv.WithResource(e.gr.Resource))
		defer sent(-1)
	}
	var flushed time.Time
	for {
		if pause := e.cfg.pace.pause(flushed); pause > 0 {
			time.Sleep(pause)
		}
		events, err := cursor.Next(wt.ctx)
		if wt.ctx.Err() != nil || errors.Is(err, io.EOF) {
			return nil
		}
		ended, err := wt.sendBatch(out, events, err)
		if err != nil || ended {
			return nil
		}
		flushed = time.Now()
		e.cfg.pace.flushed(flushed)
		if sent != nil {
			sent(len(events))
		}
	}
}

// batches are for the frames of one batch. Thousands of watchers may be sending at once, and most batches are one event,
// so they begin small.
var batches = sync.Pool{New: func() any { return new([]byte) }}

// sendBatch sends what a cursor returned: events or the error that ends it. ended: that was the last. The buffer is given
// back before the flush, which waits for the connection and, perhaps, the client.
func (wt *watcher) sendBatch(out *sender, events []request.Event, failed error) (ended bool, err error) {
	buf := batches.Get().(*[]byte)
	ended, err = wt.writeBatch(out, buf, events, failed)
	putIn(&batches, buf)
	if err != nil {
		return true, err
	}
	return ended, out.flush()
}

// writeAt is how many bytes of events are put together before they are written. The connection puts more of them together
// before it sends; what waits there for its turn is held by each watcher at once.
const writeAt = 1 << 10

// writeBatch writes the frames of a batch, by way of buf.
func (wt *watcher) writeBatch(out *sender, buf *[]byte, events []request.Event, failed error) (ended bool, err error) {
	for i := range events {
		if *buf, failed = wt.appendEvent(*buf, &events[i]); failed != nil {
			break
		}
		if len(*buf) >= writeAt {
			if err := out.write(*buf); err != nil {
				return true, err
			}
			*buf = (*buf)[:0]
		}
	}
	if failed != nil && wt.ctx.Err() == nil { // else the time was up while an object was being converted
		if *buf, err = wt.appendError(*buf, failed); err != nil {
			return true, err
		}
	}
	return failed != nil, out.write(*buf)
}

// appendEvent appends the frame of one event.
func (wt *watcher) appendEvent(b []byte, ev *request.Event) ([]byte, error) {
	var object []byte
	var err error
	switch {
	case ev.Type == request.Bookmark:
		object, err = wt.bookmark(ev)
	case wt.media.As == codec.AsTable:
		object, err = wt.table(ev.Object)
	default:
		object, err = wt.item.of(ev.Object)
	}
	if err != nil {
		return b, err
	}
	wt.events++
	return codec.AppendEvent(b, string(ev.Type), object, wt.media), nil
}

// table encodes one object as a Table of one row.
func (wt *watcher) table(enc request.Encoded) ([]byte, error) {
	table, err := wt.e.table(wt.ctx, wt.r, one(enc), meta.ListMeta{ResourceVersion: versionOf(enc)}, wt.media)
	if err != nil {
		return nil, err
	}
	return wt.tableOf(table)
}

// tableOf encodes a Table. Only the first event of a watch has the columns.
func (wt *watcher) tableOf(table *meta.Table) ([]byte, error) {
	if wt.events > 0 {
		table.ColumnDefinitions = nil
	}
	return wt.e.cfg.Codecs.Append(nil, table, codec.Media{Type: wt.media.Type})
}

// appendError appends the ERROR event that tells the client why its watch ends.
func (wt *watcher) appendError(b []byte, err error) ([]byte, error) {
	status := *meta.StatusOf(err)
	status.SetGroupVersionKind(meta.GroupVersionKind{Version: "v1", Kind: "Status"})
	object, err := statusFactory.Append(nil, &status, codec.Media{Type: wt.media.Type})
	if err != nil {
		return b, err
	}
	return codec.AppendEvent(b, string(request.Failed), object, wt.media), nil
}
