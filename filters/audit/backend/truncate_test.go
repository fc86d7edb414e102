package backend

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/filters/audit"
)

// keeper is a store that keeps the events themselves, a slice for each delivery.
type keeper struct{ batches [][]*audit.Event }

func (k *keeper) deliver(_ context.Context, events []*audit.Event) (int, error) {
	k.batches = append(k.batches, slices.Clone(events))
	return 0, nil
}

func (k *keeper) close(context.Context) {}

func TestTruncate(t *testing.T) {
	plain := eventOf("e")
	size := int64(len(plain.AppendJSON(nil, false))) + 1 // with the newline, as kube-apiserver counts
	short := size + int64(len(`,"audit.k8s.io/truncated":"true"`)+len("RequestResponse")-len("Metadata"))
	withObjects := func(level audit.Level) *audit.Event {
		e := eventOf("e")
		e.Level, e.RequestObject, e.ResponseObject = level, []byte(`{"a":1}`), []byte(`{"a":2}`)
		return e
	}
	bare := eventOf("e")
	bare.Level, bare.Annotations, bare.RequestObject = audit.Request, nil, []byte(`"`+strings.Repeat("x", 1000)+`"`)
	for _, tt := range []struct {
		name       string
		event      *audit.Event
		most       int64
		kept, same bool
	}{
		{"fits", plain, size, true, true},
		{"too large, without objects to lose", plain, size - 1, false, false},
		{"fits with objects", withObjects(audit.Request), 10 * size, true, true},
		{"fits without objects", withObjects(audit.RequestResponse), short, true, false},
		{"too large even so", withObjects(audit.RequestResponse), short - 1, false, false},
		{"without annotations", bare, size, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, to := newGauges(t), &keeper{}
			before := *tt.event
			before.Annotations = map[string]string{}
			for key, value := range tt.event.Annotations {
				before.Annotations[key] = value
			}
			if tt.event.Annotations == nil {
				before.Annotations = nil
			}
			s := &truncating{to: to, bounds: Truncate{true, tt.most, tt.most}, tooLarge: g.failures(truncateName)}
			if lost, err := s.deliver(t.Context(), []*audit.Event{tt.event}); lost != 0 || err != nil {
				t.Errorf("deliver: got %d, %v: truncation must not refuse a request", lost, err)
			}
			if !reflect.DeepEqual(*tt.event, before) {
				t.Error("the event was changed")
			}
			if !tt.kept {
				g.want(truncateName, 1)
				if len(to.batches) != 0 {
					t.Error("the event was stored")
				}
				return
			}
			g.want(truncateName, 0)
			got := to.batches[0][0]
			if tt.same {
				if got != tt.event {
					t.Error("the event was copied")
				}
				return
			}
			want := before
			want.RequestObject, want.ResponseObject = nil, nil
			want.Annotations = map[string]string{"audit.k8s.io/truncated": "true"}
			for key, value := range before.Annotations {
				want.Annotations[key] = value
			}
			if !reflect.DeepEqual(*got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestTruncateSplitsBatches(t *testing.T) {
	size := int64(len(eventOf("e0").AppendJSON(nil, false))) + 1
	events := eventsOf("e", 8)
	large := *events[3]
	large.RequestURI = strings.Repeat("x", int(2*size))
	events[3] = &large
	for most, want := range map[int64][]string{
		3 * size:   {"e0 e1 e2", "e4 e5 e6", "e7"},
		3*size - 1: {"e0 e1", "e2 e4", "e5 e6", "e7"},
	} {
		g, to := newGauges(t), &keeper{}
		s := &truncating{to: to, bounds: Truncate{true, 2 * size, most}, tooLarge: g.failures(truncateName)}
		if lost, err := s.deliver(t.Context(), events); lost != 0 || err != nil {
			t.Errorf("got %d, %v", lost, err)
		}
		var got []string
		for _, b := range to.batches {
			got = append(got, strings.Join(idsOf(b), " "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("at most %d bytes: got the batches %q, want %q", most, got, want)
		}
		g.want(truncateName, 1)
	}
}
