package robust

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// QuotaConfig is the load of a run with quotas.
type QuotaConfig struct {
	Cluster Config
	Clients int
	Rounds  int
	Time    time.Duration // for the faults of a round
	Lasts   []string      // the last fault of each round in turn, at the server whose controllers run
}

// quotaPause is the mean time between two operations of a client; faultBreak is the mean time
// between two faults.
const (
	quotaPause = 40 * time.Millisecond
	faultBreak = 600 * time.Millisecond
)

// QuotaConfigs are two servers that share an etcd, each behind a link of its own, and a server with
// the embedded store.
func QuotaConfigs() []QuotaConfig {
	args := []string{"--controllers=resourcequota-controller", "--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection"}
	return []QuotaConfig{
		{
			Cluster: Config{Name: "pair", Storage: "etcd", Servers: 2, Args: args, Linked: true, Faults: []string{
				"kill", "kill again", "kill stopped", "stop", "cut", "cut off", "reset", "reset", "kill etcd", "stop etcd"}},
			Lasts: []string{"kill", "cut off", "kill etcd", "stop", "terminate"},
		},
		{
			Cluster: Config{Name: "embedded", Storage: "embedded", Servers: 1, Args: args,
				Faults: []string{"stop", "terminate", "kill", "kill stopped"}},
			Lasts: []string{"kill"},
		},
	}
}

// quotaRun is one run.
type quotaRun struct {
	*field
	QuotaConfig
	start int64 // revision before the quotas

	mu  sync.Mutex
	rec *QuotaRecord
}

// RunQuotas has clients write objects under quotas while faults are injected, with all files in
// dir, and returns the record. Only the quota controller runs, so that no other controller writes.
func RunQuotas(c QuotaConfig, programs Programs, dir string, seed uint64) (*QuotaRecord, error) {
	f, err := newField(c.Cluster, programs, dir, seed)
	if err != nil {
		return nil, err
	}
	defer f.cluster.kill()
	r := &quotaRun{field: f, QuotaConfig: c, rec: &QuotaRecord{Limits: limits(), Faults: map[string]int{}}}
	if err := r.run(); err != nil {
		return nil, fmt.Errorf("%w; %v", err, f.woes)
	}
	f.cluster.end(f.trouble)
	r.rec.Trouble = f.woes
	return r.rec, nil
}

func (r *quotaRun) run() error {
	c := r.caller(preparerID)
	if err := r.prepare(c); err != nil {
		return err
	}
	var crew []*quotaClient
	for i := range r.Clients {
		q := &quotaClient{caller: r.caller(i), run: r}
		for kind := range countedKinds {
			for n := range 2 {
				q.things = append(q.things, thing{kind: kind, name: fmt.Sprintf("t%d-%d", i, n)})
			}
		}
		slices.SortFunc(q.things, func(a, b thing) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name)) })
		crew = append(crew, q)
	}
	rng := rand.New(rand.NewPCG(r.seed, faultsID))
	for i := range r.Rounds {
		round := &QuotaRound{Last: r.Lasts[i%len(r.Lasts)]}
		r.rec.Rounds = append(r.rec.Rounds, round)
		if err := r.load(crew, round.Last, rng); err != nil {
			return err
		}
		if err := r.settle(&quotaClient{caller: r.caller(finisherID), run: r, made: 1000 * i}, round, i); err != nil {
			return err
		}
	}
	return r.readHistory(c)
}

// prepare makes the namespace, the storage classes and the quotas, and waits until the quotas have
// the right usage.
func (r *quotaRun) prepare(c *caller) error {
	if err := c.makeNamespace(); err != nil {
		return err
	}
	var err error
	if _, r.start, err = c.list(corePath + "resourcequotas"); err != nil {
		return err
	}
	for _, class := range []string{"gold", "silver"} {
		if _, err := c.must("/apis/storage.k8s.io/v1/storageclasses", request{method: "POST", contentType: asJSON, body: tree{
			"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": tree{"name": class},
			"provisioner": "example.com/none", "allowVolumeExpansion": true}}); err != nil {
			return err
		}
	}
	for _, l := range r.rec.Limits {
		hard := tree{}
		for name, n := range l.Hard {
			hard[name] = fmt.Sprintf("%dm", n)
		}
		spec := tree{"hard": hard}
		if l.Terminates {
			spec["scopes"] = []string{"Terminating"}
		}
		if _, err := c.must(corePath+"resourcequotas", request{method: "POST", contentType: asJSON, body: tree{
			"apiVersion": "v1", "kind": "ResourceQuota", "metadata": tree{"name": l.Name}, "spec": spec}}); err != nil {
			return err
		}
	}
	err = within(patience, "the quotas do not know what is used", func() (bool, error) {
		_, _, ok, err := r.right(c)
		return ok, err
	})
	if err == nil && r.Cluster.Servers > 1 && r.cluster.leader() < 0 {
		return errors.New("quotas were counted, and no log says which server leads")
	}
	return err
}

// load has the clients work while it injects faults. At the end it injects the last fault.
func (r *quotaRun) load(crew []*quotaClient, last string, rng *rand.Rand) error {
	ctx, stop := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	defer workers.Wait()
	defer stop()
	for _, c := range crew {
		workers.Go(func() { c.work(ctx) })
	}
	for end := time.Now().Add(r.Time); time.Now().Before(end); {
		time.Sleep(time.Duration(rng.Int64N(int64(2 * faultBreak))))
		name := r.Cluster.Faults[rng.IntN(len(r.Cluster.Faults))]
		leader, at := r.cluster.leader(), rng.IntN(r.Cluster.Servers)
		if strings.HasPrefix(name, "kill") && leader >= 0 && r.Cluster.Servers > 1 { // not the leader, so that recounts go on
			at = 1 - leader
		}
		if err := r.fault(at, name, rng); err != nil {
			return err
		}
	}
	return r.fault(max(r.cluster.leader(), 0), last, rng)
}

func (r *quotaRun) fault(at int, name string, rng *rand.Rand) error {
	r.rec.Faults[name]++
	return r.cluster.faultAt(at, name, rng)
}

// leader returns the server whose controllers run, by its log, -1 if there is none.
func (cl *cluster) leader() int {
	return slices.IndexFunc(cl.servers, func(p *process) bool {
		data, err := os.ReadFile(p.log)
		if err != nil {
			return false
		}
		data = data[min(int64(len(data)), p.from):]
		return bytes.LastIndex(data, []byte("leading\t")) > bytes.LastIndex(data, []byte("no longer leading\t"))+len("no longer ")
	})
}

// duePrefix begins the names of service accounts. No quota counts them, but their deletion makes a
// recount of the namespace due.
const duePrefix = "due-"

// settle runs after the load. It makes a recount of the namespace due, waits until all usage is
// right, and then fills the quotas.
func (r *quotaRun) settle(c *quotaClient, round *QuotaRound, number int) error {
	objects, _, err := c.counted()
	if err != nil {
		return err
	}
	gone := map[string]bool{}
	for _, o := range objects { // one of each kind, so that there is room
		if !gone[o.Kind] {
			gone[o.Kind] = true
			c.remove(&thing{kind: o.Kind, name: o.Name, known: o})
		}
	}
	due, begun := fmt.Sprintf("%s%d", duePrefix, number), time.Now()
	if _, err := c.must(corePath+"serviceaccounts", request{method: "POST", contentType: asJSON,
		body: tree{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": tree{"name": due}}}); err != nil {
		return err
	}
	if _, err := c.must(corePath+"serviceaccounts", request{method: "DELETE", name: due}); err != nil {
		return err
	}
	err = within(patience, "usage is not right", func() (ok bool, err error) {
		round.Right, _, ok, err = r.right(c.caller)
		return ok, err
	})
	if err != nil {
		r.trouble("round %d, after %s: %v", number, round.Last, err)
		round.Right = 0
		return nil
	}
	round.Took = time.Since(begun)
	if err := c.fill(round); err != nil {
		return err
	}
	return c.release(round)
}

// counted reads all objects that quotas count, and the newest revision.
func (c *caller) counted() (all []*Counted, rv int64, err error) {
	for kind := range countedKinds {
		items, at, err := c.list(corePath + kind)
		if err != nil {
			return nil, 0, err
		}
		rv = max(rv, at)
		for _, item := range items {
			o, err := decodeCounted(kind, item)
			if err != nil {
				return nil, 0, err
			}
			all = append(all, o)
		}
	}
	return all, rv, nil
}

// right reads the stored objects and the quotas, and reports whether the usage in the quotas is
// right.
func (r *quotaRun) right(c *caller) (rv int64, s sums, ok bool, err error) {
	objects, _, err := c.counted()
	if err != nil {
		return 0, nil, false, err
	}
	items, rv, err := c.list(corePath + "resourcequotas")
	if err != nil {
		return 0, nil, false, err
	}
	s, ok = newSums(r.rec.Limits), len(items) == len(r.rec.Limits)
	for _, o := range objects {
		s.add(r.rec.Limits, o, 1)
	}
	for _, item := range items {
		a, err := decodeAccount(item)
		if err != nil {
			return 0, nil, false, err
		}
		for name, n := range s[a.Name] {
			used, known := a.Used[name]
			ok = ok && known && used == n
		}
	}
	return rv, s, ok, nil
}

// keep records an operation.
func (r *quotaRun) keep(op *QuotaOp) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Ops = append(r.rec.Ops, op)
}

// readHistory reads all events since the start and, from etcd, the number of stored objects.
func (r *quotaRun) readHistory(c *caller) error {
	for kind := range countedKinds {
		err := r.events(c, "/api/v1/namespaces/", kind, "v1", func(event string, data []byte) error {
			o, err := decodeCounted(kind, data)
			r.rec.Events = append(r.rec.Events, CountedEvent{event, o})
			return err
		})
		if err != nil {
			return err
		}
	}
	slices.SortFunc(r.rec.Events, func(a, b CountedEvent) int { return cmp.Compare(a.RV, b.RV) })
	err := r.events(c, "/api/v1/namespaces/", "resourcequotas", "v1", func(_ string, data []byte) error {
		a, err := decodeAccount(data)
		r.rec.Accounts = append(r.rec.Accounts, a)
		return err
	})
	if err == nil {
		err = r.events(c, "/apis/coordination.k8s.io/v1/namespaces/", "leases", "coordination.k8s.io/v1", func(_ string, data []byte) error {
			var o struct{ Metadata meta }
			err := json.Unmarshal(data, &o)
			if o.Metadata.Name == "resourcequota-recount" {
				r.rec.Raises = append(r.rec.Raises, o.Metadata.revision())
			}
			return err
		})
	}
	if err == nil {
		err = r.events(c, "/api/v1/namespaces/", "serviceaccounts", "v1", r.due)
	}
	if err != nil || r.cluster.etcd == nil {
		return err
	}
	r.rec.Stored = map[string]int{}
	for kind := range countedKinds {
		place := map[string]string{"services": "services/specs"}[kind]
		prefix := "/registry/" + cmp.Or(place, kind) + "/" + namespace + "/"
		keys, err := c.inEtcd(etcdRange{Key: []byte(prefix), End: []byte(strings.TrimSuffix(prefix, "/") + "0"), KeysOnly: true})
		if err != nil {
			return err
		}
		r.rec.Stored[kind] = len(keys)
	}
	return nil
}

// due records the revision of the deletion that made the recount of a round due.
func (r *quotaRun) due(event string, data []byte) error {
	var o struct{ Metadata meta }
	err := json.Unmarshal(data, &o)
	var number int
	if n, _ := fmt.Sscanf(o.Metadata.Name, duePrefix+"%d", &number); n == 1 && event == deleted {
		r.rec.Rounds[number].Due = o.Metadata.revision()
	}
	return err
}

// kindNames has the kinds of the resources whose history is read.
var kindNames = map[string]string{"configmaps": "ConfigMap", "secrets": "Secret", "pods": "Pod", "services": "Service",
	"persistentvolumeclaims": "PersistentVolumeClaim", "resourcequotas": "ResourceQuota", "leases": "Lease",
	"serviceaccounts": "ServiceAccount"}

// events calls f with all events of a resource since the start, of the namespace of the run or of
// kube-system. To find the end of the history, it creates an object in another namespace, whose
// event is the last.
func (r *quotaRun) events(c *caller, root, resource, version string, f func(event string, data []byte) error) error {
	end := tree{"apiVersion": version, "kind": kindNames[resource], "metadata": tree{"name": marker}, "spec": tree{}}
	switch resource {
	case "pods":
		end["spec"] = podShape(1, mi, false)["spec"]
	case "services":
		end["spec"] = ofType("ExternalName")
	case "persistentvolumeclaims":
		end["spec"] = claimShape(mi, false)["spec"]
	case "configmaps", "secrets", "serviceaccounts":
		delete(end, "spec")
	}
	if _, err := c.must(root+"default/"+resource, request{method: "POST", contentType: asJSON, body: end}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	resp, err := c.http.Do(newRequest(ctx, r.cluster.urls[0]+strings.TrimSuffix(root, "namespaces/")+resource,
		request{method: "GET", query: url.Values{"watch": {"1"}, "resourceVersion": {strconv.FormatInt(r.start, 10)}}}))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("watch of %s from revision %d: %s", resource, r.start, resp.Status)
	}
	for dec := json.NewDecoder(resp.Body); ; {
		var frame struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		var head struct{ Metadata meta }
		err := dec.Decode(&frame)
		if err == nil {
			err = json.Unmarshal(frame.Object, &head)
		}
		m := &head.Metadata
		switch {
		case err != nil || frame.Type == failed:
			return fmt.Errorf("watch of %s from revision %d: %w %.300s", resource, r.start, err, frame.Object)
		case m.Namespace == "default" && m.Name == marker:
			return nil
		case m.Namespace == namespace || m.Namespace == "kube-system" && resource == "leases":
			if err := f(frame.Type, frame.Object); err != nil {
				return err
			}
		}
	}
}
