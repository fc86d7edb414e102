package robust

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limit is a ResourceQuota of a run. Amounts are in thousandths everywhere.
type Limit struct {
	Name       string
	Hard       map[string]int64
	Terminates bool `json:",omitempty"` // it has the scope Terminating
}

// limits are the quotas of a run. Two of them limit config maps, so that a charge to one of them is
// refunded if the other refuses. All limits are low, so that quotas are sometimes full.
func limits() []*Limit {
	const gi = 1000 << 30
	return []*Limit{
		{Name: "maps", Hard: map[string]int64{"count/configmaps": 9000}},
		{Name: "texts", Hard: map[string]int64{"configmaps": 10_000, "count/secrets": 6000}},
		{Name: "compute", Hard: map[string]int64{"pods": 8000, "requests.cpu": 2000, "requests.memory": gi, "limits.cpu": 4000}},
		{Name: "deadlines", Hard: map[string]int64{"pods": 3000}, Terminates: true},
		{Name: "services", Hard: map[string]int64{"services": 7000, "services.loadbalancers": 2000, "services.nodeports": 5000}},
		{Name: "claims", Hard: map[string]int64{"persistentvolumeclaims": 6000, "requests.storage": 20 * gi, gold: 12 * gi}},
	}
}

// gold is the quota name for the storage of the class gold.
const gold = "gold.storageclass.storage.k8s.io/requests.storage"

// Counted is an object that quotas count, as an answer or event showed it.
type Counted struct {
	Kind       string // its resource
	Name       string
	UID        string
	RV         int64
	By         string `json:",omitempty"` // the label that its create gave it
	Terminates bool   `json:",omitempty"` // the object is a pod in the scope Terminating
	Bound      bool   `json:",omitempty"` // the object is a bound claim, which can grow
	Uses       map[string]int64
}

func (o *Counted) String() string {
	if o == nil {
		return "absent"
	}
	return fmt.Sprintf("{%s/%s rv=%d by=%s %v uid=%.8s}", o.Kind, o.Name, o.RV, o.By, o.Uses, o.UID)
}

// countedKinds are the resources that clients write, with the names that count them.
var countedKinds = map[string][]string{
	"configmaps":             {"configmaps", "count/configmaps"},
	"secrets":                {"count/secrets"},
	"pods":                   {"pods"},
	"services":               {"services"},
	"persistentvolumeclaims": {"persistentvolumeclaims"},
}

// resources are the resources of a container or a claim.
type resources struct{ Requests, Limits map[string]string }

// decodeCounted reads an object of a resource. A pod that is being deleted uses nothing: no pod
// here has a node, so none has a grace period, and a server that is killed in the middle of a
// deletion leaves such a pod behind. The status of pods does not matter, because nobody writes one.
func decodeCounted(kind string, data []byte) (*Counted, error) {
	var o struct {
		Metadata struct {
			meta
			DeletionTimestamp string
		}
		Status struct{ Phase string }
		Spec   struct {
			Type       string
			Ports      []struct{}
			Deadline   *int64 `json:"activeDeadlineSeconds"`
			Class      string `json:"storageClassName"`
			Resources  resources
			Containers []struct{ Resources resources }
		}
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	m := &o.Metadata
	c := &Counted{Kind: kind, Name: m.Name, UID: m.UID, RV: m.revision(), By: m.Labels["by"], Terminates: o.Spec.Deadline != nil,
		Bound: o.Status.Phase == "Bound", Uses: map[string]int64{}}
	if kind == "pods" && m.DeletionTimestamp != "" {
		return c, nil
	}
	for _, name := range countedKinds[kind] {
		c.Uses[name] = 1000
	}
	var err error
	add := func(name, amount string) {
		n, wrong := thousandths(amount)
		if wrong != nil {
			err = wrong
		}
		c.Uses[name] += n
	}
	switch kind {
	case "pods":
		for _, container := range o.Spec.Containers {
			add("requests.cpu", container.Resources.Requests["cpu"])
			add("requests.memory", container.Resources.Requests["memory"])
			add("limits.cpu", container.Resources.Limits["cpu"])
		}
	case "services":
		if o.Spec.Type == "LoadBalancer" {
			c.Uses["services.loadbalancers"] = 1000
		}
		if o.Spec.Type == "LoadBalancer" || o.Spec.Type == "NodePort" {
			c.Uses["services.nodeports"] = int64(1000 * len(o.Spec.Ports))
		}
	case "persistentvolumeclaims":
		add("requests.storage", o.Spec.Resources.Requests["storage"])
		if o.Spec.Class == "gold" {
			add(gold, o.Spec.Resources.Requests["storage"])
		}
	}
	return c, err
}

// units are the suffixes of quantities that occur here, in thousandths.
var units = []struct {
	suffix string
	amount int64
}{{"m", 1}, {"k", 1e6}, {"M", 1e9}, {"G", 1e12}, {"Ki", 1000 << 10}, {"Mi", 1000 << 20}, {"Gi", 1000 << 30}, {"", 1000}}

// thousandths reads a quantity.
func thousandths(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			return n * u.amount, nil
		}
	}
	return 0, fmt.Errorf("a quantity that nobody wrote: %q", text)
}

// Account is the used amounts of a quota at a revision.
type Account struct {
	RV   int64
	Name string
	Used map[string]int64 // empty until they are known for the first time
}

// decodeAccount reads a ResourceQuota.
func decodeAccount(data []byte) (*Account, error) {
	var o struct {
		Metadata meta
		Status   struct{ Used map[string]string }
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	a := &Account{RV: o.Metadata.revision(), Name: o.Metadata.Name, Used: map[string]int64{}}
	for name, text := range o.Status.Used {
		n, err := thousandths(text)
		if err != nil {
			return nil, err
		}
		a.Used[name] = n
	}
	return a, nil
}

// QuotaOp is one request about an object that quotas count.
type QuotaOp struct {
	Try
	Verb       Verb
	Kind       string
	Name       string
	By         string           `json:",omitempty"` // of a create: the label of the object
	Terminates bool             `json:",omitempty"` // of a create: the object is a pod in the scope Terminating
	Asks       map[string]int64 `json:",omitempty"` // of a create: what the object uses
	// Known is the revision before a request that fills a quota. No other client writes then.
	Known int64    `json:",omitempty"`
	Got   *Counted `json:",omitempty"`
	UID   string   `json:",omitempty"` // of the deleted object
}

func (op *QuotaOp) String() string {
	return fmt.Sprintf("client %d, server %d, %v-%v: %s %s/%s by=%s %v -> %s %d %s %v", op.Client, op.Server,
		op.Call, op.Return, op.Verb, op.Kind, op.Name, op.By, op.Asks, op.Result, op.Code, op.Error, op.Got)
}

// CountedEvent is one event of the history of counted objects.
type CountedEvent struct {
	Type string
	*Counted
}

// QuotaRound is the record of the time after the last fault of a round, when the load has ended.
type QuotaRound struct {
	Last    string        // the last fault
	Due     int64         // revision of a deletion, which makes the namespace due
	Right   int64         // revision at which a client saw that all usage was right
	Took    time.Duration // from the deletion until then
	Fill    []*QuotaOp    // creates until each quota refuses
	Full    int64         // revision after them
	Release *QuotaOp      // a create after a deletion that made room
}

// QuotaRecord is the record of a run with quotas.
type QuotaRecord struct {
	Limits   []*Limit
	Faults   map[string]int
	Ops      []*QuotaOp
	Events   []CountedEvent // all of them, in order
	Accounts []*Account     // all of them, in order
	Raises   []int64        // revisions of the fence, each of which begins a recount
	Rounds   []*QuotaRound
	Stored   map[string]int `json:",omitempty"` // keys of each resource in etcd at the end
	Trouble  []string
}

// summary returns the counts of a run, for the log.
func (rec *QuotaRecord) summary() string {
	results, exceeded := map[Result]int{}, 0
	for _, op := range rec.Ops {
		if results[op.Result]++; op.exceeded() {
			exceeded++
		}
	}
	text := fmt.Sprintf("faults %v, %d operations %v, %d of them exceeded a quota, %d events, %d recounts", rec.Faults, len(rec.Ops),
		results, exceeded, len(rec.Events), len(rec.Raises))
	for _, round := range rec.Rounds {
		text += fmt.Sprintf("; right %v after %s, %d to fill", round.Took.Round(time.Millisecond), round.Last, len(round.Fill))
	}
	return text
}

// exceeded reports whether a quota refused the request.
func (op *QuotaOp) exceeded() bool {
	return op.Result == refused && op.Code == 403 && strings.Contains(op.Error, "is forbidden: exceeded quota: ")
}
