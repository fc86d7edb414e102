package robust

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coracle-project/coracle/server/servertest/leaks"
	"github.com/coracle-project/coracle/server/servertest/ports"
)

// Config is one configuration of servers to test.
type Config struct {
	Name    string
	Storage string // the engine
	Servers int
	Faults  []string
	Args    []string // more flags of each server
	Elders  int      // the number of objects that an older server has stored

	Defragments bool // the store is defragmented all the time
	Linked      bool // the network between each server and the etcd can be cut
}

// subject is the kind of the objects that clients write.
func (c Config) subject() subject {
	if c.Elders > 0 {
		return replicaSets
	}
	return configMaps
}

// lasting reports whether the store keeps its history over restarts.
func (c Config) lasting() bool { return c.Storage == "embedded" || c.Storage == "etcd" }

// Configs are all configurations. The memory engine loses its data with its process, so its server
// is stopped (SIGSTOP) and never killed.
func Configs() []Config {
	local := []string{"kill", "kill", "kill again", "kill stopped", "terminate", "stop"}
	remote := []string{"kill", "kill again", "terminate", "stop", "kill etcd", "kill etcd", "stop etcd"}
	return []Config{
		{Name: "embedded", Storage: "embedded", Servers: 1, Faults: local},
		{Name: "defragmented", Storage: "embedded", Servers: 1, Faults: local, Defragments: true},
		{Name: "file", Storage: "file", Servers: 1, Faults: local},
		{Name: "memory", Storage: "memory", Servers: 1, Faults: []string{"stop"}},
		{Name: "etcd", Storage: "etcd", Servers: 1, Faults: remote},
		{Name: "pair", Storage: "etcd", Servers: 2, Faults: remote},
		{Name: "elders", Storage: "etcd", Servers: 2, Faults: remote, Elders: elders},
	}
}

// Programs are the paths of the programs of a run.
type Programs struct{ Server, Etcd string }

const (
	namespace = "robust"
	token     = "robust-token"
)

// cluster is the servers of a run, with their etcd if they have one.
type cluster struct {
	servers []*process
	urls    []string
	etcd    *process // nil if the engine needs none
	etcdURL string
	links   []*link // one for each server to its etcd, if the network can be cut
}

// newCluster starts all processes, with their files in dir.
func newCluster(c Config, programs Programs, dir string, trouble func(string, ...any)) (*cluster, error) {
	tokens := filepath.Join(dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(token+`,admin,admin,"system:masters"`+"\n"), 0o600); err != nil {
		return nil, err
	}
	free := make([]int, 2+c.Servers)
	for i := range free {
		var err error
		if free[i], err = ports.Free("127.0.0.1"); err != nil {
			return nil, err
		}
	}
	cl := &cluster{}
	storage := []string{"--storage", c.Storage}
	if c.Storage == "etcd" {
		client, peer := fmt.Sprintf("http://127.0.0.1:%d", free[0]), fmt.Sprintf("http://127.0.0.1:%d", free[1])
		cl.etcdURL = client
		cl.etcd = &process{name: "etcd", path: programs.Etcd, args: []string{filepath.Join(dir, "etcd"), client, peer},
			log: filepath.Join(dir, "etcd.log"), ready: client + "/health", trouble: trouble}
		storage = []string{"--etcd-servers", client}
	}
	for i := range c.Servers {
		port := strconv.Itoa(free[2+i])
		name := fmt.Sprintf("server%d", i)
		args := []string{"serve", "--data-dir", filepath.Join(dir, name), "--secure-port", port, "--token-auth-file", tokens,
			"--log-level", "debug", "--etcd-compaction-interval", "0", "--advertise-address", fmt.Sprintf("192.0.2.%d", i+1)}
		if c.Linked {
			l, err := newLink(strings.TrimPrefix(cl.etcdURL, "http://"))
			if err != nil {
				cl.kill()
				return nil, err
			}
			cl.links = append(cl.links, l)
			storage = []string{"--etcd-servers", l.url()}
		}
		url := "https://127.0.0.1:" + port
		cl.urls = append(cl.urls, url)
		cl.servers = append(cl.servers, &process{name: name, path: programs.Server, args: slices.Concat(args, storage, c.Args),
			log: filepath.Join(dir, name+".log"), ready: url + "/readyz", trouble: trouble})
	}
	for _, p := range cl.all() {
		err := p.start()
		if err == nil {
			err = p.wait()
		}
		if err != nil {
			cl.kill()
			return nil, err
		}
	}
	return cl, nil
}

// all returns the processes in the order in which they start.
func (cl *cluster) all() []*process {
	if cl.etcd == nil {
		return cl.servers
	}
	return append([]*process{cl.etcd}, cl.servers...)
}

// kill kills all processes that run, and ends all links.
func (cl *cluster) kill() {
	for _, l := range cl.links {
		l.close()
	}
	for _, p := range cl.all() {
		if p.cmd != nil {
			p.cmd.Process.Kill()
			<-p.over
		}
	}
}

// end terminates the servers and searches their logs for lines that must not be there.
func (cl *cluster) end(trouble func(string, ...any)) {
	for _, p := range cl.servers {
		p.terminate()
		readLog(p.log, trouble)
	}
}

// readLog searches a log for lines that must not be there.
func readLog(file string, trouble func(string, ...any)) {
	data, err := os.ReadFile(file)
	if err != nil {
		trouble("%v", err)
		return
	}
	if at := alarm.FindIndex(data); at != nil {
		trouble("%s: %.2000s", file, data[at[0]:])
	}
	leaks.Learn(token)
	var log leaks.Log
	log.Write(data)
	for _, line := range log.CredentialLines() {
		trouble("%s: a credential in the log: %.2000s", file, line)
	}
}

// alarm finds lines that must not be in a log.
var alarm = regexp.MustCompile(`(?i)panic|data race|fatal error`)

// fault injects one fault into the cluster, and repairs it.
func (cl *cluster) fault(name string, rng *rand.Rand) error {
	return cl.faultAt(rng.IntN(len(cl.servers)), name, rng)
}

// faultAt injects one fault into a server, or into the etcd if the name of the fault says so.
func (cl *cluster) faultAt(server int, name string, rng *rand.Rand) error {
	pause := func(most time.Duration) { time.Sleep(time.Duration(rng.Int64N(int64(most)))) }
	p := cl.servers[server]
	name, isEtcd := strings.CutSuffix(name, " etcd")
	if isEtcd {
		p = cl.etcd
	}
	switch name {
	case "cut", "cut off": // "cut off" loses the bytes on their way
		cl.links[server].cut()
		pause(3 * time.Second)
		cl.links[server].mend(name == "cut off")
		return cl.wait()
	case "slow", "reset", "reset slow": // a reset is repeated, so that the answers of some writes are lost
		l := cl.links[server]
		if name != "reset" {
			l.slow(time.Duration(rng.Int64N(int64(200 * time.Millisecond))))
			pause(2 * time.Second)
		}
		for range 10 {
			if name != "slow" {
				l.reset()
			}
			pause(200 * time.Millisecond)
		}
		l.slow(0)
		return cl.wait()
	case "kill":
		p.kill()
		pause(500 * time.Millisecond)
	case "kill again": // while it starts
		for range 1 + rng.IntN(3) {
			p.kill()
			if err := p.start(); err != nil {
				return err
			}
			pause(400 * time.Millisecond)
		}
		p.kill()
	case "kill stopped":
		p.signal(syscall.SIGSTOP)
		pause(time.Second)
		p.kill()
	case "terminate":
		p.terminate()
	case "stop":
		p.signal(syscall.SIGSTOP)
		pause(3 * time.Second)
		p.signal(syscall.SIGCONT)
		return nil
	default:
		return fmt.Errorf("no fault %q", name)
	}
	if err := p.start(); err != nil {
		return err
	}
	return cl.wait()
}

// wait waits until all processes are ready. A server is not ready while etcd is away.
func (cl *cluster) wait() error {
	for _, p := range cl.all() {
		if err := p.wait(); err != nil {
			return err
		}
	}
	return nil
}
