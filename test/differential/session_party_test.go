package differential

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// party is one of the two servers of a session, as a client sees it, with the values that the
// client has learned from answers since the session began.
type party struct {
	url, token string
	client     *http.Client

	began     uint64              // the revision of the store with which the session began
	versions  map[string][]string // the seen resourceVersions of each object, by key
	uids      map[string][]string // the seen uids of each object, by key
	revisions []uint64            // all seen resourceVersions after began, each once
	pages     map[string]page     // the last page of each list, by the path of the collection
	labels    map[string]string   // by uid or resourceVersion, the text that replaces it in comparisons
	watches   map[int]*watching
}

// page is the position at which a list continues.
type page struct{ token, revision string }

func newParty(t *testing.T, url, token string) *party {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	s := &party{url: url, token: token, client: &http.Client{Transport: transport}}
	s.forget()
	return s
}

// forget makes the side ready for the next session.
func (s *party) forget() {
	for _, w := range s.watches {
		w.stop()
	}
	s.versions, s.uids, s.labels = map[string][]string{}, map[string][]string{}, map[string]string{}
	s.pages, s.watches, s.revisions = map[string]page{}, map[int]*watching{}, nil
}

// reply is the answer of a server to a step, without the parts that are the server's own.
type reply struct {
	Code    int
	Headers map[string][]string
	Body    any
}

// request makes the request of a step.
func (s *party) request(ctx context.Context, st step) *http.Request {
	query := url.Values{}
	for name, value := range st.Query {
		value = s.resolve(value)
		if name == "continue" {
			value = cmp.Or(value, "none") // without a token it would be another list
		}
		if value != "" {
			query.Set(name, value)
		}
	}
	address := s.url + st.Path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var body []byte
	switch b := st.Body.(type) {
	case nil:
	case string:
		body = []byte(s.resolve(b))
	default:
		body = []byte(s.resolve(string(encode(b))))
	}
	r := must1(http.NewRequestWithContext(ctx, st.Method, address, bytes.NewReader(body)))
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("User-Agent", "session")
	for name, value := range map[string]string{"Content-Type": st.Form, "Accept": st.Accept} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	return r
}

// reference finds the parts of a step that stand for a value of earlier answers:
//
//	@{rv KIND/NAMESPACE/NAME n}    the resourceVersion of an object, n versions ago
//	@{uid KIND/NAMESPACE/NAME n}   the uid of an object, n lives ago
//	@{rev n}       the nth newest resourceVersion of all objects
//	@{continue PATH}  the token with which the last list of a collection goes on
var reference = regexp.MustCompile(`@\{(rv|uid|rev|continue) ([^ }]*)(?: (\d+))?\}`)

// resolve replaces references by their values: "" if no answer had the value.
func (s *party) resolve(text string) string {
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		n, _ := strconv.Atoi(m[3])
		switch m[1] {
		case "rv":
			return ago(s.versions[m[2]], n)
		case "uid":
			return ago(s.uids[m[2]], n)
		case "rev":
			n, _ = strconv.Atoi(m[2])
			sorted := slices.Sorted(slices.Values(s.revisions))
			if n >= len(sorted) {
				return ""
			}
			return fmt.Sprint(sorted[len(sorted)-1-n])
		}
		return s.pages[m[2]].token
	})
}

func ago(list []string, n int) string {
	if n >= len(list) {
		return ""
	}
	return list[len(list)-1-n]
}

// send sends a step and returns the answer, settled.
func (s *party) send(t *testing.T, st step) reply {
	t.Helper()
	resp, data := s.exchange(t, st)
	return s.settle(st, resp, data)
}

// exchange sends a step and returns the answer unchanged.
func (s *party) exchange(t *testing.T, st step) (*http.Response, []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	resp, err := s.client.Do(s.request(ctx, st))
	if err != nil {
		t.Fatalf("%s %s: %v", st.Method, st.Path, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", st.Method, st.Path, err)
	}
	return resp, data
}

// settle reads an answer and removes the parts that are the server's own.
func (s *party) settle(st step, resp *http.Response, data []byte) reply {
	r := reply{Code: resp.StatusCode, Headers: settledHeaders(resp.Header)}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/yaml") {
		data = must1(yaml.YAMLToJSON(data))
	}
	var body any
	if err := decode(data, &body); err != nil {
		r.Body = string(data)
		return r
	}
	if obj, ok := body.(map[string]any); ok {
		r.Body = s.settleObject(st, obj)
		return r
	}
	r.Body = body
	return r
}

// settledHeaders are the headers of an answer. A random value is replaced by a constant.
func settledHeaders(h http.Header) map[string][]string {
	out := map[string][]string{}
	for name, values := range h {
		switch name {
		case "Date", "Content-Length": // Date is of the clock, and bodies are compared anyway
			continue
		case "Audit-Id":
			values = []string{"SOME"}
		}
		out[name] = values
	}
	return out
}

// settleObject settles an object, a list, a table or a status.
func (s *party) settleObject(st step, obj map[string]any) any {
	meta, _ := obj["metadata"].(map[string]any)
	items, _ := obj["items"].([]any)
	rows, table := obj["rows"].([]any)
	if _, list := obj["items"]; list || table { // items may be null: an empty list of metadata
		s.settleList(st, obj, meta)
		for _, item := range items {
			s.settleOne(item)
		}
		columns, _ := obj["columnDefinitions"].([]any)
		for _, c := range columns {
			delete(c.(map[string]any), "description") // each server has words of its own
		}
		for _, row := range rows {
			row := row.(map[string]any)
			cells, _ := row["cells"].([]any)
			for i := range cells {
				if text, ok := cells[i].(string); ok && age.MatchString(text) {
					cells[i] = "AGE"
				}
			}
			s.settleOne(row["object"])
			s.settleText(cells)
		}
		return obj
	}
	if obj["kind"] == "Status" {
		if st.Method == http.MethodGet && st.Query["continue"] == "" {
			delete(s.pages, st.Path) // to Kubernetes a token of a list of one namespace means something else in another list
		}
		return s.settleText(obj)
	}
	s.settleOne(obj)
	return obj
}

// age finds a cell with an age.
var age = regexp.MustCompile(`^(\d+[smhd])+$|^<invalid>$`)

// settleList settles the metadata of a list.
func (s *party) settleList(st step, obj, meta map[string]any) {
	if meta == nil {
		return
	}
	collection, _, _ := strings.Cut(st.Path, "?")
	revision, _ := meta["resourceVersion"].(string)
	newest := slices.Max(append(slices.Clone(s.revisions), 0))
	n, _ := strconv.ParseUint(revision, 10, 64)
	before := s.pages[collection]
	token, _ := meta["continue"].(string)
	switch {
	case revision == "":
	case st.Query["continue"] != "":
		meta["resourceVersion"] = fmt.Sprint("that of the page before: ", revision == before.revision)
	case st.Query["resourceVersionMatch"] == "Exact":
		meta["resourceVersion"] = fmt.Sprint("that asked for: ", revision == s.resolve(st.Query["resourceVersion"]))
	case n >= newest:
		meta["resourceVersion"] = "as new as any"
	default:
		meta["resourceVersion"] = "old"
	}
	if token != "" {
		meta["continue"] = "SOME"
	}
	s.pages[collection] = page{token, revision}
}

// settleOne settles one object and remembers its uid and resourceVersion.
func (s *party) settleOne(v any) {
	obj, ok := v.(map[string]any)
	if !ok {
		return
	}
	meta, _ := obj["metadata"].(map[string]any)
	if meta == nil {
		return
	}
	at := keyOf(obj, meta)
	if uid, _ := meta["uid"].(string); uid != "" {
		s.uids[at] = learn(s.uids[at], uid)
		meta["uid"] = s.label("uid", uid)
	}
	if version, _ := meta["resourceVersion"].(string); version != "" {
		s.versions[at] = learn(s.versions[at], version)
		if n, err := strconv.ParseUint(version, 10, 64); err == nil && n > s.began && !slices.Contains(s.revisions, n) {
			s.revisions = append(s.revisions, n)
		}
		meta["resourceVersion"] = s.label("rv", version)
	}
	entries, _ := meta["managedFields"].([]any)
	for _, e := range entries {
		if e := e.(map[string]any); e["time"] != nil {
			e["time"] = "TIME"
		}
	}
	slices.SortFunc(entries, func(a, b any) int { return bytes.Compare(encode(a), encode(b)) }) // servers sort them by time
	for key, value := range obj {
		obj[key] = s.settleText(value)
	}
}

// keyOf names an object in references, as key does.
func keyOf(obj, meta map[string]any) string {
	return textAt(obj, "kind") + "/" + textAt(meta, "namespace") + "/" + textAt(meta, "name")
}

func learn(list []string, s string) []string {
	if !slices.Contains(list, s) {
		list = append(list, s)
	}
	return list
}

// label is the text that replaces a uid or a resourceVersion: its number in the order in which they
// were seen.
func (s *party) label(what, value string) string {
	if s.labels[value] == "" {
		n := 0
		for _, label := range s.labels {
			if strings.HasPrefix(label, what) {
				n++
			}
		}
		s.labels[value] = fmt.Sprint(what, " ", n)
	}
	return s.labels[value]
}

var (
	momentText = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	numberText = regexp.MustCompile(`\b\d{4,}\b`)
	recordText = regexp.MustCompile(`(ResourceVersion in record \(|ResourceVersion in object meta: )(\d+)`)
	randomText = regexp.MustCompile(`(generated-\d+-)[bcdfghjklmnpqrstvwxz2456789]{5}`)
)

// settleText settles all texts in a tree: times, generated names, and the seen uids and
// resourceVersions.
func (s *party) settleText(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			value := s.settleText(v[key])
			if settled := generatedUID.ReplaceAllStringFunc(key, s.known); settled != key { // a uid in a key of managedFields
				delete(v, key)
				key = settled
			}
			v[key] = value
		}
	case []any:
		for i := range v {
			v[i] = s.settleText(v[i])
		}
	case string:
		v = momentText.ReplaceAllString(v, "TIME")
		v = randomText.ReplaceAllString(v, "${1}RANDOM")
		v = recordText.ReplaceAllStringFunc(v, func(text string) string {
			m := recordText.FindStringSubmatch(text)
			return m[1] + s.label("rv", m[2])
		})
		v = generatedUID.ReplaceAllStringFunc(v, func(text string) string { return s.label("uid", text) })
		return numberText.ReplaceAllStringFunc(v, s.known)
	}
	return v
}

// known is the label of a seen uid or resourceVersion; it returns any other text unchanged.
func (s *party) known(text string) string { return cmp.Or(s.labels[text], text) }

// watching is an open watch.
type watching struct {
	stop   func()
	events chan map[string]any // closed when the stream ends
	reply  reply               // the whole answer if it is no stream; otherwise code and headers
}

// watch opens a watch, which ends with stop.
func (s *party) watch(t *testing.T, st step) reply {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	late := time.AfterFunc(time.Minute, cancel)
	resp, err := s.client.Do(s.request(ctx, st))
	if err != nil {
		t.Fatalf("watch %s: %v", st.Path, err)
	}
	w := &watching{events: make(chan map[string]any, 1<<12), stop: func() { late.Stop(); cancel() }}
	if resp.StatusCode != http.StatusOK {
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("watch %s: %v", st.Path, err)
		}
		resp.Body.Close()
		w.stop()
		return s.settle(st, resp, data)
	}
	go func() {
		defer close(w.events)
		defer resp.Body.Close()
		d := json.NewDecoder(bufio.NewReader(resp.Body))
		d.UseNumber()
		for {
			var event map[string]any
			if d.Decode(&event) != nil {
				return
			}
			w.events <- event
		}
	}()
	s.watches[st.Watch] = w
	return reply{Code: resp.StatusCode, Headers: settledHeaders(resp.Header)}
}

// read ends a watch and returns its events, up to the event with the mark or until the server ends
// the watch.
func (s *party) read(st step, mark string) reply {
	w := s.watches[st.Read]
	if w == nil {
		return reply{}
	}
	delete(s.watches, st.Read)
	defer w.stop()
	var list []any
	late := time.After(10 * time.Second)
	for {
		select {
		case event, ok := <-w.events:
			if !ok {
				return reply{Body: append(list, "END")}
			}
			obj, _ := event["object"].(map[string]any)
			if event["type"] == "BOOKMARK" {
				meta, _ := obj["metadata"].(map[string]any)
				if meta["annotations"] == nil { // a bookmark by the clock
					continue
				}
				delete(meta, "resourceVersion")
				// The other fields are those of an empty object of the kind.
				event["object"] = map[string]any{"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": meta}
				list = append(list, event)
				continue
			}
			end := bytes.Contains(encode(obj), []byte(mark))
			event["object"] = s.settleObject(step{}, obj)
			list = append(list, event)
			if end {
				return reply{Body: list}
			}
		case <-late:
			return reply{Body: append(list, "NOTHING MORE")}
		}
	}
}
