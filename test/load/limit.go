package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// limitCommand is the argument with which this program starts itself as the limit server.
const limitCommand = "limit-server"

// limitConfig is the configuration that the limit server reads from its standard input. The server
// answers with its address and runs until its input ends.
type limitConfig struct {
	Kind          string
	Objects, Size int
}

// startLimit starts the limit server in a process of its own, so that its CPU time is not mixed
// with the client's.
func startLimit(protocol string, p plan) (*target, func(), error) {
	cmd := exec.Command(os.Args[0], limitCommand)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop := func() { in.Close(); cmd.Wait() }
	if err := json.NewEncoder(in).Encode(limitConfig{p.kind.name, p.objects, p.size}); err != nil {
		stop()
		return nil, nil, err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return nil, nil, err
	}
	t := &target{name: "limit", url: "https://" + strings.TrimSpace(address), pids: []int{cmd.Process.Pid}, gzip: p.gzip, kind: p.kind}
	t.client = newClient(&tls.Config{InsecureSkipVerify: true}, protocol, p)
	return t, stop, nil
}

// serveLimit is the process that startLimit starts.
func serveLimit(in io.Reader, out io.Writer) error {
	var cfg limitConfig
	dec := json.NewDecoder(in)
	if err := dec.Decode(&cfg); err != nil {
		return err
	}
	cert, err := throwaway()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: newLimit(cfg), TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}}}
	defer srv.Close()
	go srv.ServeTLS(l, "", "") // until Close
	if _, err := fmt.Fprintln(out, l.Addr()); err != nil {
		return err
	}
	io.Copy(io.Discard, in)
	return nil
}

// limit answers each request with prepared bytes. It stores nothing, and checks neither objects nor
// clients. It sends each update to all watchers.
type limit struct {
	one, list, page, last []byte
	path                  string // the end of the path of a list

	mu       sync.Mutex
	watchers map[chan []byte]struct{}
}

const queued = 1 << 16 // events of one watcher: more than a run has

func newLimit(cfg limitConfig) *limit {
	kind := kindNamed(cfg.Kind)
	one := kind.object(0, cfg.Size, "0")
	// The fields that a server adds to an object.
	one = bytes.Replace(one, []byte(`"metadata":{`), []byte(`"metadata":{"namespace":"load-0123456789","uid":"00000000-0000-0000-0000-000000000000",`+
		`"resourceVersion":"1000000","creationTimestamp":"2030-01-01T00:00:00Z",`), 1)
	list := func(n int, meta string) []byte {
		items := bytes.Repeat(append(bytes.Clone(one), ','), n)
		return fmt.Appendf(nil, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"%s},"items":[%s]}`, meta, bytes.TrimSuffix(items, []byte{','}))
	}
	rest := cfg.Objects % 500
	if rest == 0 {
		rest = min(cfg.Objects, 500)
	}
	return &limit{one: one, list: list(cfg.Objects, ""), page: list(min(cfg.Objects, 500), `,"continue":"more"`), last: list(rest, ""), path: "/" + kind.resource,
		watchers: map[chan []byte]struct{}{}}
}

func (s *limit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	answer := s.one
	switch r.Method {
	case http.MethodGet:
		switch query := r.URL.RawQuery; {
		case strings.HasPrefix(query, "watch="):
			s.watch(w, r)
			return
		case strings.HasSuffix(r.URL.Path, "/none"):
			w.WriteHeader(http.StatusNotFound)
			answer = answer[:min(200, len(answer))]
		case r.URL.Path == "/version":
			answer = answer[:min(300, len(answer))]
		case strings.Contains(query, "limit="):
			answer = s.page
		case strings.HasSuffix(r.URL.Path, s.path):
			answer = s.list
		}
	default:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		switch r.Method {
		case http.MethodPost:
			w.WriteHeader(http.StatusCreated)
		case http.MethodPut:
			s.broadcast(body)
		}
	}
	w.Write(answer)
}

// broadcast makes one event for all watchers.
func (s *limit) broadcast(object []byte) {
	event := make([]byte, 0, len(object)+64)
	event = append(append(append(event, `{"type":"MODIFIED","object":`...), object...), "}\n"...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.watchers {
		c <- event
	}
}

func (s *limit) watch(w http.ResponseWriter, r *http.Request) {
	c := make(chan []byte, queued)
	s.mu.Lock()
	s.watchers[c] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, c)
		s.mu.Unlock()
	}()
	flush := http.NewResponseController(w)
	flush.Flush()
	for {
		select {
		case event := <-c:
			w.Write(event)
			for n := len(c); n > 0; n-- { // one flush for all queued events
				w.Write(<-c)
			}
			flush.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// throwaway makes a self-signed certificate for one run.
func throwaway() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
