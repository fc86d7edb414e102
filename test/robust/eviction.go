package robust

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// EvictionConfig is the load of a run with evictions.
type EvictionConfig struct {
	Rounds  int // budgets, one after the other
	Pods    int // pods of each round
	Allowed int // disruptions that a budget allows
	Workers int // clients, half of them at each of the two servers
}

// EvictOp is one eviction.
type EvictOp struct {
	Try
	Pod    string
	DryRun bool `json:",omitempty"`
	Other  bool `json:",omitempty"` // its precondition has another UID, so it must fail
}

func (op *EvictOp) String() string {
	return fmt.Sprintf("client %d, server %d, %v-%v: evict %s dryRun=%v other=%v -> %s %d %s", op.Client, op.Server,
		op.Call, op.Return, op.Pod, op.DryRun, op.Other, op.Result, op.Code, op.Error)
}

// Round is one budget, with the state of the budget and of its pods at the end.
type Round struct {
	Allowed   int
	Pods      []string
	Ops       []*EvictOp
	Gone      []string // pods that are deleted or being deleted
	Left      int      // disruptions that the budget still allows
	Disrupted []string // pods that the budget names as evicted
}

// EvictionRecord is the record of a run with evictions.
type EvictionRecord struct {
	Kills   int
	Outages []Outage
	Rounds  []*Round
	Trouble []string
}

// summary returns the counts of a run, for the log.
func (rec *EvictionRecord) summary() string {
	results, gone, leaked := map[Result]int{}, 0, 0
	for _, r := range rec.Rounds {
		for _, op := range r.Ops {
			results[op.Result]++
		}
		gone += len(r.Gone)
		leaked += r.Allowed - r.Left - len(r.Gone)
	}
	return fmt.Sprintf("%d kills, %d budgets, %d evicted, %d taken for nothing, %v", rec.Kills, len(rec.Rounds), gone, leaked, results)
}

// evictionRun is one run.
type evictionRun struct {
	*field
	EvictionConfig
	rec *EvictionRecord
}

// RunEvictions has clients of two servers evict more pods than the budget allows, while one of the
// servers is killed each second, with all files in dir, and returns the record. No controllers run,
// so only evictions change the budget.
func RunEvictions(c EvictionConfig, programs Programs, dir string, seed uint64) (*EvictionRecord, error) {
	f, err := newField(Config{Storage: "etcd", Servers: 2, Args: []string{"--controllers=", "--disable-admission-plugins=ServiceAccount"}}, programs, dir, seed)
	if err != nil {
		return nil, err
	}
	defer f.cluster.kill()
	r := &evictionRun{field: f, EvictionConfig: c, rec: &EvictionRecord{}}
	if err := r.run(); err != nil {
		return nil, fmt.Errorf("%w; %v", err, f.woes)
	}
	f.cluster.end(f.trouble)
	r.rec.Outages, r.rec.Trouble = f.outages, f.woes
	return r.rec, nil
}

func (r *evictionRun) run() error {
	if err := r.caller(preparerID).makeNamespace(); err != nil {
		return err
	}
	for i := range r.Rounds {
		if err := r.round(fmt.Sprintf("round-%d", i)); err != nil {
			return err
		}
	}
	return nil
}

const (
	podPath    = "/api/v1/namespaces/" + namespace + "/pods"
	budgetPath = "/apis/policy/v1/namespaces/" + namespace + "/poddisruptionbudgets"
)

// round makes one budget with its pods, and lets the workers evict.
func (r *evictionRun) round(name string) error {
	round := &Round{Allowed: r.Allowed}
	for i := range r.Pods {
		round.Pods = append(round.Pods, fmt.Sprintf("%s-%d", name, i))
	}
	r.rec.Rounds = append(r.rec.Rounds, round)
	c := r.caller(preparerID)
	if err := c.makePods(name, round.Pods); err != nil {
		return err
	}
	if err := c.makeBudget(name, r.Pods, r.Allowed); err != nil {
		return err
	}
	s := &scene{round: round, pods: slices.Clone(round.Pods)}
	if err := r.evict(s); err != nil {
		return err
	}
	evictor{c, s}.work(context.Background(), 1, 0)
	return c.readRound(name, round)
}

// makePods makes running and ready pods. Pods with a node have a grace period when they are
// deleted.
func (c *caller) makePods(app string, pods []string) error {
	for i, name := range pods {
		spec := tree{"containers": []tree{{"name": "c", "image": "i"}}}
		if i%2 == 0 {
			spec["nodeName"] = "somewhere"
		}
		if _, err := c.must(podPath, request{method: "POST", contentType: asJSON, body: tree{"apiVersion": "v1", "kind": "Pod",
			"metadata": tree{"name": name, "labels": tree{"app": app}}, "spec": spec}}); err != nil {
			return err
		}
		ready := tree{"phase": "Running", "conditions": []tree{{"type": "Ready", "status": "True"}}}
		if _, err := c.must(podPath, request{method: "PATCH", name: name + "/status", contentType: asMergePatch,
			body: tree{"status": ready}}); err != nil {
			return err
		}
	}
	return nil
}

// makeBudget makes a budget, with the status that a controller would give it.
func (c *caller) makeBudget(app string, pods, allowed int) error {
	spec := tree{"minAvailable": pods - allowed, "selector": tree{"matchLabels": tree{"app": app}}}
	status := tree{"observedGeneration": 1, "expectedPods": pods, "currentHealthy": pods, "desiredHealthy": pods - allowed,
		"disruptionsAllowed": allowed}
	if _, err := c.must(budgetPath, request{method: "POST", contentType: asJSON, body: tree{"apiVersion": "policy/v1",
		"kind": "PodDisruptionBudget", "metadata": tree{"name": app}, "spec": spec}}); err != nil {
		return err
	}
	_, err := c.must(budgetPath, request{method: "PATCH", name: app + "/status", contentType: asMergePatch, body: tree{"status": status}})
	return err
}

// evict lets the workers evict until the budget refuses, while servers are killed.
func (r *evictionRun) evict(s *scene) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var workers sync.WaitGroup
	for i := range r.Workers {
		c := r.caller(i)
		c.servers = []int{i % len(r.cluster.urls)}
		workers.Go(func() { evictor{c, s}.work(ctx, 3, 200*time.Millisecond) })
	}
	go func() {
		workers.Wait()
		stop()
	}()
	kills, err := r.killing(ctx)
	r.rec.Kills += kills
	stop()
	workers.Wait()
	return err
}

// scene is the state that the evictors of a round share.
type scene struct {
	mu    sync.Mutex
	round *Round
	pods  []string // that exist, as far as the evictors know
}

// pick returns a random pod, "" if there is none.
func (s *scene) pick(rng *rand.Rand) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pods) == 0 {
		return ""
	}
	return s.pods[rng.IntN(len(s.pods))]
}

// keep records an eviction.
func (s *scene) keep(op *EvictOp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round.Ops = append(s.round.Ops, op)
	if !op.DryRun && (op.Result == acked || op.Result == notFound) {
		s.pods = slices.DeleteFunc(s.pods, func(name string) bool { return name == op.Pod })
	}
}

// evictor evicts the pods of a round until the budget has refused several times. One goroutine uses
// it.
type evictor struct {
	*caller
	*scene
}

func (e evictor) work(ctx context.Context, refusals int, pause time.Duration) {
	for refusals > 0 && ctx.Err() == nil {
		pod := e.pick(e.rng)
		if pod == "" {
			return
		}
		if e.evict(pod).Result == refused {
			refusals--
		}
		time.Sleep(time.Duration(e.rng.ExpFloat64() * float64(pause)))
	}
}

// evict tries to evict a pod.
func (e evictor) evict(pod string) *EvictOp {
	op := &EvictOp{Pod: pod, DryRun: e.rng.IntN(10) == 0}
	options := tree{}
	if op.Other = !op.DryRun && e.rng.IntN(10) == 0; op.Other {
		options["preconditions"] = tree{"uid": "of-another"}
	}
	q := request{method: "POST", name: pod + "/eviction", contentType: asJSON, query: url.Values{}, body: tree{
		"apiVersion": "policy/v1", "kind": "Eviction", "metadata": tree{"name": pod}, "deleteOptions": options}}
	if op.DryRun {
		q.query.Set("dryRun", "All")
	}
	e.try(&op.Try, podPath, q)
	if op.Code == http.StatusTooManyRequests { // the budget refused, and nothing happened
		op.Result = refused
	}
	e.keep(op)
	return op
}

// readRound reads the pods and the budget, after the last eviction has had its effect.
func (c *caller) readRound(app string, round *Round) error {
	again := false
	return within(patience, "pods do not come to rest", func() (bool, error) {
		data, err := c.must(podPath, request{method: "GET", query: url.Values{"labelSelector": {"app=" + app}}})
		if err != nil {
			return false, err
		}
		var pods struct {
			Items []struct {
				Metadata struct{ Name, DeletionTimestamp string }
			}
		}
		if err := json.Unmarshal(data, &pods); err != nil {
			return false, err
		}
		gone := slices.Clone(round.Pods)
		for _, p := range pods.Items {
			if p.Metadata.DeletionTimestamp == "" {
				gone = slices.DeleteFunc(gone, func(name string) bool { return name == p.Metadata.Name })
			}
		}
		done := again && slices.Equal(gone, round.Gone)
		again, round.Gone = true, gone
		return done, c.readBudget(app, round)
	})
}

func (c *caller) readBudget(app string, round *Round) error {
	data, err := c.must(budgetPath+"/"+app, request{method: "GET"})
	if err != nil {
		return err
	}
	var budget struct {
		Status struct {
			DisruptionsAllowed int
			DisruptedPods      map[string]string
		}
	}
	if err := json.Unmarshal(data, &budget); err != nil {
		return err
	}
	round.Left, round.Disrupted = budget.Status.DisruptionsAllowed, nil
	for pod := range budget.Status.DisruptedPods {
		round.Disrupted = append(round.Disrupted, pod)
	}
	return nil
}
