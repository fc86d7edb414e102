package registry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// failingConverter returns a kind of gizmos whose converter fails for objects with the name bad.
func failingConverter(t *testing.T) kind.Kind {
	return gizmoKind(t, func(d *kind.Dynamic) {
		d.Convert = kind.Each(func(ctx context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error) {
			if strings.HasPrefix(u.Name, "bad") {
				return nil, errors.New("cannot be converted")
			}
			return convertGizmo(ctx, u, version)
		})
	})
}

// TestObjectThatCannotBeConverted: if an object cannot be converted, requests for it in the other
// version fail and name it. No other request fails.
func TestObjectThatCannotBeConverted(t *testing.T) {
	k := newKit(t, options{instead: gizmos(failingConverter(t))})
	watching := func(version, fields string) request.EventCursor {
		t.Helper()
		req := selectors(t, "ns", "", fields)
		req.Version, req.ResourceVersion = version, fmt.Sprint(k.revision())
		cursor, err := k.Watch(k.ctx, &req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cursor.Close)
		return cursor
	}
	k.post(`{"metadata":{"name":"good"},"spec":{"color":"red"}}`)
	same, other, unselected := watching("v1", "spec.color=red"), watching("v1beta1", "colour=red"), watching("v1beta1", "")
	k.post(`{"metadata":{"name":"bad"},"spec":{"color":"red"}}`)
	k.post(`{"metadata":{"name":"later"},"spec":{"color":"red"}}`)

	named := func(what string, err error) {
		t.Helper()
		wantReason(t, what, err, meta.StatusReasonInternalError)
		if err != nil && !strings.Contains(err.Error(), `gizmos.run.example.com "ns/bad": conversion from run.example.com/v1 to run.example.com/v1beta1: cannot be converted`) {
			t.Errorf("%s: got %v, want it to name the object and say why", what, err)
		}
	}
	enc, err := k.Get(k.ctx, "ns", "bad", "")
	if err != nil {
		t.Fatal(err)
	}
	k.wantShown("the object in the version stored", enc, "v1",
		`{"apiVersion":"run.example.com/v1","kind":"Gizmo","metadata":{"generation":1,"name":"bad"},"spec":{"color":"red"}}`)
	_, err = k.Encode(k.ctx, enc, "v1beta1", codec.Media{})
	named("the object in the other version", err)
	_, err = k.Encode(k.ctx, enc, "v1beta1", codec.Media{As: codec.AsPartial, Version: "v1"})
	named("its metadata in the other version", err)

	for _, how := range []string{"list", "watch"} {
		req := selectors(t, "ns", "", "spec.color=red")
		req.Version = "v1"
		if got, err := k.selected(how, &req); err != nil || strings.Join(got, " ") != "bad good later" {
			t.Errorf("%s in the version stored: got %v, %v", how, got, err)
		}
		req = selectors(t, "ns", "", "colour=red")
		req.Version = "v1beta1"
		_, err = k.selected(how, &req)
		named(how+" in the other version", err)
		req = selectors(t, "ns", "", "colour=red,metadata.name=good")
		req.Version = "v1beta1"
		if got, err := k.selected(how, &req); err != nil || strings.Join(got, " ") != "good" {
			t.Errorf("%s of another object: got %v, %v", how, got, err)
		}
	}

	for n := 0; n < 2; {
		events, err := same.Next(k.ctx)
		if err != nil {
			t.Fatalf("watch in the version stored: %v", err)
		}
		n += len(events)
	}
	for what, cursor := range map[string]request.EventCursor{"watch in the other version": other, "watch of all in the other version": unselected} {
		_, err = cursor.Next(k.ctx)
		named(what, err)
	}

	// It can be changed and deleted in its own version. A change in the other version is refused.
	if _, err := k.replace(k.Store, `{"apiVersion":"run.example.com/v1beta1","metadata":{"name":"bad"},"colour":"blue"}`); !meta.IsInternalError(err) {
		t.Errorf("update in the other version: got %v, want an internal error", err)
	}
	if _, err := k.replace(k.Store, `{"metadata":{"name":"bad"},"spec":{"color":"blue"}}`); err != nil {
		t.Errorf("update in the version stored: %v", err)
	}
	if _, err := k.delete("bad", meta.DeleteOptions{}); err != nil {
		t.Errorf("delete: %v", err)
	}
}

// TestStoredObjectThatCannotBeConverted: if the stored version of an object does not convert to the
// hub, the object can still be listed and shown in that version. A request that needs the hub fails
// and names the object.
func TestStoredObjectThatCannotBeConverted(t *testing.T) {
	k := newKit(t, options{instead: gizmos(failingConverter(t)), entries: []storage.Entry{{
		Key: "/registry/run.example.com/gizmos/ns/bad", Rev: 5,
		Value: []byte(`{"apiVersion":"run.example.com/v1beta1","kind":"Gizmo","metadata":{"name":"bad","namespace":"ns"},"colour":"red"}`),
	}}})
	enc, err := k.Get(k.ctx, "ns", "bad", "")
	if err != nil {
		t.Fatal(err)
	}
	k.wantShown("as it was written", enc, "v1beta1", `{"apiVersion":"run.example.com/v1beta1","colour":"red","kind":"Gizmo","metadata":{"name":"bad"}}`)
	for what, try := range map[string]func() error{
		"in the hub": func() error { return second(k.Encode(k.ctx, enc, "v1", codec.Media{})) },
		"decoded":    func() error { return second(k.Decode(k.ctx, enc)) },
		"as a row":   func() error { _, _, err := k.Row(k.ctx, enc, now); return err },
		"update":     func() error { return second(k.replace(k.Store, `{"metadata":{"name":"bad"}}`)) },
		"delete":     func() error { return second(k.delete("bad", meta.DeleteOptions{})) },
		"status":     func() error { return second(k.replace(k.Subresource("status"), `{"metadata":{"name":"bad"}}`)) },
	} {
		err := try()
		wantReason(t, what, err, meta.StatusReasonInternalError)
		if err != nil && (!strings.Contains(err.Error(), "ns/bad") || !strings.Contains(err.Error(), "cannot be converted")) {
			t.Errorf("%s: got %v, want it to name the object and say why", what, err)
		}
	}
}

// TestHangingConverter: a converter that does not answer delays only the requests that need one of
// its objects in another version.
func TestHangingConverter(t *testing.T) {
	asked, release := make(chan string, 10), make(chan struct{})
	k := newKit(t, options{instead: gizmos(gizmoKind(t, func(d *kind.Dynamic) {
		d.Convert = kind.Each(func(ctx context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error) {
			if u.Name == "slow" {
				asked <- version
				select {
				case <-release:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return convertGizmo(ctx, u, version)
		})
	}))})
	all, err := k.Watch(k.ctx, &request.ListRequest{Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	slow := k.post(`{"metadata":{"name":"slow"},"spec":{"color":"red"}}`)
	done := make(chan string, 2)
	go func() { // a GET in the other version
		data, err := k.Encode(k.ctx, slow, "v1beta1", codec.Media{})
		done <- fmt.Sprint("get ", len(data) > 0, err)
	}()
	go func() { // a list that selects by a field of the other version
		req := selectors(t, "ns", "", "colour!=blue")
		req.Version = "v1beta1"
		names, err := k.selected("list", &req)
		done <- fmt.Sprint("list ", len(names) > 0, err)
	}()
	if version := <-asked; version != "v1beta1" { // the first of the two requests asks, for both
		t.Errorf("the converter was asked for %s", version)
	}

	// None of these requests waits for the converter.
	fast := k.post(`{"metadata":{"name":"fast"},"spec":{"color":"blue"}}`)
	if _, err := k.Encode(k.ctx, fast, "v1beta1", codec.Media{}); err != nil {
		t.Error(err)
	}
	enc, err := k.Get(k.ctx, "ns", "slow", "")
	if err != nil {
		t.Fatal(err)
	}
	k.wantShown("the object in the version stored", enc, "v1",
		`{"apiVersion":"run.example.com/v1","kind":"Gizmo","metadata":{"generation":1,"name":"slow"},"spec":{"color":"red"}}`)
	if _, err := k.replace(k.Store, `{"metadata":{"name":"slow"},"spec":{"color":"green"}}`); err != nil {
		t.Error(err)
	}
	req := selectors(t, "ns", "", "spec.color=green")
	req.Version = "v1"
	if names, err := k.selected("list", &req); err != nil || strings.Join(names, " ") != "slow" {
		t.Errorf("list in the version stored: got %v, %v", names, err)
	}
	for n := 0; n < 3; {
		events, err := all.Next(k.ctx)
		if err != nil {
			t.Fatal(err)
		}
		n += len(events)
	}

	// If the request ends, the error says so and does not blame the object.
	ctx, cancel := context.WithCancel(k.ctx)
	gone := make(chan error)
	go func() {
		_, err := k.Encode(ctx, enc, "v1beta1", codec.Media{})
		gone <- err
	}()
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the end of the request: got %v", err)
	}
	close(release)
	for range 2 {
		if got := <-done; got != "get true <nil>" && got != "list true <nil>" {
			t.Errorf("after the converter has answered: %s", got)
		}
	}
}

// TestDryRunsAreConvertedAlone: two dry runs may have different objects for one key, so that they
// do not share a conversion.
func TestDryRunsAreConvertedAlone(t *testing.T) {
	asked, release := make(chan bool, 2), make(chan struct{})
	k := newKit(t, options{instead: gizmos(gizmoKind(t, func(d *kind.Dynamic) {
		d.Convert = kind.Each(func(ctx context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error) {
			asked <- true
			<-release
			return convertGizmo(ctx, u, version)
		})
	}))})
	got := map[string]chan string{"red": make(chan string, 1), "blue": make(chan string, 1)}
	for color, shown := range got {
		obj, err := k.Objects().Preview(k.Objects().Prefix()+"ns/a", fmt.Appendf(nil,
			`{"apiVersion":"run.example.com/v1","kind":"Gizmo","metadata":{"name":"a","namespace":"ns"},"spec":{"color":%q}}`, color))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			data, err := k.Encode(k.ctx, obj, "v1beta1", codec.Media{})
			shown <- fmt.Sprint(string(data), err)
		}()
		<-asked
	}
	close(release)
	for color, shown := range got {
		if text := <-shown; !strings.Contains(text, `"colour":"`+color+`"`) {
			t.Errorf("the %s one: got %s", color, text)
		}
	}
}
