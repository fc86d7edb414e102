// Package standin is about a process that stands where an etcd server would: it has the address, the health and the flags of one, and
// keeps nothing. Programs that start an etcd, wait for it and then start an API server on it find all of that as it was; the API server
// asks at the address whether it is such a stand-in, is told the data folder, and opens the embedded store there itself.
//
// The folder is the API server's, whose lock keeps a second one out. It outlives both processes, and is laid out as a member's is: a
// real etcd can be started on it later. Since it has to be on the same machine, stand-ins are looked for at loopback addresses only,
// and without TLS.
package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/api/v3/version"
)

// path is where a stand-in says what it stands for. An etcd has nothing there.
const path = "/coracle/stand-in"

// Place is the store that a stand-in stands for.
type Place struct {
	Dir    string `json:"dataDir"`       // absolute
	NoSync bool   `json:"unsafeNoFsync"` // whoever opens it need not wait for the disk
}

// Handler answers for a stand-in: its health and version as etcd does, and what it stands for. Clients that want to talk to an etcd are
// told that there is none.
func Handler(p Place) http.Handler {
	mux := http.NewServeMux()
	answer := func(path, contentType string, body []byte) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Write(body)
		})
	}
	about, _ := json.Marshal(p) // strings, which always have JSON
	answer(path, "application/json", about)
	answer("/health", "application/json", []byte(`{"health":"true","reason":""}`))
	answer("/livez", "text/plain; charset=utf-8", []byte("ok\n"))
	answer("/readyz", "text/plain; charset=utf-8", []byte("ok\n"))
	answer("/version", "application/json", fmt.Appendf(nil, `{"etcdserver":%q,"etcdcluster":"%s.0","storage":""}`, version.Version, majorMinor(version.Version)))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			refuseCall(w)
			return
		}
		http.NotFound(w, r)
	})
	return mux
}

func majorMinor(v string) string {
	major, rest, _ := strings.Cut(v, ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

// refuseCall answers a call by gRPC: an answer without a body, of which headers are all.
func refuseCall(w http.ResponseWriter) {
	const unimplemented = 12
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Grpc-Status", strconv.Itoa(unimplemented))
	w.Header().Set("Grpc-Message", "this is no etcd: it stands in for one before one API server of Coracle, which is started after it and keeps the data itself")
}

// findTimeout bounds the question whether somebody is a stand-in, which an etcd answers at once.
const findTimeout = time.Second

// askAgain is how long after nobody listened Find asks again.
const askAgain = 10 * time.Millisecond

// moment is how long it takes to start both.
const moment = 500 * time.Millisecond

// Find asks whether a stand-in answers at the only one of some client URLs, and returns the store it stands for, or nil if nobody says
// so. As long as nobody listens there it waits, until ctx ends: both may have been started at once. away is called once if that takes
// longer than a moment.
func Find(ctx context.Context, urls []string, away func()) *Place {
	if len(urls) != 1 || !near(urls[0]) {
		return nil
	}
	told := time.AfterFunc(moment, away)
	defer told.Stop()
	for {
		asking, cancel := context.WithTimeout(ctx, findTimeout)
		p, err := ask(asking, urls[0])
		cancel()
		switch {
		case err == nil && p.Dir != "":
			return p
		case !errors.Is(err, syscall.ECONNREFUSED):
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(askAgain):
		}
	}
}

// near reports whether a URL is one where a stand-in may be.
func near(server string) bool {
	u, err := url.Parse(server)
	return err == nil && u.Scheme == "http" && Loopback(u.Hostname())
}

// Loopback reports whether a host is this machine, and nobody else can mean it.
func Loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// errOther says that another than it was answers, or none that stands in for anything.
var errOther = errors.New("what stands in for etcd has been replaced")

// Answers returns nil as long as the stand-in at a URL is there, and stands for p.
func (p *Place) Answers(ctx context.Context, url string) error {
	now, err := ask(ctx, url)
	if err == nil && *now != *p {
		err = errOther
	}
	return err
}

// client leaves no connection behind.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func ask(ctx context.Context, url string) (*Place, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(url, "/")+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errOther
	}
	p := new(Place)
	return p, json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(p)
}
