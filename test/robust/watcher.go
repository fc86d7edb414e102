package robust

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"
)

// watcher is a client that always watches. One goroutine uses it.
type watcher struct {
	run   *run
	id    int
	scope Scope
	anew  bool          // each session begins with the present state
	past  bool          // each session begins at a past revision; otherwise it resumes
	life  time.Duration // about how long a session lasts; 0: until the server ends it
	slow  time.Duration // pause after each event
	acts  *client       // acts on each event at once, as a controller does; may be nil
	http  *http.Client
	rng   *rand.Rand

	last    int64        // the revision to resume from; 0 if there is none
	reached atomic.Int64 // the last revision, for other goroutines
}

// newWatchers returns one watcher of each kind.
func (r *run) newWatchers() []*watcher {
	name := r.hot[0]
	list := []*watcher{
		{scope: Scope{All: true}},
		{},
		{life: 700 * time.Millisecond},
		{scope: Scope{Selector: 1}, life: 2 * time.Second},
		{scope: Scope{Selector: 2, All: true}, life: 5 * time.Second},
		{scope: Scope{Name: name}, life: 3 * time.Second},
		{anew: true, life: 600 * time.Millisecond},
		{anew: true, scope: Scope{Selector: 1}, life: 900 * time.Millisecond},
		{past: true, life: 800 * time.Millisecond},
		{past: true, scope: Scope{Selector: 2}, life: 800 * time.Millisecond},
		{slow: 20 * time.Millisecond, scope: Scope{All: true}},
		{acts: newClient(r, controllerID)},
	}
	for i, w := range list {
		w.run, w.id = r, i
		w.rng = rand.New(rand.NewPCG(r.seed, 1000+uint64(i)))
		w.http = newHTTP(i%2 == 0)
		if w.slow > 0 { // a small buffer, too, so that the server has to wait
			t := w.http.Transport.(*http.Transport)
			t.Protocols.SetHTTP2(false)
			t.Protocols.SetHTTP1(true)
			t.DialContext = smallBuffer
		}
		if !w.anew {
			w.last = r.start
		}
	}
	return list
}

func smallBuffer(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		err = conn.(*net.TCPConn).SetReadBuffer(4096)
	}
	return conn, err
}

// follows reports whether the watcher's sessions form one stream whose end it must reach.
func (w *watcher) follows() bool { return !w.anew && !w.past && w.slow == 0 }

// watch watches until ctx ends.
func (w *watcher) watch(ctx context.Context) {
	for ctx.Err() == nil {
		s := &Session{Watcher: w.id, Server: w.rng.IntN(len(w.run.cluster.urls)), Scope: w.scope, From: w.last}
		switch {
		case w.anew:
			s.From = 0
		case w.past:
			s.From = w.run.somewhen(w.rng)
		}
		if w.session(ctx, s); s.Code > 0 {
			w.run.keepSession(s)
		}
		if s.Code != http.StatusOK {
			time.Sleep(time.Duration(10+w.rng.IntN(30)) * time.Millisecond)
		}
	}
}

// session makes one request and reads it to its end.
func (w *watcher) session(ctx context.Context, s *Session) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if w.life > 0 {
		defer time.AfterFunc(w.life/4+time.Duration(w.rng.Int64N(int64(3*w.life/2))), cancel).Stop()
	}
	q := url.Values{"watch": {"1"}, "allowWatchBookmarks": {"true"}, "timeoutSeconds": {strconv.Itoa(5 + w.rng.IntN(30))},
		"labelSelector": {selectors[s.Scope.Selector]}}
	if s.Scope.Name != "" {
		q.Set("fieldSelector", "metadata.name="+s.Scope.Name)
	}
	if s.From > 0 {
		q.Set("resourceVersion", strconv.FormatInt(s.From, 10))
	} else {
		q.Set("sendInitialEvents", "true")
		q.Set("resourceVersionMatch", "NotOlderThan")
	}
	s.Opened = w.run.now()
	resp, err := w.http.Do(w.run.newRequest(ctx, s.Server, s.Scope.All, request{method: "GET", query: q}))
	if err != nil {
		s.End = err.Error()
		return
	}
	defer resp.Body.Close()
	if s.Code = resp.StatusCode; s.Code == http.StatusOK {
		w.read(s, resp.Body)
	} else if s.Code == http.StatusGone {
		w.last = 0
	}
}

// read reads events to their end. A session that begins with the present state can resume only
// after it has all of that state.
func (w *watcher) read(s *Session, body io.Reader) {
	resumable := s.From > 0
	for dec := json.NewDecoder(body); ; {
		var frame struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := dec.Decode(&frame); err != nil {
			s.End = err.Error()
			return
		}
		e := w.run.event(frame.Type, frame.Object)
		if e.Object != nil || e.Type == bookmark || e.Type == failed {
			s.Events = append(s.Events, e)
		}
		if e.Type == failed {
			if e.Code == http.StatusGone {
				w.last = 0
			}
			return
		}
		w.run.saw(e.RV)
		if resumable = resumable || e.Initial; resumable && !w.past {
			w.last = max(w.last, e.RV)
			w.reached.Store(w.last)
		}
		if w.acts != nil && e.Object != nil {
			w.acts.react(&e)
		}
		time.Sleep(w.slow)
	}
}

// event reads an event. The event of an object that is not of the run has no object.
func (r *run) event(kind string, data json.RawMessage) Event {
	e := Event{Time: r.now(), Type: kind}
	var head struct {
		Metadata meta   `json:"metadata"`
		Code     int    `json:"code"`
		Message  string `json:"message"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		r.trouble("an event is not JSON: %v: %.300q", err, data)
	}
	switch e.RV = head.Metadata.revision(); kind {
	case bookmark:
		e.Initial = head.Metadata.Annotations["k8s.io/initial-events-end"] == "true"
	case failed:
		e.Code, e.Error = head.Code, head.Message
	case added, modified, deleted:
		e.Object = r.decode(data)
	default:
		r.trouble("an event is a %q: %.300q", kind, data)
	}
	return e
}
