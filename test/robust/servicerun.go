package robust

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ServiceConfig is the load of a run with services.
type ServiceConfig struct {
	Services, NodePorts int     // the least numbers to create, by answered requests
	Clients, Names      int     // Names for each client; more than half of them have a service at a time
	PortShare           float64 // of services that have ports
	Ranges              []netip.Prefix
	PortMin, PortMax    int
	Repair              bool // wait for the repair
}

// serviceRun is one run.
type serviceRun struct {
	*field
	ServiceConfig
	reached atomic.Int64  // revision that the watch has reached
	enough  chan struct{} // closed when enough is created

	mu                      sync.Mutex
	rec                     *ServiceRecord
	madeServices, madePorts int
}

// RunServices has clients of two servers make, change and delete services while one of the servers
// is killed each second, with all files in dir, and returns the record.
func RunServices(c ServiceConfig, programs Programs, dir string, seed uint64) (*ServiceRecord, error) {
	var ranges []string
	for _, r := range c.Ranges {
		ranges = append(ranges, r.String())
	}
	f, err := newField(Config{Storage: "etcd", Servers: 2, Args: []string{
		"--service-cluster-ip-range", strings.Join(ranges, ","),
		"--service-node-port-range", fmt.Sprintf("%d-%d", c.PortMin, c.PortMax),
	}}, programs, dir, seed)
	if err != nil {
		return nil, err
	}
	defer f.cluster.kill()
	r := &serviceRun{field: f, ServiceConfig: c, enough: make(chan struct{}),
		rec: &ServiceRecord{Ranges: c.Ranges, PortMin: c.PortMin, PortMax: c.PortMax}}
	if err := r.run(); err != nil {
		return nil, fmt.Errorf("%w; %v", err, f.woes)
	}
	f.cluster.end(f.trouble)
	r.rec.Outages, r.rec.Trouble = f.outages, f.woes
	return r.rec, nil
}

func (r *serviceRun) run() error {
	c := r.caller(preparerID)
	if err := c.prepareServices(); err != nil {
		return err
	}
	before, rv, err := c.services()
	if err != nil {
		return err
	}
	r.rec.Before = before
	ctx, stop := context.WithCancel(context.Background())
	var watcher sync.WaitGroup
	defer watcher.Wait()
	defer stop()
	watcher.Go(func() { r.watch(ctx, rv) })
	if err := r.work(); err != nil {
		return err
	}
	if r.rec.Settled, err = r.settled(c); err != nil {
		return err
	}
	if r.Repair {
		if r.rec.End, err = r.repaired(c); err != nil {
			return err
		}
	}
	r.rec.Notices, err = c.notices()
	return err
}

// prepareServices makes the namespace and the marker.
func (c *caller) prepareServices() error {
	if err := c.makeNamespace(); err != nil {
		return err
	}
	_, err := c.must(markerPath, request{method: "POST", contentType: asJSON,
		body: tree{"apiVersion": "v1", "kind": "Service", "metadata": tree{"name": marker}, "spec": ofType("ExternalName")}})
	return err
}

// work has the clients work until enough is created, and kills servers meanwhile.
func (r *serviceRun) work() error {
	ctx, stop := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	defer workers.Wait()
	defer stop()
	for i := range r.Clients {
		c := &serviceClient{caller: r.caller(i), run: r}
		for j := range r.Names {
			c.slots = append(c.slots, slot{name: fmt.Sprintf("s%d-%d", i, j)})
		}
		workers.Go(func() { c.work(ctx) })
	}
	killing, stopKilling := context.WithCancel(context.Background())
	workers.Go(func() {
		defer stopKilling()
		select {
		case <-r.enough:
		case <-ctx.Done():
		}
	})
	kills, err := r.killing(killing)
	r.rec.Kills = kills
	return err
}

// keep records an operation, and closes enough when enough is created.
func (r *serviceRun) keep(op *ServiceOp) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Ops = append(r.rec.Ops, op)
	if op.Verb != create || op.Result != acked || op.DryRun {
		return
	}
	before := r.madeAll()
	r.madeServices++
	r.madePorts += len(op.Got.Ports)
	if !before && r.madeAll() {
		close(r.enough)
	}
}

func (r *serviceRun) madeAll() bool {
	return r.madeServices >= r.Services && r.madePorts >= r.NodePorts
}

// watch follows all services from a revision on until ctx ends.
func (r *serviceRun) watch(ctx context.Context, rv int64) {
	c := r.caller(watcherID)
	r.reached.Store(rv)
	for ctx.Err() == nil {
		if err := r.follow(ctx, c); err != nil {
			r.trouble("watch: %v", err)
			return
		}
		time.Sleep(time.Duration(10+c.rng.IntN(30)) * time.Millisecond)
	}
}

// follow makes one watch request and reads it to its end. It returns only errors after which the
// watch cannot resume.
func (r *serviceRun) follow(ctx context.Context, c *caller) error {
	last := r.reached.Load()
	resp, err := c.http.Do(newRequest(ctx, r.cluster.urls[c.rng.IntN(len(r.cluster.urls))]+"/api/v1/services",
		request{method: "GET", query: url.Values{"watch": {"1"}, "resourceVersion": {strconv.FormatInt(last, 10)}}}))
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil
	}
	for dec := json.NewDecoder(resp.Body); ; {
		var frame struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if dec.Decode(&frame) != nil {
			return nil
		}
		if frame.Type != added && frame.Type != modified && frame.Type != deleted {
			return fmt.Errorf("%s %.300s", frame.Type, frame.Object)
		}
		s, err := decodeService(frame.Object)
		switch {
		case err != nil:
			return err
		case s.RV <= last:
			return fmt.Errorf("an event of the past, at %d: %v", last, s)
		}
		last = s.RV
		r.rec.Events = append(r.rec.Events, ServiceEvent{frame.Type, s})
		r.reached.Store(last)
	}
}
