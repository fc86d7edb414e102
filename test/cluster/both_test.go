package cluster

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestBoth has kube-apiserver and Coracle serve one etcd at once, under load. No write may be lost,
// each server must read the writes of the other at once, and neither may undo writes of the other.
func TestBoth(t *testing.T) {
	duration := time.Minute
	if s := os.Getenv("DURATION"); s != "" {
		var err error
		if duration, err = time.ParseDuration(s); err != nil {
			t.Fatalf("DURATION: %v", err)
		}
	}
	p := newPlane(t, append(controlPrograms, kube136, coracle)...)
	encrypted := "--encryption-provider-config=" + p.path("encryption.yaml")
	pair := []*server{p.serve(kube136, 0, encrypted), p.serve(coracle, 1, encrypted)}
	stop := p.control(pair[1], pair[0])
	fill(t, pair[0])
	eventually(t, 90*time.Second, pair[1].settled)
	watcher := watchKept(t, pair)
	l := &load{t: t, pair: pair, end: time.Now().Add(duration)}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { l.increment(i) })
		wg.Go(func() { l.readBack(i) })
	}
	for i := range 2 {
		wg.Go(func() { l.services(i) })
		wg.Go(func() { l.definitions(i) })
		wg.Go(func() { l.deployments(i) })
	}
	wg.Wait()
	if l.increments.Load() == 0 || l.reads.Load() == 0 || l.madeServices.Load() == 0 || l.madeDefinitions.Load() == 0 || l.scales.Load() == 0 {
		t.Error("the load did nothing")
	}
	l.check()
	watcher.check(t)
	stop()
	checkWarnings(t, pair[0], l.madeServices.Load())
	compare(t, pair[0].read(t), pair[1].read(t), []excuse{{`/leases/`, ``, "both servers live"}})
	for _, s := range pair {
		if err := s.ready(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("in %v: %d increments, %d writes read back, %d services, %d definitions, %d changes of scale", duration,
		l.increments.Load(), l.reads.Load(), l.madeServices.Load(), l.madeDefinitions.Load(), l.scales.Load())
}

// load holds the workers that write through both servers until end.
type load struct {
	t    *testing.T
	pair []*server
	end  time.Time

	increments, reads, madeServices, madeDefinitions, scales atomic.Int64
}

const configMaps = "/api/v1/namespaces/team/configmaps"

// counters is the number of ConfigMaps in which all workers count.
const counters = 3

func (l *load) running() bool { return time.Now().Before(l.end) }

// increment increments the counters, through both servers in turn.
func (l *load) increment(worker int) {
	for i := worker; l.running(); i++ {
		s, path := l.pair[i%2], fmt.Sprintf("%s/count-%d", configMaps, i%counters)
		o, err := s.get(path)
		if refusedWith(err, http.StatusNotFound) {
			_, err = s.create(configMaps, object{"metadata": object{"name": fmt.Sprintf("count-%d", i%counters)}, "data": object{"n": "1"}})
		} else if err == nil {
			n, _ := strconv.Atoi(text(o, "data", "n"))
			o["data"].(object)["n"] = strconv.Itoa(n + 1)
			_, err = s.put(path, o)
		}
		if err == nil {
			l.increments.Add(1)
		} else if !refusedWith(err, http.StatusConflict) {
			l.t.Errorf("increment: %v", err)
		}
	}
}

// readBack writes through one server and reads the write through the other, by each kind of read.
func (l *load) readBack(worker int) {
	name := fmt.Sprintf("own-%d", worker)
	if _, err := l.pair[0].create(configMaps, object{"metadata": object{"name": name}}); err != nil {
		l.t.Error(err)
		return
	}
	for i := 0; l.running(); i++ {
		value := strconv.Itoa(i)
		if _, err := l.pair[i%2].patch(configMaps+"/"+name, object{"data": object{"n": value}}); err != nil {
			l.t.Errorf("write: %v", err)
			continue
		}
		s := l.pair[(i+1)%2]
		o, err := s.get(configMaps + "/" + name)
		if i%4 == 0 {
			var list object
			list, err = s.get(configMaps + "?fieldSelector=metadata.name=" + name)
			if all := items(list); len(all) == 1 {
				o = all[0]
			}
		}
		if err != nil || text(o, "data", "n") != value {
			l.t.Errorf("stale read through %s: got %v, %v after write %s", s.base, o["data"], err, value)
		}
		l.reads.Add(1)
	}
}

// services creates services quickly, and deletes most of them.
func (l *load) services(worker int) {
	const path = "/api/v1/namespaces/team/services"
	for i := 0; l.running(); i++ {
		name, s := fmt.Sprintf("s-%d-%d", worker, i), l.pair[(worker+i)%2]
		_, err := s.create(path, object{"metadata": object{"name": name}, "spec": object{
			"type": "NodePort", "ports": []any{object{"port": 80}}, "selector": object{"app": "nobody"},
		}})
		if err == nil && i%8 != 0 {
			err = l.pair[i/2%2].remove(path + "/" + name)
		}
		if err != nil {
			l.t.Errorf("service %s: %v", name, err)
		}
		l.madeServices.Add(1)
		time.Sleep(20 * time.Millisecond)
	}
}

// definitions creates definitions, and an instance of each through the other server.
func (l *load) definitions(worker int) {
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	for i := 0; l.running(); i++ {
		group := fmt.Sprintf("g%d-%d.load.example", worker, i%4)
		name, s, other := "things."+group, l.pair[i%2], l.pair[(i+1)%2]
		_, err := s.create(path, object{"metadata": object{"name": name}, "spec": object{
			"group": group, "scope": "Cluster", "names": object{"plural": "things", "kind": "Thing"},
			"versions": []any{object{"name": "v1", "served": true, "storage": true, "schema": object{"openAPIV3Schema": object{"type": "object"}}}},
		}})
		if err != nil {
			l.t.Errorf("definition %s: %v", name, err)
		}
		l.eventually("an object of "+name, func() error {
			_, err := other.create("/apis/"+group+"/v1/things", object{"apiVersion": group + "/v1", "kind": "Thing", "metadata": object{"name": "x"}})
			if refusedWith(err, http.StatusConflict) {
				return nil
			}
			return err
		})
		time.Sleep(time.Second)
		if err := other.remove(path + "/" + name); err != nil {
			l.t.Errorf("definition %s: %v", name, err)
		}
		l.eventually("the end of "+name, func() error {
			for _, s := range l.pair {
				if _, err := s.get(path + "/" + name); !refusedWith(err, http.StatusNotFound) {
					return fmt.Errorf("%s has it: %v", s.base, err)
				}
			}
			return nil
		})
		l.madeDefinitions.Add(1)
	}
}

func (l *load) eventually(what string, check func() error) {
	err := errors.New("not tried")
	for end := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		err = check()
	}
	if err != nil {
		l.t.Errorf("%s: %v", what, err)
	}
}

// deployments has the controllers make and delete pods.
func (l *load) deployments(worker int) {
	for i := 0; l.running(); i++ {
		path := "/apis/apps/v1/namespaces/team/deployments/" + []string{"web", "old"}[worker]
		if _, err := l.pair[i%2].patch(path+"/scale", object{"spec": object{"replicas": 1 + i%8}}); err != nil && !refusedWith(err, http.StatusConflict) {
			l.t.Errorf("scale: %v", err)
		}
		l.scales.Add(1)
		time.Sleep(500 * time.Millisecond)
	}
}

// check adds up the counters, and looks for addresses and node ports that two services have.
func (l *load) check() {
	l.t.Helper()
	for _, s := range l.pair {
		sum := 0
		for i := range counters {
			o, err := s.get(fmt.Sprintf("%s/count-%d", configMaps, i))
			if err != nil {
				l.t.Error(err)
			}
			n, _ := strconv.Atoi(text(o, "data", "n"))
			sum += n
		}
		if int64(sum) != l.increments.Load() {
			l.t.Errorf("%s: %d increments were acknowledged, %d are there", s.base, l.increments.Load(), sum)
		}
		list, err := s.get("/api/v1/services")
		if err != nil {
			l.t.Error(err)
		}
		owner := map[string]string{}
		claim := func(what, service string) {
			if other, taken := owner[what]; taken && other != service {
				l.t.Errorf("%s and %s both have %s", other, service, what)
			}
			owner[what] = service
		}
		for _, o := range items(list) {
			name := text(o, "metadata", "namespace") + "/" + text(o, "metadata", "name")
			addresses, _ := at(o, "spec", "clusterIPs").([]any)
			for _, ip := range addresses {
				if ip != "None" {
					claim(ip.(string), name)
				}
			}
			ports, _ := at(o, "spec", "ports").([]any)
			for _, port := range ports {
				if n := at(port, "nodePort"); n != nil {
					claim(fmt.Sprint("node port ", n, "/", text(port, "protocol")), name)
				}
			}
		}
	}
}

// kept are the resources with objects that both servers keep by themselves.
var kept = []string{
	"/apis/apiregistration.k8s.io/v1/apiservices", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
	"/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	"/apis/rbac.authorization.k8s.io/v1/roles", "/apis/rbac.authorization.k8s.io/v1/rolebindings",
	"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
	"/apis/scheduling.k8s.io/v1/priorityclasses", "/apis/networking.k8s.io/v1/servicecidrs",
	"/api/v1/namespaces/default/endpoints", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
	"/api/v1/namespaces", "/api/v1/namespaces/kube-system/configmaps", "/apis/networking.k8s.io/v1/ipaddresses",
}

// keeper counts how often objects change that nobody should change.
type keeper struct {
	mu      sync.Mutex
	changes map[string]int
	lives   map[string]int // how often the object was created
	last    map[string]object
	fields  map[string]map[string]bool // the changed fields, by object
	stop    func()
}

// watchKept watches the kept resources through both servers.
func watchKept(t *testing.T, pair []*server) *keeper {
	t.Helper()
	k := &keeper{changes: map[string]int{}, lives: map[string]int{}, last: map[string]object{}, fields: map[string]map[string]bool{}}
	end := make(chan struct{})
	var wg sync.WaitGroup
	for i, path := range kept {
		s := pair[i%2]
		list, err := s.get(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range items(list) {
			k.last[path+"/"+text(o, "metadata", "name")] = o
		}
		revision := text(list, "metadata", "resourceVersion")
		wg.Go(func() {
			for ended := false; !ended; {
				err := s.watch(path+"?timeoutSeconds=10&allowWatchBookmarks=true&resourceVersion="+revision, func(event object) error {
					o, _ := event["object"].(object)
					if event["type"] == "ERROR" {
						return fmt.Errorf("%v", o)
					}
					revision = text(o, "metadata", "resourceVersion")
					if event["type"] != "BOOKMARK" {
						k.see(path, text(event, "type"), o)
					}
					return nil
				})
				if err != nil {
					t.Errorf("watch of %s: %v", path, err)
					return
				}
				select {
				case <-end:
					ended = true
				default:
				}
			}
		})
	}
	k.stop = func() { close(end); wg.Wait() }
	t.Cleanup(func() { k.once() })
	return k
}

func (k *keeper) once() {
	k.mu.Lock()
	stop := k.stop
	k.stop = nil
	k.mu.Unlock()
	if stop != nil {
		stop()
	}
}

func (k *keeper) see(path, change string, o object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := path + "/" + text(o, "metadata", "name")
	k.changes[key]++
	if change == "ADDED" {
		k.lives[key]++
	}
	if k.fields[key] == nil {
		k.fields[key] = map[string]bool{}
	}
	if before, ok := k.last[key]; ok && change == "MODIFIED" {
		differences("", before, o, func(field string, was, is any) {
			if !strings.HasPrefix(field, ".metadata.managedFields") && field != ".metadata.resourceVersion" {
				k.fields[key][fmt.Sprintf("%s: %.150v, %.150v", field, was, is)] = true
			}
		})
	} else {
		k.fields[key][change] = true
	}
	k.last[key] = o
}

// changesPerLife bounds the changes of a definition, or of its APIService, from its creation to its
// end. One server alone makes up to 8: the definition is created, its names are accepted, it is
// established, it is marked for deletion, its objects are deleted, it is removed.
const changesPerLife = 12

// check wants only those objects to have changed that the load changes.
func (k *keeper) check(t *testing.T) {
	t.Helper()
	k.once()
	most := 0
	for _, key := range slices.Sorted(maps.Keys(k.changes)) {
		n, allowed := k.changes[key], 0
		switch {
		case strings.Contains(key, "/ipaddresses/"): // the load creates and deletes services
			continue
		case strings.Contains(key, ".load.example"):
			allowed = changesPerLife * k.lives[key]
			most = max(most, (n+k.lives[key]-1)/max(1, k.lives[key]))
		}
		if n > allowed {
			t.Errorf("%s has changed %d times in %d lives:\n\t%s", key, n, k.lives[key], strings.Join(slices.Sorted(maps.Keys(k.fields[key])), "\n\t"))
		}
	}
	t.Logf("definitions and their APIServices changed at most %d times from creation to end", most)
}

// servicesPerWarning is the number of created services for which one warning about an address or a
// port is allowed. The repair loops of both servers see services and addresses by different
// informers, so the address of a service that is soon deleted may seem to be missing. Two
// kube-apiservers warn of 35 in 645 services under this load, kube-apiserver and Coracle of 0 to 6
// in 2,096.
const servicesPerWarning = 100

// checkWarnings wants at most one warning about addresses and ports for servicesPerWarning
// services.
func checkWarnings(t *testing.T, s *server, services int64) {
	t.Helper()
	list, err := s.get("/api/v1/events?fieldSelector=type=Warning")
	if err != nil {
		t.Fatal(err)
	}
	reasons, repairs := map[string]int{}, []string{}
	for _, o := range items(list) {
		what := text(o, "reason")
		if reasons[what]++; strings.Contains(text(o, "source", "component")+text(o, "reportingComponent"), "allocator-repair") {
			repairs = append(repairs, fmt.Sprintf("%s %s: %s", what, text(o, "involvedObject", "name"), text(o, "message")))
		}
	}
	t.Logf("warnings: %v", reasons)
	if int64(len(repairs)) > services/servicesPerWarning {
		t.Errorf("%d services were made, and %d warnings about addresses and ports:\n\t%s", services, len(repairs), strings.Join(repairs, "\n\t"))
	}
}
