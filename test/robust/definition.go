package robust

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// DefinitionConfig is the load of a run with definitions of custom resources.
type DefinitionConfig struct {
	Lives          int // the least number of answered deletions of definitions
	Clients, Names int // Names for each client
}

// DefinitionOp is one request about a definition or about an instance of it.
type DefinitionOp struct {
	Try
	Verb     Verb
	Plural   string
	Instance string `json:",omitempty"` // "": the definition itself
	Of       string `json:",omitempty"` // the UID of the definition, as far as the client knows
	UID      string `json:",omitempty"` // of the object in the answer
}

func (op *DefinitionOp) String() string {
	return fmt.Sprintf("client %d, server %d, %v-%v: %s %s %s of %.8s -> %s %d %s %.8s", op.Client, op.Server, op.Call, op.Return,
		op.Verb, op.Plural, op.Instance, op.Of, op.Result, op.Code, op.Error, op.UID)
}

// Definition is a definition as a server shows it, with the instances that the server serves.
type Definition struct {
	UID         string
	Established bool
	Deleting    bool              `json:",omitempty"`
	Instances   map[string]string // their UIDs, by name
}

// DefinitionView is the state that one of the servers shows at the end.
type DefinitionView struct {
	Definitions map[string]*Definition // by plural
	Discovered  []string               // plurals, in order
}

// DefinitionRecord is the record of a run with definitions.
type DefinitionRecord struct {
	Kills   int
	Ops     []*DefinitionOp
	End     []*DefinitionView // of each server
	Stored  []string          // the keys of all instances
	Trouble []string
}

// summary returns the counts of a run, for the log.
func (rec *DefinitionRecord) summary() string {
	lives, instances, results := 0, 0, map[Result]int{}
	for _, op := range rec.Ops {
		switch results[op.Result]++; {
		case op.Result != acked:
		case op.Verb == remove && op.Instance == "":
			lives++
		case op.Verb == create && op.Instance != "":
			instances++
		}
	}
	return fmt.Sprintf("%d kills, %d definitions deleted, %d left, %d instances made, %d left, %v", rec.Kills, lives,
		len(rec.End[0].Definitions), instances, len(rec.Stored), results)
}

const (
	definitionGroup = "robust.example.com"
	definitionPath  = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	instancePath    = "/apis/" + definitionGroup + "/v1"
)

// definitionRun is one run.
type definitionRun struct {
	*field
	DefinitionConfig
	enough func() // ends the load

	mu    sync.Mutex
	rec   *DefinitionRecord
	lives int
}

// RunDefinitions has clients of two servers make, use, change and delete definitions while one of
// the servers is killed each second, with all files in dir, and returns the record.
func RunDefinitions(c DefinitionConfig, programs Programs, dir string, seed uint64) (*DefinitionRecord, error) {
	f, err := newField(Config{Storage: "etcd", Servers: 2}, programs, dir, seed)
	if err != nil {
		return nil, err
	}
	defer f.cluster.kill()
	r := &definitionRun{field: f, DefinitionConfig: c, rec: &DefinitionRecord{}}
	if err := r.run(); err != nil {
		return nil, fmt.Errorf("%w; %v", err, f.woes)
	}
	f.cluster.end(f.trouble)
	r.rec.Trouble = f.woes
	return r.rec, nil
}

func (r *definitionRun) run() error {
	ctx, stop := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	defer workers.Wait()
	defer stop()
	r.enough = stop
	for i := range r.Clients {
		c := &definitionClient{caller: r.caller(i), run: r}
		for j := range r.Names {
			c.slots = append(c.slots, &definitionSlot{plural: fmt.Sprintf("things%dx%d", i, j)})
		}
		workers.Go(func() { c.work(ctx) })
	}
	kills, err := r.killing(ctx)
	if err != nil {
		return err
	}
	r.rec.Kills = kills
	workers.Wait()
	return r.settled()
}

// keep records an operation.
func (r *definitionRun) keep(op *DefinitionOp) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Ops = append(r.rec.Ops, op)
	if op.Verb == remove && op.Instance == "" && op.Result == acked {
		if r.lives++; r.lives == r.Lives {
			r.enough()
		}
	}
}

// settled reads the state at the end, when the servers have no more work: nothing is being deleted,
// every definition is established, and two reads in a row are equal. If that takes too long, the
// check reports what is wrong.
func (r *definitionRun) settled() error {
	var before []byte
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		if err := r.look(); err != nil {
			return err
		}
		now, err := json.Marshal(r.rec.End)
		if err != nil {
			return err
		}
		if slices.Equal(now, before) && len(r.rec.unsettled()) == 0 || time.Now().After(end) {
			return nil
		}
		before = now
	}
}

// look reads the views of all servers, and the stored keys.
func (r *definitionRun) look() error {
	c := r.caller(preparerID)
	all := "/registry/" + definitionGroup
	keys, err := c.inEtcd(etcdRange{Key: []byte(all + "/"), End: []byte(all + "0"), KeysOnly: true}) // '0' follows '/'
	if err != nil {
		return err
	}
	r.rec.End, r.rec.Stored = nil, nil
	for _, key := range keys {
		r.rec.Stored = append(r.rec.Stored, string(key.Key))
	}
	for server := range r.cluster.urls {
		c.servers = []int{server}
		v, err := c.view()
		if err != nil {
			return err
		}
		r.rec.End = append(r.rec.End, v)
	}
	return nil
}

// view reads the view of one server.
func (c *caller) view() (*DefinitionView, error) {
	v := &DefinitionView{Definitions: map[string]*Definition{}}
	items, _, err := c.list(definitionPath)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		def, plural, err := decodeDefinition(item)
		if err != nil {
			return nil, err
		}
		v.Definitions[plural] = def
		t := Try{}
		data := c.try(&t, instancePath+"/"+plural, request{method: http.MethodGet})
		if t.Result != acked {
			continue // a definition without instances
		}
		var list struct{ Items []struct{ Metadata meta } }
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, err
		}
		def.Instances = map[string]string{}
		for _, item := range list.Items {
			def.Instances[item.Metadata.Name] = item.Metadata.UID
		}
	}
	t := Try{}
	var list struct{ Resources []struct{ Name string } }
	if data := c.try(&t, instancePath, request{method: http.MethodGet}); t.Result == acked {
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, err
		}
	}
	for _, res := range list.Resources {
		v.Discovered = append(v.Discovered, res.Name)
	}
	slices.Sort(v.Discovered)
	return v, nil
}

func decodeDefinition(data []byte) (def *Definition, plural string, err error) {
	var o struct {
		Metadata struct{ UID, DeletionTimestamp string }
		Spec     struct{ Names struct{ Plural string } }
		Status   struct {
			Conditions []struct{ Type, Status string }
		}
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, "", err
	}
	def = &Definition{UID: o.Metadata.UID, Deleting: o.Metadata.DeletionTimestamp != ""}
	for _, c := range o.Status.Conditions {
		def.Established = def.Established || c.Type == "Established" && c.Status == "True"
	}
	return def, o.Spec.Names.Plural, nil
}
