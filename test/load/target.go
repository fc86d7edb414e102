package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// target is a server to be measured.
type target struct {
	name      string
	url       string
	token     string
	pids      []int
	client    *http.Client
	gzip      bool
	kind      *kind
	namespace string   // of the round
	versions  sync.Map // the resourceVersions of the objects by name, if the kind is conditional
}

// parseTarget reads NAME=KUBECONFIG[@PID+PID...].
func parseTarget(spec, protocol string, p plan) (*target, error) {
	name, rest, ok := strings.Cut(spec, "=")
	if !ok {
		return nil, fmt.Errorf("target %q: want NAME=KUBECONFIG[@PID+PID...]", spec)
	}
	path, pids := rest, ""
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		path, pids = rest[:i], rest[i+1:]
	}
	t := &target{name: name, gzip: p.gzip, kind: p.kind}
	for _, pid := range strings.FieldsFunc(pids, func(r rune) bool { return r == '+' }) {
		n, err := strconv.Atoi(pid)
		if err != nil {
			return nil, fmt.Errorf("target %q: %w", spec, err)
		}
		t.pids = append(t.pids, n)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	config, err := t.readKubeconfig(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.client = newClient(config, protocol, p)
	return t, nil
}

// readKubeconfig takes server and credentials from a kubeconfig of one cluster and one user with
// its data inside, such as coracle and kind write them. It reads lines, not YAML.
func (t *target) readKubeconfig(text string) (*tls.Config, error) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			values[strings.TrimPrefix(key, "- ")] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	if t.url = values["server"]; t.url == "" {
		return nil, fmt.Errorf("no server")
	}
	t.url = strings.TrimSuffix(t.url, "/")
	t.token = values["token"]
	config := &tls.Config{InsecureSkipVerify: values["insecure-skip-tls-verify"] == "true"}
	decoded := map[string][]byte{}
	for _, key := range []string{"certificate-authority-data", "client-certificate-data", "client-key-data"} {
		data, err := base64.StdEncoding.DecodeString(values[key])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		decoded[key] = data
	}
	if ca := decoded["certificate-authority-data"]; len(ca) > 0 {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(ca)
	}
	if cert := decoded["client-certificate-data"]; len(cert) > 0 {
		pair, err := tls.X509KeyPair(cert, decoded["client-key-data"])
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func newClient(config *tls.Config, protocol string, p plan) *http.Client {
	transport := &http.Transport{
		TLSClientConfig:     config,
		MaxIdleConnsPerHost: p.clients + p.watchers + 1,
		DisableCompression:  true, // decompressing would be measured, too
		Protocols:           new(http.Protocols),
	}
	transport.Protocols.SetHTTP1(protocol == "1.1")
	transport.Protocols.SetHTTP2(protocol == "2")
	return &http.Client{Transport: transport}
}

// request is one call.
type request struct {
	method, path string
	contentType  string // of body; "" is JSON
	body         []byte
	want         int // status
}

func (t *target) open(ctx context.Context, q request) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, q.method, t.url+q.path, bytes.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	if q.body != nil {
		r.Header.Set("Content-Type", cmp.Or(q.contentType, "application/json"))
	}
	if t.token != "" {
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	if t.gzip {
		r.Header.Set("Accept-Encoding", "gzip")
	}
	return t.client.Do(r)
}

// do makes a call and reads the answer into buf, which it returns grown.
func (t *target) do(ctx context.Context, q request, buf *bytes.Buffer) error {
	resp, err := t.open(ctx, q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	buf.Reset()
	if _, err := buf.ReadFrom(resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != q.want {
		return fmt.Errorf("%s %s: got %s, want %d: %.200s", q.method, q.path, resp.Status, q.want, buf.Bytes())
	}
	return nil
}

// define creates the definition of a custom kind if it is missing. The definition stays for the
// next run.
func (t *target) define(ctx context.Context) error {
	var buf bytes.Buffer
	if t.kind.definition == "" || t.do(ctx, get(definitionsPath+"/"+t.kind.defined), &buf) == nil {
		return nil
	}
	return t.establish(ctx, t.kind.defined, []byte(t.kind.definition), &buf)
}

func (t *target) makeNamespace(ctx context.Context) error {
	t.namespace = "load-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, t.namespace)
	return t.do(ctx, request{method: "POST", path: "/api/v1/namespaces", body: []byte(body), want: http.StatusCreated}, new(bytes.Buffer))
}

// removeNamespace deletes the namespace and ignores errors. It runs after an interrupt, too.
func (t *target) removeNamespace() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, path := range []string{t.objects(), "/api/v1/namespaces/" + t.namespace} {
		if resp, err := t.open(ctx, request{method: "DELETE", path: path}); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
}

// objects returns the path of the objects of the round.
func (t *target) objects() string {
	return t.kind.root + "/namespaces/" + t.namespace + "/" + t.kind.resource
}

// update changes the i-th object to a state.
func (t *target) update(i int, p plan, state string) request {
	body := t.kind.object(i, p.size, state)
	if version, ok := t.versions.Load(objectName(i)); ok {
		body = bytes.Replace(body, []byte(`"metadata":{`), fmt.Appendf(nil, `"metadata":{"resourceVersion":%q,`, version), 1)
	}
	return request{method: "PUT", path: t.object(i), body: body, want: http.StatusOK}
}

// remember keeps the resourceVersion of a written object.
func (t *target) remember(object []byte) {
	if t.kind.conditional {
		t.versions.Store(metaOf(object, "name"), metaOf(object, "resourceVersion"))
	}
}

func (t *target) object(i int) string { return t.objects() + "/" + objectName(i) }
