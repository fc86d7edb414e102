package robust

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// HookConfig is the load of a run with hooks.
type HookConfig struct {
	Owners, Writers int
	Time            time.Duration
	Faults          []string
	Forgets         int64             // the webhooks pass every Forgets-th review unchanged; 0 for none
	Front           func(cl *cluster) // puts something between the clients and the servers; nil for nothing
}

// hookFaults are the faults of a run.
var hookFaults = []string{"kill", "kill", "kill again", "kill stopped", "stop", "terminate", "cut", "cut off", "reset",
	"slow", "reset slow", "compact", "compact", "kill etcd", "stop etcd"}

// Mean pauses: of an owner between two operations, of a writer, of one who lists, and between
// faults.
const (
	hookPause  = 120 * time.Millisecond
	writePause = 25 * time.Millisecond
	lookPause  = 40 * time.Millisecond
	hookBreak  = 600 * time.Millisecond
)

// hookRun is one run.
type hookRun struct {
	*field
	HookConfig
	webhooks *hookServer
	board    hookBoard

	mu  sync.Mutex
	rec *HookRecord
}

// RunHooks has clients of two servers write config maps while others make, change and delete hooks
// and faults are injected, with all files in dir, and returns what was seen. No controller runs.
func RunHooks(c HookConfig, programs Programs, dir string, seed uint64) (*HookRecord, error) {
	f, err := newField(Config{Storage: "etcd", Servers: 2, Linked: true,
		Args: []string{"--controllers=", "--disable-admission-plugins=ServiceAccount"}}, programs, dir, seed)
	if err != nil {
		return nil, err
	}
	defer f.cluster.kill()
	webhooks := newHookServer()
	defer webhooks.Close()
	webhooks.forgets = c.Forgets
	r := &hookRun{field: f, HookConfig: c, webhooks: webhooks, board: hookBoard{ended: map[string]time.Time{}},
		rec: &HookRecord{Faults: map[string]int{}}}
	if c.Front != nil {
		c.Front(f.cluster)
	}
	if err := r.run(); err != nil {
		return nil, fmt.Errorf("%w; %v", err, f.woes)
	}
	for i, p := range f.cluster.servers {
		for _, at := range p.starts {
			r.rec.Starts = append(r.rec.Starts, ServerTime{Server: i, At: at.Sub(f.begun)})
		}
	}
	f.cluster.end(f.trouble)
	r.rec.Trouble = f.woes
	return r.rec, nil
}

// run has all clients work while faults are injected.
func (r *hookRun) run() error {
	if err := r.caller(preparerID).makeNamespace(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	defer workers.Wait()
	defer stop()
	number := 0
	writer := func() *hookWriter {
		number++
		return &hookWriter{caller: r.caller(number), run: r}
	}
	for range r.Owners {
		o := &hookOwner{hookWriter: writer()}
		workers.Go(func() { o.work(ctx) })
	}
	for range r.Writers {
		w := writer()
		workers.Go(func() { w.work(ctx) })
	}
	for server := range r.cluster.servers {
		watcher := func() *hookWatcher {
			w := &hookWatcher{hookWriter: writer(), server: server}
			w.servers = []int{server}
			return w
		}
		w := watcher()
		workers.Go(func() { w.list(ctx) })
		for _, name := range kindsOfHooks {
			w := watcher()
			workers.Go(func() { w.watch(ctx, hookKinds[name]) })
		}
	}
	return r.harm()
}

// harm injects faults for the time of the run.
func (r *hookRun) harm() error {
	rng := rand.New(rand.NewPCG(r.seed, faultsID))
	for end := time.Now().Add(r.Time); time.Now().Before(end); {
		time.Sleep(time.Duration(rng.Int64N(int64(2 * hookBreak))))
		if len(r.Faults) == 0 {
			continue
		}
		name, at := r.Faults[rng.IntN(len(r.Faults))], rng.IntN(len(r.cluster.servers))
		r.rec.Faults[name]++
		if err := r.faultAt(at, name, rng); err != nil {
			return err
		}
	}
	return nil
}

// faultAt injects a fault into a server. It notes from when to when a server cannot reach its etcd.
// After "compact" the server has to load everything again over a slow link, because etcd has
// forgotten what happened meanwhile.
func (r *hookRun) faultAt(at int, name string, rng *rand.Rand) error {
	if name != "cut" && name != "cut off" && name != "compact" {
		return r.cluster.faultAt(at, name, rng)
	}
	l := r.cluster.links[at]
	l.cut()
	from := r.now()
	time.Sleep(time.Duration(rng.Int64N(int64(3 * time.Second))))
	var err error
	if name == "compact" {
		err = r.cluster.compact()
		l.slow(time.Duration(rng.Int64N(int64(200 * time.Millisecond))))
		defer l.slow(0)
	}
	r.rec.Cuts = append(r.rec.Cuts, ServerTime{at, from, r.now()})
	l.mend(name != "cut")
	if err == nil && name == "compact" {
		time.Sleep(2 * time.Second)
	}
	return cmp.Or(err, r.cluster.wait())
}

func (r *hookRun) keepOp(op *HookOp) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Ops = append(r.rec.Ops, op)
}

func (r *hookRun) keepWrite(w *HookWrite) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Writes = append(r.rec.Writes, w)
}

func (r *hookRun) keepSight(s *Sight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Sights = append(r.rec.Sights, s)
}
