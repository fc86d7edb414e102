package robust

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"time"
)

// client is one client, with its own connections. It belongs to one goroutine.
type client struct {
	run    *run
	id     int
	http   *http.Client
	rng    *rand.Rand
	writes int
	known  map[string]*Object // the last seen state, by name
}

func newClient(r *run, id int) *client {
	return &client{run: r, id: id, http: newHTTP(id%2 == 0), rng: rand.New(rand.NewPCG(r.seed, uint64(id))), known: map[string]*Object{}}
}

func newHTTP(http2 bool) *http.Client {
	t := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, Protocols: new(http.Protocols)}
	t.Protocols.SetHTTP1(!http2)
	t.Protocols.SetHTTP2(http2)
	return &http.Client{Transport: t}
}

// answer is an object, a list or a Status.
type answer struct {
	Kind     string            `json:"kind"`
	Metadata meta              `json:"metadata"`
	Items    []json.RawMessage `json:"items"`
	Reason   string            `json:"reason"`
	Message  string            `json:"message"`
	Details  struct {
		UID string `json:"uid"`
	} `json:"details"`
}

// request is the request of an operation.
type request struct {
	method, name string
	query        url.Values
	contentType  string
	body         any // to be encoded; nil for none
}

// newRequest makes a request to a server for the objects of the run.
func (r *run) newRequest(ctx context.Context, server int, all bool, q request) *http.Request {
	path := r.subject.root + "/namespaces/" + namespace + "/" + r.subject.resource
	if all {
		path = r.subject.root + "/" + r.subject.resource
	}
	return newRequest(ctx, r.cluster.urls[server]+path, q)
}

// newRequest makes a request for a collection, or for one of its objects.
func newRequest(ctx context.Context, collection string, q request) *http.Request {
	target := collection
	if q.name != "" {
		target += "/" + q.name
	}
	var body io.Reader
	if q.body != nil {
		data, err := json.Marshal(q.body)
		if err != nil {
			panic(err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, q.method, target+"?"+q.query.Encode(), body)
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		req.Header.Set("Content-Type", q.contentType)
	}
	return req
}

// do performs an operation and sets its result. It returns the answer, which is empty if there is
// none, and its bytes.
func (c *client) do(op *Op, q request) (*answer, []byte) {
	op.Client, op.Server = c.id, c.rng.IntN(len(c.run.cluster.urls))
	limit := 30 * time.Second
	if c.id < clients && q.method != "GET" && c.rng.IntN(50) == 0 { // give up, mostly while the server writes
		limit = time.Duration(c.rng.IntN(8000)) * time.Microsecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if op.Call == 0 {
		op.Call = c.run.now()
	}
	code, data, err := exchange(c.http, c.run.newRequest(ctx, op.Server, op.Scope.All, q))
	op.Return = c.run.now()
	a := &answer{}
	if err == nil {
		if err = json.Unmarshal(data, a); err != nil {
			c.run.trouble("an answer is not JSON: %v: %.300q", op, data)
		}
	}
	op.Code, op.Result, op.Error = code, classify(code, a.Reason, err), a.Message
	if err != nil {
		op.Error = err.Error()
	}
	return a, data
}

func exchange(h *http.Client, req *http.Request) (int, []byte, error) {
	resp, err := h.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, data, err
}

func classify(code int, reason string, err error) Result {
	var dial *net.OpError
	switch {
	case errors.As(err, &dial) && dial.Op == "dial":
		return unsent
	case err != nil, code == http.StatusTooManyRequests, code >= 500:
		return inDoubt
	case code < 300:
		return acked
	case code == http.StatusNotFound:
		return notFound
	case reason == "AlreadyExists":
		return exists
	case code == http.StatusConflict:
		return conflict
	case code == http.StatusUnprocessableEntity:
		return invalid
	case code == http.StatusGone:
		return expired
	}
	return refused
}

// keep records an operation that has ended.
func (c *client) keep(op *Op) {
	c.run.keep(op)
	if op.Result == unsent || op.Result == inDoubt {
		time.Sleep(time.Duration(10+c.rng.IntN(30)) * time.Millisecond)
	}
}

// one performs an operation whose answer is one object.
func (c *client) one(op *Op, q request) {
	a, data := c.do(op, q)
	switch {
	case op.Result == notFound:
		delete(c.known, op.Key)
	case op.Result != acked:
	case a.Kind == "Status": // of a deletion
		op.UID = a.Details.UID
	default:
		if op.Object = c.run.decode(data); op.Object != nil {
			c.known[op.Key] = op.Object
			c.run.saw(op.Object.RV)
		}
	}
	c.keep(op)
}
