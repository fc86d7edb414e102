// Package standin is the stand-in for an etcd server: a process that has the address, the health
// checks and the flags of an etcd, and stores nothing. Programs start an etcd, wait until it is
// healthy, and then start an API server on it. With a stand-in they do so unchanged: the API server
// asks at the address whether a stand-in answers there, learns the data folder from it, and opens
// the embedded store in that folder itself.
//
// Laws:
//   - The API server owns the folder, and the lock of the embedded store keeps a second server out.
//     The stand-in never opens the folder.
//   - The folder outlives both processes and has the layout of an etcd member's: a real etcd can be
//     started on it later.
//   - Because the folder has to be on the same machine, Find looks for stand-ins at loopback
//     addresses only, and without TLS.
//
// The stand-in's process serves Handler. The API server calls Find at its start and
// Location.Check in its health checks. All functions may be called at once. The package starts no
// goroutine that outlives a call.
//
// Not here: the embedded store (package embedded), and the flags of the process.
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

// path is the URL path at which a stand-in describes its Location. An etcd answers it with 404.
const path = "/coracle/stand-in"

// Location says where the API server is to open the embedded store in place of the etcd that the
// stand-in imitates. Its JSON is the answer at path.
type Location struct {
	Dir    string `json:"dataDir"`       // absolute path of the data folder
	NoSync bool   `json:"unsafeNoFsync"` // the API server need not wait for the disk (etcd's --unsafe-no-fsync)
}

// Handler answers the requests to a stand-in: its health and version as an etcd does, and p at a
// path of its own. It refuses the gRPC calls of etcd clients with the status Unimplemented and an
// explanation.
func Handler(p Location) http.Handler {
	mux := http.NewServeMux()
	answer := func(path, contentType string, body []byte) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Write(body)
		})
	}
	about, _ := json.Marshal(p) // a string and a bool always have JSON
	answer(path, "application/json", about)
	answer("/health", "application/json", []byte(`{"health":"true","reason":""}`))
	answer("/livez", "text/plain; charset=utf-8", []byte("ok\n"))
	answer("/readyz", "text/plain; charset=utf-8", []byte("ok\n"))
	answer("/version", "application/json", fmt.Appendf(nil, `{"etcdserver":%q,"etcdcluster":"%s.0","storage":""}`,
		version.Version, majorMinor(version.Version)))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			refuseCall(w)
			return
		}
		http.NotFound(w, r)
	})
	return mux
}

// majorMinor returns the first two numbers of a version: "3.6" of "3.6.4".
func majorMinor(v string) string {
	major, rest, _ := strings.Cut(v, ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

// refuseCall answers a gRPC call with Unimplemented. Such an answer has no body and carries the
// status in its headers (the "Trailers-Only" response of gRPC over HTTP/2).
func refuseCall(w http.ResponseWriter) {
	const unimplemented = 12
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Grpc-Status", strconv.Itoa(unimplemented))
	w.Header().Set("Grpc-Message", "this is no etcd: it stands in for one "+
		"before one API server of Coracle, which is started after it and keeps the data itself")
}

// findTimeout bounds one question of Find. An etcd answers at once, with 404.
const findTimeout = time.Second

// askAgain is the pause after a refused connection.
const askAgain = 10 * time.Millisecond

// noticeAfter is the time after which Find reports that it waits. Two processes that are started
// together are both up within it.
const noticeAfter = 500 * time.Millisecond

// Find asks whether a stand-in answers at urls, the client URLs of an etcd. It returns the store
// for which the stand-in stands, or nil if none answers. Find looks for a stand-in only if urls is
// a single loopback URL without TLS, and otherwise returns nil. While the connection is refused,
// Find waits, until ctx ends, because both processes may have been started at once. It calls away
// once if that takes longer than half a second.
func Find(ctx context.Context, urls []string, away func()) *Location {
	if len(urls) != 1 || !mayStandIn(urls[0]) {
		return nil
	}
	told := time.AfterFunc(noticeAfter, away)
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

// mayStandIn reports whether a stand-in may answer at a URL: on a loopback address and without TLS.
func mayStandIn(server string) bool {
	u, err := url.Parse(server)
	return err == nil && u.Scheme == "http" && Loopback(u.Hostname())
}

// Loopback reports whether a host is a loopback address or "localhost", which every machine
// resolves to itself.
func Loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// errOther says that the process that answers is not the stand-in that was found.
var errOther = errors.New("another process answers at the address of the stand-in for etcd")

// Check returns nil if the stand-in at url answers and still stands for p.
func (p *Location) Check(ctx context.Context, url string) error {
	now, err := ask(ctx, url)
	if err == nil && *now != *p {
		err = errOther
	}
	return err
}

// client keeps no connection open after an answer.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// ask returns what the stand-in at url says of its store.
func ask(ctx context.Context, url string) (*Location, error) {
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
	p := new(Location)
	return p, json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(p)
}
