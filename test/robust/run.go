package robust

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The load. Pauses are mean times: of a client between two operations, of the producer between two
// jobs, and between two faults.
const (
	clients    = 8
	pause      = 60 * time.Millisecond
	jobPause   = 15 * time.Millisecond
	faultPause = 2 * time.Second
)

// The numbers of the clients with a role of their own.
const (
	controllerID = 900 + iota
	producerID
	preparerID
	finisherID
	faultsID
	watcherID
)

// The objects: all clients contend for the hot ones, the quiet one is repeatedly written unchanged,
// and each job is made by the producer and deleted by the controller.
const (
	hotObjects = 3
	quiet      = "quiet"
	jobPrefix  = "job-"
)

// run is one run of a configuration.
type run struct {
	seed     uint64
	begun    time.Time
	cluster  *cluster
	subject  subject
	elders   int // the number of objects that an older server has stored
	watchers []*watcher
	hot      []string
	start    int64            // the revision before the first write
	newest   atomic.Int64     // newest revision that any client has seen
	recent   [64]atomic.Int64 // some revisions that were the newest

	mu  sync.Mutex
	rec *Record
}

// Run runs a configuration for d, with its files in dir, and returns the record.
func Run(c Config, programs Programs, dir string, seed uint64, d time.Duration) (*Record, error) {
	r := &run{seed: seed, begun: time.Now(), subject: c.subject(), elders: c.Elders, rec: &Record{Lasting: c.lasting(), Shared: c.Storage == "etcd"}}
	for i := range hotObjects {
		r.hot = append(r.hot, fmt.Sprintf("hot-%d", i))
	}
	r.rec.Stay = append([]string{quiet}, r.hot...)
	var err error
	if r.cluster, err = newCluster(c, programs, dir, r.trouble); err != nil {
		return nil, err
	}
	defer r.cluster.kill()
	if err := r.prepare(); err != nil {
		return nil, err
	}
	r.watchers = r.newWatchers()
	watching, stopWatching := context.WithCancel(context.Background())
	defer stopWatching()
	var watchers, workers sync.WaitGroup
	for _, w := range r.watchers {
		watchers.Go(func() { w.watch(watching) })
	}
	ctx, stop := context.WithTimeout(context.Background(), d)
	defer stop()
	r.work(ctx, &workers)
	if c.Defragments {
		workers.Go(func() { r.defragment(ctx) })
	}
	err = r.harm(ctx, c.Faults)
	stop()
	workers.Wait()
	if err == nil {
		r.finish()
	}
	stopWatching()
	watchers.Wait()
	r.cluster.end(r.trouble)
	return r.rec, err
}

// prepare makes the namespace and the quiet object, and records the revision at which the history
// begins.
func (r *run) prepare() error {
	c := newClient(r, preparerID)
	req, err := http.NewRequest("POST", r.cluster.urls[0]+"/api/v1/namespaces",
		strings.NewReader(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+namespace+`"}}`))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	if code, data, err := exchange(c.http, req); err != nil || code != http.StatusCreated {
		return fmt.Errorf("create the namespace: %d, %v: %s", code, err, data)
	}
	first := &Op{}
	c.list(first)
	if items, whole := first.listed(); !whole || len(items) > 0 {
		return fmt.Errorf("the namespace is not empty: %v", first)
	}
	r.start = first.Pages[0].RV
	r.rec.Start = r.start
	c.create(quiet)
	for n := range r.elders {
		if err := r.prepareElder(c, n); err != nil {
			return err
		}
	}
	return nil
}

// prepareElder puts an object into the etcd as an older server has stored it. In the record it is a
// create, answered with the object that the server then shows.
func (r *run) prepareElder(c *client, n int) error {
	op := &Op{Verb: create, Key: elderName(n), V: c.value(), Color: none, Client: c.id, Call: r.now()}
	value, err := json.Marshal(elder(n, op.V))
	if err != nil {
		return err
	}
	if err := r.cluster.putInEtcd("/registry/replicasets/"+namespace+"/"+op.Key, value); err != nil {
		return err
	}
	read := &Op{Verb: get, Key: op.Key}
	_, data := c.do(read, request{method: "GET", name: op.Key})
	if read.Result != acked || !bytes.Contains(data, []byte(`"restartPolicy":"Always"`)) {
		return fmt.Errorf("%s is not shown as it would be stored today: %v %.1000s", op.Key, read, data)
	}
	op.Object, op.Result, op.Code, op.Return = r.decode(data), acked, http.StatusCreated, r.now()
	r.saw(op.Object.RV)
	r.keep(op)
	return nil
}

// work starts the clients, which end with ctx.
func (r *run) work(ctx context.Context, wg *sync.WaitGroup) {
	repeat := func(c *client, mean time.Duration, step func()) {
		wg.Go(func() {
			for ctx.Err() == nil {
				step()
				time.Sleep(time.Duration(c.rng.ExpFloat64() * float64(mean)))
			}
		})
	}
	for i := range clients {
		c := newClient(r, i)
		repeat(c, pause, c.step)
	}
	producer, jobs := newClient(r, producerID), 0
	repeat(producer, jobPause, func() {
		jobs++
		producer.create(fmt.Sprintf("%s%d", jobPrefix, jobs))
	})
}

// defragment has the store defragmented repeatedly until ctx ends, also while faults are injected.
func (r *run) defragment(ctx context.Context) {
	h, done := newHTTP(false), 0
	for ; ctx.Err() == nil; time.Sleep(pause) {
		code, data, err := exchange(h, newRequest(ctx, r.cluster.urls[0]+"/debug/defragment", request{method: "POST"}))
		switch {
		case err == nil && code == http.StatusOK:
			done++
		case err == nil && code < http.StatusInternalServerError:
			r.trouble("a defragmentation is answered %d: %.300q", code, data)
		}
	}
	if done == 0 {
		r.trouble("nothing was defragmented")
	}
}

// harm injects one fault after the other until ctx ends. At its end all faults are repaired.
func (r *run) harm(ctx context.Context, faults []string) error {
	rng := rand.New(rand.NewPCG(r.seed, faultsID))
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(faultPause/2 + time.Duration(rng.Int64N(int64(faultPause)))):
		}
		if err := r.cluster.fault(faults[rng.IntN(len(faults))], rng); err != nil {
			return err
		}
	}
}

// finish makes two last changes that every watcher selects, reads everything once more, and waits
// for the watchers.
func (r *run) finish() {
	c := newClient(r, finisherID)
	end := time.Now().Add(patience)
	key, last := r.hot[0], (*Object)(nil)
	for last == nil || last.Color != "green" {
		switch last = c.get(key, ""); {
		case time.Now().After(end):
			r.trouble("no writes after the last fault")
			return
		case last == nil:
			c.create(key)
		case last.Color != "red":
			c.update(key, true, "red")
		default:
			last = c.update(key, true, "green")
		}
	}
	for read := (&Op{}); read.Result != acked; {
		if time.Now().After(end) {
			r.trouble("no list after the last fault: %v", read)
			return
		}
		read = &Op{}
		c.list(read)
	}
	for _, w := range r.watchers {
		for w.follows() && w.reached.Load() < last.RV {
			if time.Now().After(end) {
				r.trouble("watcher %d has come to revision %d only, not %d, long after the last fault", w.id, w.reached.Load(), last.RV)
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func (r *run) now() time.Duration { return time.Since(r.begun).Truncate(time.Microsecond) }

// saw records a revision that a server has shown.
func (r *run) saw(rv int64) {
	for old := r.newest.Load(); rv > old; old = r.newest.Load() {
		if r.newest.CompareAndSwap(old, rv) {
			r.recent[rv%int64(len(r.recent))].Store(rv)
			return
		}
	}
}

// somewhen returns a revision that was the newest recently or, sometimes, long ago.
func (r *run) somewhen(rng *rand.Rand) int64 {
	if rng.IntN(4) == 0 {
		return r.start + rng.Int64N(max(r.newest.Load()-r.start, 1))
	}
	return max(r.recent[rng.IntN(len(r.recent))].Load(), r.start)
}

func (r *run) keep(op *Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	op.ID = len(r.rec.Ops)
	r.rec.Ops = append(r.rec.Ops, op)
}

func (r *run) keepSession(s *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Sessions = append(r.rec.Sessions, s)
}

func (r *run) trouble(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Trouble = append(r.rec.Trouble, fmt.Sprintf(format, args...))
}

// decode reads an object that a server has sent. It returns nil if no client of the run made it, or
// if it does not decode.
func (r *run) decode(data json.RawMessage) *Object {
	o, err := r.subject.decode(data)
	if err != nil {
		r.trouble("not a %s: %v: %.300q", r.subject.kind, err, data)
	}
	return o
}
