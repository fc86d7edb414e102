package storage_test

import (
	"testing"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/encryption"
	"github.com/coracle-project/coracle/storage/etcd"
	"github.com/coracle-project/coracle/storage/file"
	"github.com/coracle-project/coracle/storage/memory"
	"github.com/coracle-project/coracle/storage/storagetest"
)

// abilities says which abilities an engine has.
type abilities struct {
	sized, bounded, defragments, reviews bool
}

func abilitiesOf(s storage.Store) (a abilities) {
	_, a.sized = storage.As[storage.Sized](s)
	_, a.bounded = storage.As[storage.Bounded](s)
	_, a.defragments = storage.As[storage.Defragmenter](s)
	_, a.reviews = storage.As[storage.Reviewer](s)
	return a
}

// hiding is a wrapper without Unwrap.
type hiding struct{ storage.Store }

// unopened is a wrapper whose store is not open yet.
type unopened struct{ storage.Store }

func (unopened) Unwrap() storage.Store { return nil }

// TestAs checks the abilities of each engine, without wrappers and with them. Behind a wrapper that
// does not unwrap, there are none.
func TestAs(t *testing.T) {
	db, err := embedded.Open(t.Context(), embedded.Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	files, err := file.Open(file.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	mem := memory.New(memory.Config{})
	defer mem.Close()
	for _, tt := range []struct {
		name  string
		store storage.Store
		want  abilities
	}{
		{"memory", mem, abilities{}},
		{"embedded", db, abilities{sized: true, bounded: true, defragments: true}},
		{"etcd", new(etcd.Store), abilities{}},
		{"file", files, abilities{reviews: true}},
		{"none", nil, abilities{}},
		{"not open", unopened{}, abilities{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wrapped := storagetest.NewFaulty(encryption.Wrap(storagetest.NewFaulty(tt.store), nil))
			if got := abilitiesOf(tt.store); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if got := abilitiesOf(wrapped); got != tt.want {
				t.Errorf("wrapped: got %+v, want %+v", got, tt.want)
			}
			if got := abilitiesOf(encryption.Wrap(hiding{tt.store}, nil)); got != (abilities{}) {
				t.Errorf("behind a wrapper without Unwrap: got %+v, want none", got)
			}
			if got, ok := storage.As[*storagetest.Faulty](wrapped); !ok || got != wrapped {
				t.Errorf("got %p, %v; want the outermost wrapper, %p", got, ok, wrapped)
			}
		})
	}

	outer := encryption.Wrap(storagetest.NewFaulty(db), nil)
	if s, _ := storage.As[storage.Sized](outer); s != storage.Sized(db) {
		t.Errorf("got %v, want the embedded store itself", s)
	}
	d, _ := storage.As[storage.Defragmenter](outer)
	if done, err := d.Defragment(t.Context()); err != nil || done.After <= 0 {
		t.Errorf("got %+v, %v; want a database that was defragmented", done, err)
	}
}
