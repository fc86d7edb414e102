package robust

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// repairPatience bounds the wait for the repair. It releases a leaked port after three rounds,
// which are three minutes apart.
const repairPatience = 20 * time.Minute

// The marker is a service without an address. A change of it shows how far the watch has come.
const (
	markerPath = "/api/v1/namespaces/default/services"
	marker     = "marker"
)

// settled returns the ledger when two reads in a row are equal. A request to a killed server may
// still be on its way to the store.
func (r *serviceRun) settled(c *caller) (l *Ledger, err error) {
	err = within(patience, "services do not come to rest", func() (bool, error) {
		before := l
		if l, err = r.ledger(c); err != nil || before == nil {
			return false, err
		}
		return before.same(l), nil
	})
	return l, err
}

func (l *Ledger) same(other *Ledger) bool {
	return maps.Equal(l.Addresses, other.Addresses) && slices.Equal(l.Ports, other.Ports) &&
		slices.EqualFunc(l.Services, other.Services, func(a, b *Service) bool { return a.UID == b.UID && sameHold(a, b) })
}

// repaired returns the ledger when it has no leaks, or at the end of repairPatience.
func (r *serviceRun) repaired(c *caller) (*Ledger, error) {
	for end := time.Now().Add(repairPatience); ; time.Sleep(time.Second) {
		l, err := r.ledger(c)
		if err != nil {
			return nil, err
		}
		if addresses, ports := l.leaks(); len(addresses)+len(ports) == 0 || time.Now().After(end) {
			return l, nil
		}
	}
}

// ledger reads the services and allocations, after the watch has shown all changes of services.
func (r *serviceRun) ledger(c *caller) (*Ledger, error) {
	l := &Ledger{Time: r.now()}
	data, err := c.must(markerPath, request{method: "PATCH", name: marker, contentType: asMergePatch,
		body: tree{"metadata": tree{"labels": tree{"time": strconv.FormatInt(int64(l.Time), 10)}}}})
	if err != nil {
		return nil, err
	}
	m, err := decodeService(data)
	if err != nil {
		return nil, err
	}
	err = within(patience, "the watch has not come to "+m.String(), func() (bool, error) { return r.reached.Load() >= m.RV, nil })
	if err == nil {
		l.Services, _, err = c.services()
	}
	if err == nil {
		l.Addresses, err = c.addresses()
	}
	if err == nil {
		l.Ports, err = c.ports()
	}
	return l, err
}

// within waits until a condition is true.
func within(d time.Duration, or string, cond func() (bool, error)) error {
	for end := time.Now().Add(d); ; time.Sleep(50 * time.Millisecond) {
		switch ok, err := cond(); {
		case err != nil || ok:
			return err
		case time.Now().After(end):
			return fmt.Errorf("after %v %s", d, or)
		}
	}
}

// list reads all objects of a resource, and the revision.
func (c *caller) list(path string) ([]json.RawMessage, int64, error) {
	data, err := c.must(path, request{method: "GET"})
	if err != nil {
		return nil, 0, err
	}
	a := &answer{}
	if err := json.Unmarshal(data, a); err != nil {
		return nil, 0, err
	}
	return a.Items, a.Metadata.revision(), nil
}

func (c *caller) services() ([]*Service, int64, error) {
	items, rv, err := c.list("/api/v1/services")
	var list []*Service
	for _, item := range items {
		s, err := decodeService(item)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, s)
	}
	return list, rv, err
}

// addresses reads the allocated addresses, with the key of the service of each.
func (c *caller) addresses() (map[string]string, error) {
	items, _, err := c.list("/apis/networking.k8s.io/v1/ipaddresses")
	all := map[string]string{}
	for _, item := range items {
		var o struct {
			Metadata meta `json:"metadata"`
			Spec     struct {
				ParentRef struct{ Resource, Namespace, Name string } `json:"parentRef"`
			} `json:"spec"`
		}
		if err := json.Unmarshal(item, &o); err != nil {
			return nil, err
		}
		ref := o.Spec.ParentRef
		if all[o.Metadata.Name] = ref.Namespace + "/" + ref.Name; ref.Resource != "services" {
			all[o.Metadata.Name] = ref.Resource + " " + all[o.Metadata.Name]
		}
	}
	return all, err
}

// notices reads the Events about repairs.
func (c *caller) notices() ([]Notice, error) {
	items, _, err := c.list("/apis/events.k8s.io/v1/events")
	var list []Notice
	for _, item := range items {
		var o struct {
			Reason, Note string
			Regarding    struct{ Kind, Namespace, Name string }
		}
		if err := json.Unmarshal(item, &o); err != nil {
			return nil, err
		}
		list = append(list, Notice{o.Reason, o.Regarding.Name, o.Note})
	}
	return list, err
}

// ports reads the allocated ports from etcd, because the API does not show them.
func (c *caller) ports() ([]int, error) {
	found, err := c.inEtcd(etcdRange{Key: []byte("/registry/ranges/servicenodeports")})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var record struct {
		Range string
		Data  []byte
	}
	if err := json.Unmarshal(found[0].Value, &record); err != nil {
		return nil, err
	}
	from, _, _ := strings.Cut(record.Range, "-")
	base, err := strconv.Atoi(from)
	bits := new(big.Int).SetBytes(record.Data)
	var list []int
	for i := range bits.BitLen() {
		if bits.Bit(i) == 1 {
			list = append(list, base+i)
		}
	}
	return list, err
}
