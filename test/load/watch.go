package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// watchLimit bounds the wait for the last event.
const watchLimit = time.Minute

// watch opens watches and updates objects until every watcher has seen every update. An event at a
// watcher is an operation. Its latency begins before the update is sent. One of sampleEvery
// watchers measures latencies.
func watch(ctx context.Context, p plan, t *target) (*result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var buf bytes.Buffer
	if err := t.do(ctx, get(t.objects()+"?limit=1"), &buf); err != nil {
		return nil, err
	}
	path := t.objects() + "?watch=1&resourceVersion=" + metaOf(buf.Bytes(), "resourceVersion")
	left := atomic.Int64{}
	left.Store(int64(p.watchers) * int64(p.writes))
	done := make(chan struct{})
	watchers := make([]watcher, p.watchers)
	var wg sync.WaitGroup
	defer func() { cancel(nil); wg.Wait() }()
	for i := range watchers {
		resp, err := t.open(ctx, get(path))
		if err != nil {
			return nil, err
		}
		if resp.StatusCode != http.StatusOK {
			resp.Body.Close()
			return nil, fmt.Errorf("watch: %s", resp.Status)
		}
		watchers[i].sampled = i%sampleEvery == 0
		wg.Go(func() {
			defer resp.Body.Close()
			watchers[i].read(resp.Body, func(n int) {
				if left.Add(-int64(n)) == 0 {
					close(done)
				}
			})
		})
	}
	cpu, begin := cpuOf(t.pids), time.Now()
	writing := p
	writing.clients = min(p.clients, writers)
	_, err := workers(ctx, writing, t, func(w *worker, i int) (bool, error) {
		if i >= p.writes {
			return false, nil
		}
		return true, w.do(ctx, t.update(i%p.objects, p, stamp+strconv.FormatInt(time.Now().UnixNano(), 10)))
	})
	if err != nil {
		return nil, err
	}
	select {
	case <-done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(watchLimit):
		return nil, fmt.Errorf("%d events have not come after %v", left.Load(), watchLimit)
	}
	r := &result{ops: p.watchers * p.writes, wall: time.Since(begin), cpu: cpuOf(t.pids) - cpu}
	cancel(nil)
	wg.Wait()
	for i := range watchers {
		r.bytes += watchers[i].bytes
		r.latency = append(r.latency, watchers[i].latency...)
	}
	return r, nil
}

const (
	sampleEvery = 20
	writers     = 4    // concurrent clients; few, because each write is sent to many watchers
	stamp       = "at" // before the time in Unix nanoseconds: the state of an object that is written for watchers
)

// watcher is one open watch.
type watcher struct {
	sampled bool
	bytes   int64
	latency []time.Duration
}

// read counts the events of a watch until it ends. Every event is a line.
func (w *watcher) read(r io.Reader, seen func(events int)) {
	buf := make([]byte, 64<<10)
	var line []byte // the beginning of a line, if sampled
	for {
		n, err := r.Read(buf)
		w.bytes += int64(n)
		if w.sampled {
			line = w.sample(append(line, buf[:n]...))
		}
		if events := bytes.Count(buf[:n], []byte{'\n'}); events > 0 {
			seen(events)
		}
		if err != nil {
			return
		}
	}
}

// sample takes the latencies of complete lines and returns the rest.
func (w *watcher) sample(data []byte) []byte {
	for {
		line, rest, ok := bytes.Cut(data, []byte{'\n'})
		if !ok {
			return data
		}
		if _, after, ok := bytes.Cut(line, []byte(`"state":"`+stamp)); ok {
			digits, _, _ := bytes.Cut(after, []byte{'"'})
			if sent, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
				w.latency = append(w.latency, time.Since(time.Unix(0, sent)))
			}
		}
		data = rest
	}
}
