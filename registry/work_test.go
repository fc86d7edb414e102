package registry_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter/metertest"
)

// TestListEnds: a list by many fields stops soon after its request has ended.
func TestListEnds(t *testing.T) {
	k := newKit(t, options{})
	k.fill(30, "ns", "other")
	req := selectors(t, "", "", strings.Repeat("spec.color!=red,", 2000)+"spec.color=blue")
	ctx := &metertest.Context{Context: k.ctx}
	list, err := k.List(ctx, &req)
	if err != nil || list.Len == 0 || ctx.Looks < 10 {
		t.Fatalf("List: got %v after %d looks at the context", err, ctx.Looks)
	}
	for end := 1; end <= ctx.Looks; end++ {
		ctx := &metertest.Context{Context: k.ctx, End: end}
		if _, err := k.List(ctx, &req); !errors.Is(err, context.DeadlineExceeded) || ctx.Looks > end+1 {
			t.Errorf("List, time is up at look %d: got %v after %d looks", end, err, ctx.Looks)
		}
	}
}

// TestListByManyLabels: requirements that no label of an object can fail, or that repeat each
// other, are not evaluated for each object.
func TestListByManyLabels(t *testing.T) {
	k := newKit(t, options{})
	k.fill(30, "ns", "other")
	all := selectors(t, "", "", "")
	want, err := k.List(k.ctx, &all)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []string{"!k%d,", "k!=%d,", "k notin (%d),", "!k,"} {
		var labels strings.Builder
		for i := range 2000 {
			labels.WriteString(strings.Replace(piece, "%d", strconv.Itoa(i), 1))
		}
		req := selectors(t, "", strings.TrimSuffix(labels.String(), ","), "")
		ctx := &metertest.Context{Context: k.ctx}
		if list, err := k.List(ctx, &req); err != nil || list.Len != want.Len || ctx.Looks > 2 {
			t.Errorf("List by 2,000 of %s: got %d objects and error %v after %d looks at the context, want %d", piece, list.Len, err, ctx.Looks, want.Len)
		}
	}
}

// TestWriteEnds: if a request ends during validation, the list of errors may be incomplete. The
// answer then says that the request has ended.
func TestWriteEnds(t *testing.T) {
	k := newKit(t, options{})
	k.create(named("old", colored("fixed")))
	send := func(w *widget, write func(ctx context.Context, req *request.Write) error, end bool) error {
		ctx, cancel := context.WithCancel(k.ctx)
		defer cancel()
		req := k.creation(w, &meta.CreateOptions{})
		req.Change = func(context.Context, request.Current) (meta.Typed, error) {
			if end {
				cancel()
			}
			return w, nil
		}
		return write(ctx, req)
	}
	for name, write := range map[string]func() (*widget, func(ctx context.Context, req *request.Write) error){
		"create": func() (*widget, func(ctx context.Context, req *request.Write) error) {
			return named("Not_A_Name"), func(ctx context.Context, req *request.Write) error {
				_, err := k.Create(ctx, req)
				return err
			}
		},
		"update": func() (*widget, func(ctx context.Context, req *request.Write) error) {
			w := k.get("old")
			w.Spec.Color = "red"
			return w, func(ctx context.Context, req *request.Write) error {
				req.Name, req.Options = "old", &meta.UpdateOptions{}
				_, _, err := k.Update(ctx, req)
				return err
			}
		},
	} {
		w, run := write()
		if err := send(w, run, false); !meta.IsInvalid(err) {
			t.Errorf("%s: got %v, want that the object is invalid", name, err)
		}
		w, run = write()
		if err := send(w, run, true); !errors.Is(err, context.Canceled) {
			t.Errorf("%s for a request that has ended: got %v, want %v", name, err, context.Canceled)
		}
	}
}
