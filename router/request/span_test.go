package request

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// tree is a trace for tests: the paths of the spans that have ended, with their notes.
type tree struct {
	mu    sync.Mutex
	ended []string
}

type treeSpan struct {
	of    *tree
	path  string
	notes string
	began time.Time
}

func (s *treeSpan) Begin(kind SpanKind, name string, at time.Time) TraceSpan {
	if s.of == nil {
		return nil
	}
	return &treeSpan{of: s.of, path: s.path + "/" + name, began: at}
}

func (s *treeSpan) Note(key, value string) { s.notes += " " + key + "=" + value }

func (s *treeSpan) End(at time.Time) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.ended = append(s.of.ended, fmt.Sprint(s.path, s.notes, " ", at.Sub(s.began)))
}

func (s *treeSpan) Headers() []string { return []string{"traceparent", s.path} }

// spanned returns an Info of a request that has just been received, and its context.
func spanned(t testing.TB) (*Info, context.Context) {
	info := &Info{Received: time.Now()}
	return info, NewContext(t.Context(), info)
}

// shown returns the latencies of a request.
func shown(i *Info) string {
	var all []string
	for kind, took := range i.Latencies {
		all = append(all, fmt.Sprint(kind, " ", took))
	}
	return strings.Join(all, ", ")
}

// TestSpans: spans that took noticeable time are kept, and those with the same name and subject are
// one. Of kinds whose spans run at the same time the longest counts.
func TestSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		info, ctx := spanned(t)
		spend := func(kind SpanKind, name, about string, took time.Duration) {
			_, s := Begin(ctx, kind, name)
			if about != "" {
				s.Note("subject", about)
				s.Note("more", "not shown")
			}
			time.Sleep(took)
			s.End()
		}
		spend(SpanStorage, "short", "", Noticeable-1)
		spend(SpanStorage, "Txn", "pods", 2*Noticeable)
		spend(SpanStorage, "Txn", "pods", Noticeable)
		spend(SpanStorage, "Txn", "secrets", Noticeable)
		spend(SpanValidatingWebhook, "hook", "a", 3*Noticeable)
		spend(SpanValidatingWebhook, "hook", "b", 2*Noticeable)
		spend(SpanCall, "HTTP POST", "", Noticeable)
		time.Sleep(Noticeable)
		Took(ctx, SpanOther, "admission plugin", "p", Noticeable)
		Took(ctx, SpanOther, "admission plugin", "q", Noticeable-1)
		kept, left := info.Spans()
		var got []string
		for _, k := range kept {
			got = append(got, fmt.Sprint(k.Name, " ", k.About, " ", k.Began.Round(Noticeable), " ", k.Took, " ", k.Count))
		}
		want := []string{"Txn pods 1ms 3ms 2", "Txn secrets 4ms 1ms 1", "hook a 5ms 3ms 1", "hook b 8ms 2ms 1", "HTTP POST  10ms 1ms 1",
			"admission plugin p 11ms 1ms 1"}
		if !slices.Equal(got, want) || left != 0 {
			t.Errorf("got %q and %d left, want %q", got, left, want)
		}
		if got, want := shown(info), "validating-webhook 3ms, etcd 4ms"; got != want {
			t.Errorf("latencies: got %s, want %s", got, want)
		}
	})
}

// TestSpansBounded: of a request with very many different spans some are left out, but their time
// counts.
func TestSpansBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		info, ctx := spanned(t)
		var working sync.WaitGroup
		for i := range maxSpans + 8 {
			working.Go(func() {
				_, s := Begin(ctx, SpanStorage, fmt.Sprint(i))
				time.Sleep(Noticeable)
				s.End()
			})
		}
		working.Wait()
		kept, left := info.Spans()
		if got := shown(info); len(kept) != maxSpans || left != 8 || got != "etcd 40ms" {
			t.Errorf("got %d spans, %d left, %s", len(kept), left, got)
		}
	})
}

// TestSpansInTrace: spans are within each other in the trace of the request, whatever time they
// took, and calls of other servers continue the innermost span.
func TestSpansInTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		info, ctx := spanned(t)
		if got := TraceHeaders(ctx); got != nil {
			t.Errorf("without a trace: got headers %q", got)
		}
		var all tree
		info.SetTrace(&treeSpan{of: &all, path: "whole"})
		outer, a := Begin(ctx, SpanOther, "a")
		inner, b := Begin(outer, SpanStorage, "b")
		b.Note("key", "value")
		for want, ctx := range map[string]context.Context{"whole": ctx, "whole/a": outer, "whole/a/b": inner} {
			if got := TraceHeaders(ctx); !slices.Equal(got, []string{"traceparent", want}) {
				t.Errorf("got headers %q, want %s", got, want)
			}
		}
		time.Sleep(time.Microsecond)
		b.End()
		a.End()
		time.Sleep(time.Second)
		Took(outer, SpanOther, "long", "c", time.Millisecond)
		Took(outer, SpanOther, "short", "c", time.Microsecond)
		_, small := BeginSized(outer, SpanEncode, "small", 1)
		small.End()
		want := []string{"whole/a/b key=value 1µs", "whole/a 1µs", "whole/a/long name=c 1ms", "whole/a/small 0s"}
		if !slices.Equal(all.ended, want) {
			t.Errorf("got %q, want %q", all.ended, want)
		}
	})
}

// TestSpansSized: of work on few bytes no time is kept, unless the request has a trace.
func TestSpansSized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		info, ctx := spanned(t)
		for _, size := range []int{noticeableSize - 1, noticeableSize} {
			_, s := BeginSized(ctx, SpanEncode, fmt.Sprint(size), size)
			time.Sleep(Noticeable)
			s.End()
		}
		if kept, _ := info.Spans(); len(kept) != 1 || kept[0].Name != fmt.Sprint(noticeableSize) {
			t.Errorf("got %v", kept)
		}
		if _, s := BeginSized(t.Context(), SpanEncode, "of no request", noticeableSize); s != (Span{}) {
			t.Errorf("got %v", s)
		}
	})
}

// TestSpansNotRecorded: a trace that is not recorded has no spans, but other servers are told.
func TestSpansNotRecorded(t *testing.T) {
	info, ctx := spanned(t)
	info.SetTrace(&treeSpan{path: "whole"})
	within, s := Begin(ctx, SpanOther, "a")
	s.End()
	if within != ctx {
		t.Error("the context has changed")
	}
	if got := TraceHeaders(within); !slices.Equal(got, []string{"traceparent", "whole"}) {
		t.Errorf("got headers %q", got)
	}
}

// TestSpanAllocs: spans of a request that is neither slow nor traced, and of no request at all,
// allocate nothing.
func TestSpanAllocs(t *testing.T) {
	info, ctx := spanned(t)
	for name, ctx := range map[string]context.Context{"of a request": ctx, "of no request": t.Context()} {
		if got := testing.AllocsPerRun(1000, func() {
			ctx, s := Begin(ctx, SpanStorage, "Get")
			s.Note("resource", "pods")
			if TraceHeaders(ctx) != nil {
				t.Error("there are headers")
			}
			Took(ctx, SpanOther, "plugin", "name", time.Microsecond)
			_, sized := BeginSized(ctx, SpanEncode, "SerializeObject", noticeableSize)
			sized.End()
			s.End()
		}); got != 0 {
			t.Errorf("%s: got %v allocs", name, got)
		}
	}
	if kept, _ := info.Spans(); kept != nil { // a slow machine
		t.Logf("kept %v", kept)
	}
}
