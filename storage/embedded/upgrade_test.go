package embedded_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
)

var db = filepath.Join("member", "snap", "db")

// contents returns all keys of a store and its revision, as text.
func contents(t *testing.T, s *embedded.Store) string {
	t.Helper()
	res, err := s.Range(t.Context(), storage.RangeRequest{Prefix: "/"})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintln(res.Rev)
	for _, e := range res.Entries {
		text += fmt.Sprintln(e.Key, string(e.Value), e.Rev)
	}
	return text
}

// contents returns all keys of an etcd and its revision, as text.
func (e *etcdServer) contents() string {
	e.t.Helper()
	res, err := e.Range(context.Background(), &pb.RangeRequest{Key: []byte("/"), RangeEnd: []byte("0")})
	if err != nil {
		e.t.Fatal(err)
	}
	text := fmt.Sprintln(res.Header.Revision)
	for _, kv := range res.Kvs {
		text += fmt.Sprintln(string(kv.Key), string(kv.Value), kv.ModRevision)
	}
	return text
}

// change makes n random changes, some of them with preconditions, fences or leases, and
// compactions. Some of them fail.
func change(t *testing.T, s *embedded.Store, r *rand.Rand, n int) {
	t.Helper()
	id, err := s.Lease(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		key := fmt.Sprintf("/a/%d", r.IntN(20))
		pre, lease := storage.Pre{}, storage.LeaseID(0)
		switch e, err := s.Get(t.Context(), key); {
		case r.IntN(4) == 0:
			pre.Absent = true
		case r.IntN(4) == 0:
			pre.Rev = 3
		case err == nil && r.IntN(2) == 0:
			pre.Rev = e.Rev
		}
		switch fence := fmt.Sprintf("/a/%d", r.IntN(20)); r.IntN(8) {
		case 0:
			pre.Fence = storage.Fence{Key: fence, Rev: storage.Revision(3 * r.IntN(2))}
		case 1, 2:
			e, _ := s.Get(t.Context(), fence)
			pre.Fence = storage.Fence{Key: fence, Rev: e.Rev}
		}
		if lease = id * storage.LeaseID(r.IntN(2)); r.IntN(20) == 0 {
			lease = 12345 // unknown
		}
		switch r.IntN(10) {
		case 0, 1:
			_, err = s.Delete(t.Context(), key, pre)
		case 2:
			err = s.Compact(t.Context(), seen(s)-storage.Revision(r.IntN(2)))
		default:
			_, err = s.Put(t.Context(), key, fmt.Append(nil, i), pre, lease)
		}
		if k := storage.KindOf(err); err != nil && k != storage.Exists && k != storage.Conflict && k != storage.NotFound && k != storage.NoLease && k != storage.Fenced {
			t.Fatal(err)
		}
	}
}

// copyOf copies the data of a store, which may be open, as a crash of the process would leave it at
// this moment: the database first, so that it is older than the log.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		files = append(files, path)
		return err
	})
	slices.SortStableFunc(files, func(a, b string) int {
		if filepath.Base(a) == "db" {
			return -1
		}
		if filepath.Base(b) == "db" {
			return 1
		}
		return 0
	})
	for _, path := range files {
		data, rerr := os.ReadFile(path)
		if os.IsNotExist(rerr) { // a segment that is being allocated
			continue
		}
		rel, _ := filepath.Rel(dir, path)
		if err == nil && rerr == nil {
			rerr = os.WriteFile(filepath.Join(to, rel), data, 0o600)
		}
		if err == nil {
			err = rerr
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// TestReplay replays the log on a database without any of its changes, and on one with a part of
// them, by the store and by etcd. All end in the same state.
func TestReplay(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	young, err := os.ReadFile(filepath.Join(dir, db))
	if err != nil {
		t.Fatal(err)
	}
	for round := range 6 {
		change(t, s, r, 100)
		want := contents(t, s)
		crashed := copyOf(t, dir)
		if round%2 == 0 {
			if err := os.WriteFile(filepath.Join(crashed, db), young, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		again := copyOf(t, crashed)
		for range 2 {
			s, err := embedded.Open(t.Context(), embedded.Config{Dir: crashed, NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := contents(t, s); got != want {
				t.Errorf("round %d, seed %d: got %s, want %s", round, seed, got, want)
			}
			s.Close()
		}
		e := openEtcd(t, again)
		if got := e.contents(); got != want {
			t.Errorf("round %d, seed %d: etcd has %s, want %s", round, seed, got, want)
		}
		e.close()
	}
}

// TestTakeTurns opens the same data with etcd and with an embedded store in turn, and now and then
// kills one of them. Each has the acknowledged writes of the other, at the same revisions.
func TestTakeTurns(t *testing.T) {
	t.Parallel()
	for _, etcdFirst := range []bool{true, false} {
		t.Run(fmt.Sprintf("etcdFirst=%t", etcdFirst), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			dir, want := t.TempDir(), ""
			var lease int64
			for round := range 6 {
				if etcdFirst || round > 0 {
					e := openEtcd(t, dir)
					if got := e.contents(); want != "" && got != want {
						t.Fatalf("round %d: etcd has %s, want %s", round, got, want)
					}
					if lease != 0 {
						if _, err := e.LeaseTimeToLive(t.Context(), &pb.LeaseTimeToLiveRequest{ID: lease}); err != nil {
							t.Errorf("round %d: the lease: %v", round, err)
						}
					}
					e.Backend().ForceCommit()
					before, err := os.ReadFile(filepath.Join(dir, db))
					if err != nil {
						t.Fatal(err)
					}
					lease = e.change(r, round)
					want = e.contents()
					killed := copyOf(t, dir)
					e.close()
					if round%2 == 0 { // the changes are only in the log
						dir = killed
						err = os.WriteFile(filepath.Join(dir, db), before, 0o600)
					}
					if round == 0 { // all entries of the log are, as if nothing had been committed
						err = os.Remove(filepath.Join(dir, db))
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true})
				if err != nil {
					t.Fatal(err)
				}
				if got := contents(t, s); want != "" && got != want {
					t.Fatalf("round %d: got %s, want %s", round, got, want)
				}
				if lease != 0 {
					if _, err := s.Put(t.Context(), "/leased", nil, storage.Pre{}, storage.LeaseID(lease)); err != nil {
						t.Errorf("round %d: Put under a lease of etcd: %v", round, err)
					}
				}
				change(t, s, r, 50)
				want = contents(t, s)
				killed := copyOf(t, dir)
				s.Close()
				if round%2 == 1 {
					dir = killed
				}
			}
		})
	}
}

// change makes requests that only an etcd has in its log. It returns a lease.
func (e *etcdServer) change(r *rand.Rand, round int) int64 {
	e.t.Helper()
	ctx := context.Background()
	var err error
	check := func(more error) {
		if err == nil {
			err = more
		}
	}
	granted, err := e.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: 3600})
	check(err)
	ended, err := e.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: 3600})
	check(err)
	for i := range 20 {
		e.put(fmt.Sprintf("/e/%d", r.IntN(10)), fmt.Sprint(round, i))
	}
	put := func(key string, lease int64) {
		_, perr := e.Put(ctx, &pb.PutRequest{Key: []byte(key), Lease: lease, PrevKv: true})
		check(perr)
	}
	put("/e/ends", ended.ID)
	put("/e/leased", granted.ID)
	_, lerr := e.LeaseRevoke(ctx, &pb.LeaseRevokeRequest{ID: ended.ID})
	check(lerr)
	_, derr := e.DeleteRange(ctx, &pb.DeleteRangeRequest{Key: []byte("/e/2"), RangeEnd: []byte("/e/4")})
	check(derr)
	_, terr := e.Txn(ctx, &pb.TxnRequest{Compare: []*pb.Compare{{Key: []byte("/e/x"), Target: pb.Compare_VERSION, Result: pb.Compare_LESS,
		TargetUnion: &pb.Compare_Version{Version: 2}}},
		Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte("/e/x")}}},
			{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte("/e/y")}}}},
		Failure: []*pb.RequestOp{{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte("/e/x")}}}}})
	check(terr)
	_, cerr := e.Compact(ctx, &pb.CompactionRequest{Revision: e.KV().Rev()})
	check(cerr)
	member := *e.Cluster().Member(e.MemberID())
	member.PeerURLs = []string{fmt.Sprintf("http://localhost:%d", 10000+round)}
	_, uerr := e.UpdateMember(ctx, membership.Member{ID: member.ID, RaftAttributes: member.RaftAttributes})
	check(uerr)
	if err != nil {
		e.t.Fatal(err)
	}
	return granted.ID
}

// TestForeign: Open refuses data with features of etcd that the store lacks, and leaves the data as
// it was.
func TestForeign(t *testing.T) {
	t.Parallel()
	for what, prepare := range map[string]func(ctx context.Context, e *etcdServer) error{
		"users": func(ctx context.Context, e *etcdServer) error {
			for _, do := range []func() error{
				func() error {
					_, err := e.UserAdd(ctx, &pb.AuthUserAddRequest{Name: "root", Password: "x", Options: nil})
					return err
				},
				func() error { _, err := e.RoleAdd(ctx, &pb.AuthRoleAddRequest{Name: "root"}); return err },
				func() error {
					_, err := e.UserGrantRole(ctx, &pb.AuthUserGrantRoleRequest{User: "root", Role: "root"})
					return err
				},
				func() error { _, err := e.AuthEnable(ctx, &pb.AuthEnableRequest{}); return err },
			} {
				if err := do(); err != nil {
					return err
				}
			}
			return nil
		},
		"an alarm": func(ctx context.Context, e *etcdServer) error {
			_, err := e.Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, Alarm: pb.AlarmType_NOSPACE, MemberID: uint64(e.MemberID())})
			return err
		},
		"a member": func(ctx context.Context, e *etcdServer) error {
			_, err := e.AddMember(ctx, membership.Member{ID: 7, RaftAttributes: membership.RaftAttributes{PeerURLs: []string{"http://localhost:1"}, IsLearner: true}})
			return err
		},
	} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, killed=%t", what, killed), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				e := openEtcd(t, dir)
				e.put("/k", "v")
				e.Backend().ForceCommit()
				if err := prepare(t.Context(), e); err != nil {
					t.Fatal(err)
				}
				crashed := copyOf(t, dir)
				e.close()
				if killed {
					dir = crashed
				}
				for range 2 {
					s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true})
					if err == nil {
						s.Close()
						t.Fatal("it was opened")
					}
					t.Log(err)
				}
				openEtcd(t, dir).close()
			})
		}
	}
}
