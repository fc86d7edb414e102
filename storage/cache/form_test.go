package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// object stores and returns an object of about size bytes.
func object(t testing.TB, r *cache.Resource, store storage.Store, key string, size int) *cache.Object {
	t.Helper()
	put(t, store, key, strings.Repeat("x", size), nil)
	if !r.Stats().Loaded { // before the load, the cache keeps no objects
		if _, err := r.List(t.Context(), cache.ListOptions{Prefix: things}); err != nil {
			t.Fatal(err)
		}
	}
	o, err := r.Get(t.Context(), key, cache.Want{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// formed asks for a form of o that is size bytes long, and reports whether it had to be built.
func formed(t testing.TB, o *cache.Object, id uint32, size int) (built bool) {
	t.Helper()
	want := bytes.Repeat([]byte{byte(id)}, size)
	got, err := o.Form(id, func() ([]byte, error) { built = true; return want, nil })
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("Form(%d): got %d bytes, %v, want %d bytes of it", id, len(got), err, size)
	}
	return built
}

func TestForms(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	o := object(t, r, store, things+"ns/a", 10)
	if _, err := o.Form(1, func() ([]byte, error) { return nil, storage.Corrupt }); !errors.Is(err, storage.Corrupt) {
		t.Errorf("Form: got %v, want %v", err, storage.Corrupt)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for id := range uint32(20) {
				formed(t, o, id, 100)
			}
		})
	}
	wg.Wait()
	for id := range uint32(20) {
		if formed(t, o, id, 100) {
			t.Errorf("Form(%d) was built again", id)
		}
	}
	if st := r.Stats(); st.Forms != 20 || st.FormBytes < 20*100 || st.FormBytes > 20*300 {
		t.Errorf("Stats: got %d forms of %d bytes, want 20 of 100 and something each", st.Forms, st.FormBytes)
	}
}

// TestFormBound: whichever forms are asked for, all forms together stay within FormBytes.
func TestFormBound(t *testing.T) {
	const bound = 64 << 10
	r, store, _ := open(t, cache.Config{FormBytes: bound})
	var objects []*cache.Object
	for i := range 40 {
		objects = append(objects, object(t, r, store, fmt.Sprintf("%sns/%d", things, i), 10))
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 4000 {
				o := objects[(i*7+g)%len(objects)]
				formed(t, o, uint32(i%50), 100+50*(i%50))
				if st := r.Stats(); st.FormBytes > bound {
					t.Errorf("after %d: got %d bytes in %d forms, want at most %d", i, st.FormBytes, st.Forms, bound)
					return
				}
			}
		})
	}
	wg.Wait()
	if st := r.Stats(); st.FormBytes < bound/2 {
		t.Errorf("got %d bytes of forms, want about %d", st.FormBytes, bound)
	}
	if formed(t, objects[0], 99, bound); !formed(t, objects[0], 99, bound) {
		t.Error("a form that is larger than the bound was kept")
	}
	if st := r.Stats(); st.Forms == 0 {
		t.Error("a form that is larger than the bound displaced the others")
	}
}

// TestFormAsStored: if a form has the same bytes as the stored object, the bytes do not count.
func TestFormAsStored(t *testing.T) {
	const bound = 64 << 10
	r, store, _ := open(t, cache.Config{FormBytes: bound})
	var objects []*cache.Object
	for i := range 100 {
		objects = append(objects, object(t, r, store, fmt.Sprintf("%sns/%d", things, i), bound/10))
	}
	formed(t, objects[0], 1, 100)
	for _, o := range objects {
		stored, _ := o.Stored()
		for _, first := range []bool{true, false} {
			built := false
			got, err := o.Form(2, func() ([]byte, error) { built = true; return stored, nil })
			if err != nil || &got[0] != &stored[0] || built != first {
				t.Fatalf("Form: got %d bytes, %v, built: %t", len(got), err, built)
			}
		}
	}
	if st := r.Stats(); st.Forms != 101 || st.FormBytes > bound {
		t.Errorf("Stats: got %d forms of %d bytes, want 101 that are hardly more than places", st.Forms, st.FormBytes)
	}
	if formed(t, objects[0], 1, 100) {
		t.Error("a form was displaced by what takes no room")
	}
}

// TestFormsThatFit: forms may fill all of FormBytes. Added and dropped forms are counted exactly.
func TestFormsThatFit(t *testing.T) {
	const size = 1000
	r, store, _ := open(t, cache.Config{})
	formed(t, object(t, r, store, things+"ns/a", 10), 1, size)
	one := r.Stats().FormBytes
	for _, n := range []int{1, 5, 200} {
		r, store, _ := open(t, cache.Config{FormBytes: int64(n) * one})
		o := object(t, r, store, things+"ns/a", 10)
		check := func(when string) {
			t.Helper()
			if st := r.Stats(); st.Forms != n || st.FormBytes != int64(n)*one {
				t.Errorf("%s: got %d forms of %d bytes, want %d of %d", when, st.Forms, st.FormBytes, n, int64(n)*one)
			}
		}
		for _, when := range []string{"first", "again"} {
			for id := range uint32(n) {
				if built := formed(t, o, id, size); built != (when == "first") {
					t.Errorf("form %d of %d, asked for %s: built: %t", id, n, when, built)
				}
			}
			check(when)
		}
		for id := range uint32(3 * n) { // with all others in use, the bound holds for each new form
			formed(t, o, uint32(n)+id, size)
			check("with one more")
		}
	}
}

// TestFormDisplaces: a large form displaces all forms that are not in use, if these are not too
// many.
func TestFormDisplaces(t *testing.T) {
	const size = 1000
	r, store, _ := open(t, cache.Config{})
	formed(t, object(t, r, store, things+"ns/a", 10), 1, size)
	one := int(r.Stats().FormBytes)
	for _, n := range []int{1, 2, 64} {
		r, store, _ := open(t, cache.Config{FormBytes: int64(n * one)})
		o := object(t, r, store, things+"ns/a", 10)
		for id := range uint32(n) {
			formed(t, o, id, size)
		}
		large := n*one - (one - size)
		formed(t, o, uint32(n), large)
		if formed(t, o, uint32(n), large) {
			t.Errorf("a form as large as %d was built again", n)
		}
	}
}

// TestFormsLeaveNothing: dropped forms leave no memory behind in the count of forms.
func TestFormsLeaveNothing(t *testing.T) {
	const objects, each = 1000, 40
	r, store, _ := open(t, cache.Config{FormBytes: 1})
	for i := range objects {
		put(t, store, fmt.Sprintf("%sns/%d", things, i), "v", nil)
	}
	list, err := r.List(t.Context(), cache.ListOptions{Prefix: things})
	if err != nil {
		t.Fatal(err)
	}
	all := list.Objects
	data := make([]byte, 100)
	build := func() ([]byte, error) { return data, nil }
	before := heap()
	for _, room := range []int64{20 << 10, 64 << 20} { // at first there is room for a few forms at a time, then for all
		r.SetStored(room)
		for id := range uint32(each) {
			for _, o := range all {
				if _, err := o.Form(id, build); err != nil {
					t.Fatal(err)
				}
			}
		}
		if st := r.Stats(); room > objects*each*250 && st.Forms != objects*each {
			t.Errorf("got %d forms, want all %d", st.Forms, objects*each)
		}
		r.SetStored(0)
		r.Trim()
		if st, grown := r.Stats(), heap()-before; st.Forms != 0 || grown > 200<<10 {
			t.Errorf("of %d forms within %d bytes, %d and %d bytes are left", objects*each, room, st.Forms, grown)
		}
	}
	runtime.KeepAlive(all)
}

// TestFormBoundFollowsObjects: forms may take as many bytes as the present objects.
func TestFormBoundFollowsObjects(t *testing.T) {
	const n, size = 100, 2000
	r, store, _ := open(t, cache.Config{FormBytes: 1})
	var objects []*cache.Object
	for i := range n {
		objects = append(objects, object(t, r, store, fmt.Sprintf("%sns/%d", things, i), size))
	}
	for _, o := range objects {
		formed(t, o, 1, size-100)
	}
	for _, o := range objects {
		if formed(t, o, 1, size-100) {
			t.Errorf("%s was built again", o.Key)
		}
	}
	for _, o := range objects[n/10:] {
		remove(t, store, o.Key)
	}
	settle(t, r)
	r.Trim()
	if st := r.Stats(); st.FormBytes > n/10*(size+200) || st.FormBytes < n/10*size/2 {
		t.Errorf("with %d objects of %d bytes: got %d bytes of forms", n/10, size, st.FormBytes)
	}
	for _, o := range objects[:n/10] {
		remove(t, store, o.Key)
	}
	settle(t, r)
	r.Trim()
	if st := r.Stats(); st.FormBytes != 0 || st.Forms != 0 {
		t.Errorf("without objects: got %d bytes in %d forms", st.FormBytes, st.Forms)
	}
}

// TestFormBoundShrinks: the bound on forms may fall at any moment while a form is added.
func TestFormBoundShrinks(t *testing.T) {
	r, store, _ := open(t, cache.Config{FormBytes: 1})
	o := object(t, r, store, things+"ns/a", 10)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				r.SetStored(1 << 20)
				r.SetStored(0)
			}
		}
	})
	for id := range uint32(20_000) {
		if _, err := o.Form(id, func() ([]byte, error) { return make([]byte, 20_000), nil }); err != nil { // there is room for few at a time
			t.Fatal(err)
		}
	}
	close(done)
	wg.Wait()
}

// TestFormsInUseStay: a form that is used now and then outlives forms that are used once.
func TestFormsInUseStay(t *testing.T) {
	r, store, _ := open(t, cache.Config{FormBytes: 64 << 10})
	hot := object(t, r, store, things+"ns/hot", 10)
	cold := object(t, r, store, things+"ns/cold", 10)
	formed(t, hot, 1, 1000)
	formed(t, cold, 1, 1000)
	for i := range 1000 {
		formed(t, cold, uint32(2+i), 1000)
		if i%20 == 0 && formed(t, hot, 1, 1000) {
			t.Fatalf("the form in use was built again after %d others", i)
		}
	}
	if !formed(t, cold, 1, 1000) {
		t.Error("a form that nobody used is still there")
	}
}

// TestFormsOfTheDead: the count of forms does not keep a replaced object and its forms in memory.
func TestFormsOfTheDead(t *testing.T) {
	r, store, _ := open(t, cache.Config{WindowEvents: 1})
	key := things + "ns/a"
	o := object(t, r, store, key, 10)
	data, err := o.Form(1, func() ([]byte, error) { return make([]byte, 1000), nil })
	if err != nil {
		t.Fatal(err)
	}
	dead, bytes := weak.Make(o), weak.Make(&data[0])
	o, data = nil, nil
	for i := range 3 { // after these, the window does not hold it either
		put(t, store, key, fmt.Sprint(i), nil)
		settle(t, r)
	}
	r.Trim()
	for deadline := time.Now().Add(10 * time.Second); dead.Value() != nil || bytes.Value() != nil; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatalf("the object lives: %t; its form: %t", dead.Value() != nil, bytes.Value() != nil)
		}
	}
	if st := r.Stats(); st.Forms != 1 { // otherwise the test proves nothing
		t.Errorf("got %d forms counted, want 1", st.Forms)
	}
}

// BenchmarkForm: hit finds one of four forms, miss adds a form for which others are dropped.
func BenchmarkForm(b *testing.B) {
	const n = 20_000
	form := make([]byte, 900)
	build := func() ([]byte, error) { return form, nil }
	setup := func(b *testing.B) []*cache.Object {
		r, _ := filled(b, n)
		list, err := r.List(b.Context(), cache.ListOptions{Prefix: things})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		return list.Objects
	}
	b.Run("hit", func(b *testing.B) {
		o := setup(b)[n/2]
		for id := range uint32(4) {
			_, _ = o.Form(id, build)
		}
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if data, err := o.Form(1, build); err != nil || len(data) != len(form) {
					b.Error("not found")
				}
			}
		})
	})
	b.Run("miss", func(b *testing.B) {
		objects := setup(b)
		i := 0
		for b.Loop() {
			if _, err := objects[i%n].Form(uint32(i/n), build); err != nil {
				b.Fatal(err)
			}
			i++
		}
	})
}
