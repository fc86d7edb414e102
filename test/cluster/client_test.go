package cluster

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// object is a JSON object, with numbers as they are written.
type object = map[string]any

// client sends requests to a server as one user.
type client struct {
	base, token string
	http        *http.Client
}

func newClient(base, token string) *client {
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, // on loopback, with a certificate that the test made
		MaxIdleConnsPerHost: 64, ForceAttemptHTTP2: true,
	}
	return &client{base, token, &http.Client{Transport: transport, Timeout: 60 * time.Second}}
}

// refusal is an answer with an error code.
type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d: %s", r.code, r.text) }

// refusedWith reports whether err is an answer with one of the codes.
func refusedWith(err error, codes ...int) bool {
	var r *refusal
	return errors.As(err, &r) && slices.Contains(codes, r.code)
}

// open sends a request and returns the answer, of which the caller reads and closes the body.
func (c *client) open(method, path, mediaType string, body any) (*http.Response, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequest(method, c.base+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", mediaType)
	return c.http.Do(req)
}

// ask sends a request and returns the object in the answer. Like client-go, it repeats a request
// that is answered with 429: for a while after its start, kube-apiserver answers lists so.
func (c *client) ask(method, path, mediaType string, body any) (object, error) {
	for tries := 0; ; tries++ {
		o, err := c.askOnce(method, path, mediaType, body)
		if tries == 10 || !refusedWith(err, http.StatusTooManyRequests) {
			return o, err
		}
		time.Sleep(time.Second)
	}
}

func (c *client) askOnce(method, path, mediaType string, body any) (object, error) {
	resp, err := c.open(method, path, mediaType, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		return nil, &refusal{resp.StatusCode, strings.TrimSpace(string(data))}
	}
	return decode(data)
}

func (c *client) get(path string) (object, error) { return c.ask(http.MethodGet, path, "", nil) }

func (c *client) create(path string, o object) (object, error) {
	return c.ask(http.MethodPost, path, "application/json", o)
}

func (c *client) put(path string, o object) (object, error) {
	return c.ask(http.MethodPut, path, "application/json", o)
}

func (c *client) patch(path string, change object) (object, error) {
	return c.ask(http.MethodPatch, path, "application/merge-patch+json", change)
}

func (c *client) remove(path string) error {
	_, err := c.ask(http.MethodDelete, path, "application/json", object{"propagationPolicy": "Background"})
	return err
}

// ready returns an error with the reason if the server is not ready.
func (c *client) ready() error {
	resp, err := c.open(http.MethodGet, "/readyz?verbose", "", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = &refusal{resp.StatusCode, string(text)}
	}
	return err
}

func decode(data []byte) (object, error) {
	var o object
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err := d.Decode(&o)
	return o, err
}

// at returns the value at a path of names in an object, or nil.
func at(o any, path ...string) any {
	for _, name := range path {
		m, _ := o.(object)
		o = m[name]
	}
	return o
}

// text returns the string at a path of names in an object, or "".
func text(o any, path ...string) string {
	s, _ := at(o, path...).(string)
	return s
}

// items returns the items of a list.
func items(list object) []object {
	values, _ := list["items"].([]any)
	all := make([]object, len(values))
	for i, v := range values {
		all[i] = v.(object)
	}
	return all
}
