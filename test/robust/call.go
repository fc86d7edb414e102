package robust

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Try is one request and its outcome, as far as its client knows. Times are since the start of the
// run.
type Try struct {
	Client, Server int
	Call, Return   time.Duration
	Result         Result
	Code           int    `json:",omitempty"`
	Reason         string `json:",omitempty"`
	Error          string `json:",omitempty"`
}

// odd reports whether no request here may get such an answer, whichever process is killed.
func (t *Try) odd() bool {
	return t.Result == refused || t.Code == http.StatusInternalServerError && t.Reason != "ServerTimeout"
}

// Outage is a period in which servers may have been without their store. Work after a write, such
// as releasing an address that no service has, then fails, and the client is not told.
type Outage struct{ From, To time.Duration }

// doubtful reports whether a write may have left something allocated: it has no answer, or the
// store was away meanwhile.
func (t *Try) doubtful(outages []Outage) bool {
	during := func(o Outage) bool { return t.Return > o.From && t.Call < o.To }
	return t.Result == inDoubt || slices.ContainsFunc(outages, during)
}

// Content types.
const (
	asJSON       = "application/json"
	asMergePatch = "application/merge-patch+json"
)

// field is the servers of a run, which clients call while some of the servers are killed.
type field struct {
	seed    uint64
	begun   time.Time
	cluster *cluster

	outages []Outage // of the etcd

	mu   sync.Mutex
	woes []string // unexpected errors of processes and their logs
}

// newField starts the servers of a configuration.
func newField(c Config, programs Programs, dir string, seed uint64) (*field, error) {
	f := &field{seed: seed, begun: time.Now()}
	var err error
	f.cluster, err = newCluster(c, programs, dir, f.trouble)
	return f, err
}

func (f *field) now() time.Duration { return time.Since(f.begun).Truncate(time.Microsecond) }

func (f *field) trouble(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.woes = append(f.woes, fmt.Sprintf(format, args...))
}

// reconnect bounds the time after which a server uses its store again.
const reconnect = 5 * time.Second

// killing kills a server each second, or at times the etcd, until ctx ends. At the end it waits
// until all are ready. It returns the number of kills.
func (f *field) killing(ctx context.Context) (int, error) {
	rng := rand.New(rand.NewPCG(f.seed, faultsID))
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for kills := 0; ; kills++ {
		select {
		case <-ctx.Done():
			return kills, f.cluster.wait()
		case <-tick.C:
		}
		p, patient := f.cluster.servers[rng.IntN(len(f.cluster.servers))], rng.IntN(4) > 0
		if rng.IntN(12) == 0 {
			p, patient = f.cluster.etcd, true // a server that starts without its etcd gives up
			if err := f.cluster.wait(); err != nil {
				return kills, err
			}
		}
		begun := f.now()
		p.kill()
		time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
		err := p.start()
		if err == nil && patient { // otherwise the next kill may come while it starts
			err = p.wait()
		}
		if err != nil {
			return kills, err
		}
		if p == f.cluster.etcd {
			f.outages = append(f.outages, Outage{begun, f.now() + reconnect})
		}
	}
}

// caller is one client of a field, with its own connections. It belongs to one goroutine.
type caller struct {
	*field
	id      int
	servers []int // the servers that it calls
	http    *http.Client
	rng     *rand.Rand
}

func (f *field) caller(id int) *caller {
	c := &caller{field: f, id: id, http: newHTTP(id%2 == 0), rng: rand.New(rand.NewPCG(f.seed, uint64(id)))}
	for i := range f.cluster.servers {
		c.servers = append(c.servers, i)
	}
	return c
}

// try sends a request to one of the servers and returns the answer, empty if there is none.
func (c *caller) try(t *Try, path string, q request) []byte {
	t.Client, t.Server = c.id, c.servers[c.rng.IntN(len(c.servers))]
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	t.Call = c.now()
	code, data, err := exchange(c.http, newRequest(ctx, c.cluster.urls[t.Server]+path, q))
	t.Return = c.now()
	a := &answer{}
	if err == nil {
		if err := json.Unmarshal(data, a); err != nil {
			c.trouble("an answer to %s %s is not JSON: %v: %.300q", q.method, path, err, data)
		}
	}
	t.Code, t.Result, t.Reason, t.Error = code, classify(code, a.Reason, err), a.Reason, a.Message
	if err != nil {
		t.Error = err.Error()
	}
	if t.Result == unsent || t.Result == inDoubt {
		time.Sleep(time.Duration(10+c.rng.IntN(30)) * time.Millisecond)
	}
	return data
}

// makeNamespace makes the namespace of the run.
func (c *caller) makeNamespace() error {
	_, err := c.must("/api/v1/namespaces", request{method: "POST", contentType: asJSON,
		body: tree{"apiVersion": "v1", "kind": "Namespace", "metadata": tree{"name": namespace}}})
	return err
}

// must repeats a request until it is answered. An answer other than success is an error.
func (c *caller) must(path string, q request) ([]byte, error) {
	for end := time.Now().Add(patience); ; {
		t := Try{}
		data := c.try(&t, path, q)
		if t.Result == acked {
			return data, nil
		}
		if t.Result != unsent && t.Result != inDoubt || time.Now().After(end) {
			return nil, fmt.Errorf("%s %s/%s: %d %s", q.method, path, q.name, t.Code, t.Error)
		}
	}
}

// putInEtcd writes to etcd directly, past the servers.
func (cl *cluster) putInEtcd(key string, value []byte) error {
	return cl.askEtcd("put", struct {
		Key   []byte `json:"key"`
		Value []byte `json:"value"`
	}{[]byte(key), value}, &struct{}{})
}

// compact has the etcd forget all history up to now.
func (cl *cluster) compact() error {
	var now struct {
		Header struct{ Revision string }
	}
	if err := cl.askEtcd("range", etcdRange{Key: []byte("none")}, &now); err != nil {
		return err
	}
	return cl.askEtcd("compaction", tree{"revision": now.Header.Revision}, &struct{}{})
}

// askEtcd calls a method of the etcd directly.
func (cl *cluster) askEtcd(method string, what, answer any) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	resp, err := http.Post(cl.etcdURL+"/v3/kv/"+method, asJSON, bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s in etcd: %s", method, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}

// etcdRange asks an etcd for a key, or for the keys from Key up to, but without, End.
type etcdRange struct {
	Key      []byte `json:"key"`
	End      []byte `json:"range_end,omitempty"`
	KeysOnly bool   `json:"keys_only,omitempty"`
}

// inEtcd reads from etcd directly.
func (c *caller) inEtcd(what etcdRange) ([]struct{ Key, Value []byte }, error) {
	var found struct{ KVs []struct{ Key, Value []byte } }
	err := c.cluster.askEtcd("range", what, &found)
	return found.KVs, err
}
