package checktest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Scheme has all kinds.
var Scheme = sync.OnceValue(func() *scheme.Scheme {
	s := scheme.New()
	api.AddToScheme(s)
	if err := s.Complete(); err != nil {
		panic(err)
	}
	return s
})

// Decode makes a defaulted object from JSON, whose name is x if it has none.
func Decode[T any, P interface {
	*T
	meta.Object
}](tb testing.TB, text string) P {
	tb.Helper()
	obj := P(new(T))
	if err := json.Unmarshal([]byte(text), obj); err != nil {
		tb.Fatalf("decode %s: %v", text, err)
	}
	if obj.GetObjectMeta().Name == "" {
		obj.GetObjectMeta().Name = "x"
	}
	Scheme().Default(obj)
	return obj
}

// Resource returns the declaration of a kind.
func Resource(tb testing.TB, list []registry.Resource, kind string) *registry.Resource {
	tb.Helper()
	for i := range list {
		if list[i].Kind == kind {
			return &list[i]
		}
	}
	tb.Fatalf("no kind %s", kind)
	return nil
}

// WantCells compares the cells of an object, of which there is one for each column, with those
// wanted, as one text.
func WantCells(tb testing.TB, r *registry.Resource, obj meta.Object, now time.Time, want ...any) {
	tb.Helper()
	cells := r.Table.Cells(obj, now)
	if len(cells) != len(r.Table.Columns) {
		tb.Errorf("got %d cells, want %d, one for each column", len(cells), len(r.Table.Columns))
	}
	if got := fmt.Sprintf("%q", cells); got != fmt.Sprintf("%q", want) {
		tb.Errorf("cells:\ngot  %s\nwant %q", got, want)
	}
}
