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

// This file serves watches. watch opens a cursor of the registry; stream is the loop that reads
// batches of events from it and sends them; appendEvent encodes one event. sender.go writes to the
// connection, pace.go decides how often, bookmark.go encodes bookmarks.

// watcher is one running watch. One goroutine uses it.
type watcher struct {
	e      *endpoint
	r      *http.Request
	info   *request.Info
	ctx    context.Context // of the watch, which ends before that of r
	media  codec.Media     // of the response
	item   *form           // of the objects in events
	events int             // sent so far
	// initialEnd says that the events to be flushed have the bookmark after the initial events.
	initialEnd bool
}

// watch streams changes until the client leaves, the time is up or the server stops.
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
		c.list(cancel)
	}
	wt := &watcher{e: e, r: r, info: info, ctx: ctx, media: media, item: e.form(ctx, itemMedia(media))}
	return e.stream(out, wt, cursor)
}

// unwatched refuses a watch of a resource that can only be listed. Errors in the request itself are
// reported first, as for a list.
func (e *endpoint) unwatched(_ answer, r *http.Request, info *request.Info) error {
	if _, err := e.accept(r, codec.OfferStream); err != nil {
		return err
	}
	if _, _, err := e.listRequest(info); err != nil {
		return err
	}
	return meta.NewMethodNotSupported(e.gr, "watch")
}

// watchTime returns how long a watch lasts: timeoutSeconds, or, without it, a random time between
// MinWatch and twice that, so that clients do not all come back at once.
func (e *endpoint) watchTime(opts *meta.ListOptions) time.Duration {
	if t := opts.TimeoutSeconds; t != nil && *t != 0 { // a negative time ends the watch at once
		return time.Duration(min(*t, int64(maxWatch/time.Second))) * time.Second
	}
	return time.Duration(float64(e.cfg.MinWatch) * (1 + rand.Float64()))
}

// maxWatch is the longest watch that timeoutSeconds can ask for.
const maxWatch = 24 * time.Hour

// itemMedia returns the form of the objects in the events or items of a response in the form m.
func itemMedia(m codec.Media) codec.Media {
	m.Stream, m.Pretty = false, false
	m.As = asItem(m.As)
	return m
}

// watchError answers a watch that cannot start. If its revision is too old, the watch starts with
// 200 and has one ERROR event, which is where clients expect that error.
func (e *endpoint) watchError(out answer, media codec.Media, err error) error {
	if !meta.IsResourceExpired(err) {
		return err
	}
	wt := &watcher{media: media}
	out.stream(media.StreamType())
	b, err := wt.appendError(nil, err)
	if err == nil {
		_, _ = out.Write(b) // the watch ends here, whether the client reads this or not
	}
	return nil
}

// stream sends events as they come. A batch contains all events that have arrived when the loop
// asks for it. On a busy server the loop first waits a few milliseconds, so that batches grow
// (pace.go). stream returns nil in all cases, because the response has begun: an error is sent as
// an ERROR event.
func (e *endpoint) stream(to answer, wt *watcher, cursor request.EventCursor) error {
	to.stream(wt.media.StreamType())
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
		if wt.initialEnd {
			wt.initialSent()
		}
		flushed = time.Now()
		e.cfg.pace.flushed(flushed)
		if sent != nil {
			sent(len(events))
		}
	}
}

// initialSent reports that the client has been sent the initial events, to Config.InitialSent.
func (wt *watcher) initialSent() {
	wt.initialEnd = false
	if told := wt.e.cfg.InitialSent; told != nil {
		scope := "cluster"
		switch {
		case wt.info.Name != "":
			scope = "resource"
		case wt.info.Namespace != "":
			scope = "namespace"
		}
		told(wt.e.gv.WithResource(wt.e.gr.Resource), scope, time.Since(wt.info.Received))
	}
}

// batches are buffers for the frames of one batch. Thousands of watchers may send at once and most
// batches are one event, so the buffers begin empty.
var batches = sync.Pool{New: func() any { return new([]byte) }}

// sendBatch sends what a cursor returned: events, or the error that ends the watch. ended reports
// that this was the last batch. The buffer goes back to the pool before the flush, because the
// flush waits for the connection and perhaps for the client.
func (wt *watcher) sendBatch(out *sender, events []request.Event, failed error) (ended bool, err error) {
	buf := batches.Get().(*[]byte)
	ended, err = wt.writeBatch(out, buf, events, failed)
	putIn(&batches, buf)
	if err != nil {
		return true, err
	}
	return ended, out.flush()
}

// writeAt is the number of bytes of events that are collected before they are written. It is small
// because the connection collects writes itself, while each waiting watcher holds a buffer of its
// own.
const writeAt = 1 << 10

// writeBatch writes the frames of a batch, through buf.
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
	if failed != nil && wt.ctx.Err() == nil { // otherwise the watch ended while an object was being converted
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
		wt.initialEnd = wt.initialEnd || ev.InitialEnd
		object, err = wt.bookmark(ev)
	case wt.media.As == codec.AsTable:
		object, err = wt.table(ev.Object)
	default:
		object, err = wt.item.encoded(ev.Object)
	}
	if err != nil {
		return b, err
	}
	wt.events++
	return codec.AppendEvent(b, string(ev.Type), object, wt.media), nil
}

// table encodes one object as a Table of one row.
func (wt *watcher) table(enc request.Encoded) ([]byte, error) {
	table, err := wt.e.table(wt.ctx, wt.r, single(enc), meta.ListMeta{ResourceVersion: versionOf(enc)}, wt.media)
	if err != nil {
		return nil, err
	}
	return wt.tableOf(table)
}

// tableOf encodes a Table. Only the first event of a watch carries the column definitions.
func (wt *watcher) tableOf(table *meta.Table) ([]byte, error) {
	if wt.events > 0 {
		table.ColumnDefinitions = nil
	}
	return wt.e.cfg.Codecs.Append(nil, table, codec.Media{Type: wt.media.Type})
}

// appendError appends the ERROR event with the Status of err, which ends the watch.
func (wt *watcher) appendError(b []byte, err error) ([]byte, error) {
	status := *meta.StatusOf(err)
	status.SetGroupVersionKind(meta.GroupVersionKind{Version: "v1", Kind: "Status"})
	object, err := statusFactory.Append(nil, &status, codec.Media{Type: wt.media.Type})
	if err != nil {
		return b, err
	}
	return codec.AppendEvent(b, string(request.Failed), object, wt.media), nil
}
