package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// stream is an open watch. A goroutine reads it until it ends or is closed.
type stream struct {
	cancel context.CancelFunc
	events chan any // closed at the end
}

// close ends the stream and waits for its goroutine.
func (s *stream) close() {
	s.cancel()
	for range s.events { // lets the goroutine send its last events
	}
}

// open starts a watch. If the server refuses it, the refusal is the result of the step.
func (p *player) open(ctx context.Context, s *step) (*answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := p.request(ctx, s)
	if err != nil {
		cancel()
		return nil, err
	}
	late := time.AfterFunc(requestTime, cancel)
	resp, err := p.target.client.Do(r)
	late.Stop()
	if err != nil {
		cancel()
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer cancel()
		refusal, err := read(resp)
		if err != nil {
			return nil, err
		}
		return p.observe(s, refusal)
	}
	w := &stream{cancel: cancel, events: make(chan any, 64)}
	p.streams[s.Watch] = w
	go func() {
		defer close(w.events)
		defer resp.Body.Close()
		dec := json.NewDecoder(resp.Body)
		dec.UseNumber()
		for {
			var event any
			if dec.Decode(&event) != nil {
				return
			}
			select {
			case w.events <- event:
			case <-ctx.Done():
				return
			}
		}
	}()
	return &answer{Status: resp.StatusCode, Headers: newLeveller(p.vars).headers(resp.Header)}, nil
}

// collect takes events from a stream: a fixed number, or all up to one that meets a condition, or
// all that come before the time limit.
func (p *player) collect(s *step) (*answer, error) {
	w := p.streams[s.Watch]
	if w == nil {
		return nil, fmt.Errorf("watch %q is not open", s.Watch)
	}
	a := &answer{}
	var last any
	late := time.After(p.timeout(s, collectTime))
	for a.End == "" {
		select {
		case event, open := <-w.events:
			if !open {
				a.End = "closed"
				continue
			}
			last = event
			a.Events = append(a.Events, event)
			enough := s.Until == nil && len(a.Events) == s.Count
			if s.Until != nil {
				var err error
				if enough, err = p.holds(s.Until, event); err != nil {
					return nil, err
				}
			}
			if enough {
				a.End = "reached"
			}
		case <-late:
			a.End = "timeout"
		}
	}
	if last != nil {
		for name, pointer := range s.Capture {
			v, ok := at(last, pointer)
			if !ok {
				return nil, fmt.Errorf("nothing to capture for %s in %s", name, short(compact(last)))
			}
			p.vars[name] = v
		}
	}
	l := newLeveller(p.vars)
	for i := range a.Events {
		a.Events[i] = l.reduced(s, a.Events[i])
	}
	if s.Unordered {
		sortValues(a.Events)
		sortValues(s.Expect.Events)
	}
	return a, nil
}
