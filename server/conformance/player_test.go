package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The time limits of steps that set none themselves, and the pauses between the requests of a
// wait-until. The pauses grow, because a scenario that waits for something that is not served yet
// waits up to its limit.
const (
	requestTime = 20 * time.Second
	waitTime    = 15 * time.Second
	collectTime = 5 * time.Second
	firstPause  = 20 * time.Millisecond
	lastPause   = 250 * time.Millisecond
)

// scenarioAgent is the User-Agent with which scenarios were recorded. It becomes the field manager
// in managedFields.
const scenarioAgent = "replay/1"

// target is the server under test.
type target struct {
	url    string
	client *http.Client
	tokens map[string]string // user -> bearer token, "" for none
}

// player plays one scenario.
type player struct {
	target  *target
	agent   string // of its requests; "" sends none
	vars    map[string]any
	streams map[string]*stream
	// patience bounds how long each step waits, beside the step's own limit; 0 means no bound.
	patience time.Duration
}

// reply is a whole response.
type reply struct {
	status int
	header http.Header
	data   []byte
}

func newPlayer(t *testing.T, to *target) *player {
	p := &player{target: to, agent: scenarioAgent, streams: map[string]*stream{},
		vars: map[string]any{"id": "q" + strings.ToLower(rand.Text()[:8])}}
	t.Cleanup(func() {
		for _, s := range p.streams {
			s.close()
		}
	})
	return p
}

// prepare creates the namespaces of a scenario, and sets their variables.
func (p *player) prepare(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		name := "ns"
		if i > 0 {
			name = fmt.Sprintf("ns%d", i+1)
		}
		p.vars[name] = name + "-" + p.vars["id"].(string)
		r, err := p.send(t.Context(), &step{Method: "POST", Path: "/api/v1/namespaces", Body: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": p.vars[name]},
		}})
		if err != nil || r.status != http.StatusCreated {
			t.Fatalf("create a namespace: %v, %+v", err, r)
		}
	}
}

// errStop is wrapped by errors after which the later steps of a scenario are pointless.
var errStop = errors.New("the scenario cannot go on")

// play does a step, and returns the differences of its response.
func (p *player) play(ctx context.Context, s *step) ([]string, error) {
	var got *answer
	var err error
	switch s.Type {
	case "":
		var r *reply
		if r, err = p.send(ctx, s); err == nil {
			got, err = p.observe(s, r)
		}
	case waitUntil:
		got, err = p.wait(ctx, s)
	case watchOpen:
		got, err = p.open(ctx, s)
	case watchCollect:
		got, err = p.collect(s)
	default:
		err = fmt.Errorf("unknown step %q", s.Type)
	}
	if got == nil {
		return nil, fmt.Errorf("%w: %w", errStop, err)
	}
	if s.Type == waitUntil && s.Match == "" {
		return nil, err // the step only waits for a condition
	}
	found := compare(s.Expect, got, s.Match)
	if s.Match == matchOK && len(found) > 0 {
		return found, errStop
	}
	return found, err
}

// request makes the request of a step.
func (p *player) request(ctx context.Context, s *step) (*http.Request, error) {
	path, err := p.fill(s.Path)
	if err != nil {
		return nil, err
	}
	var body io.Reader
	if s.Body != nil {
		v, err := p.expand(s.Body)
		if err != nil {
			return nil, err
		}
		text, ok := v.(string)
		if !ok {
			text = compact(v)
		}
		body = strings.NewReader(text)
	}
	method := s.Method
	if method == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, method, p.target.url+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", p.agent)
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	user := s.As
	if user == "" {
		user = "admin"
	}
	if token := p.target.tokens[user]; token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for name, value := range s.Headers {
		value, err := p.fill(value)
		if err != nil {
			return nil, err
		}
		r.Header.Del(name)
		for _, v := range strings.Split(value, "\n") {
			if value != "" {
				r.Header.Add(name, v)
			}
		}
	}
	return r, nil
}

// send sends the request of a step, and reads the whole response.
func (p *player) send(ctx context.Context, s *step) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	r, err := p.request(ctx, s)
	if err != nil {
		return nil, err
	}
	resp, err := p.target.client.Do(r)
	if err != nil {
		return nil, err
	}
	return read(resp)
}

func read(resp *http.Response) (*reply, error) {
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return &reply{status: resp.StatusCode, header: resp.Header, data: data}, err
}

// json decodes the body if it is JSON, even if its Content-Type is plain text.
func (r *reply) json() (any, bool) {
	media, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	isJSON := media == "application/json" || strings.HasSuffix(media, "+json") ||
		media == "text/plain" && strings.HasPrefix(string(r.data), "{")
	if err != nil || !isJSON {
		return nil, false
	}
	v, err := decodeJSON(r.data)
	return v, err == nil
}

// observe takes the captures of a step from a response, and levels the response out. If a capture
// is missing, it returns both the response and an error.
func (p *player) observe(s *step, r *reply) (*answer, error) {
	body, isJSON := r.json()
	var missing []string
	for _, name := range keys(s.Capture) {
		var v any
		var ok bool
		if header, isHeader := strings.CutPrefix(s.Capture[name], "header:"); isHeader {
			v, ok = r.header.Get(header), r.header.Get(header) != ""
		} else {
			v, ok = at(body, s.Capture[name])
		}
		if !ok {
			missing = append(missing, name)
			continue
		}
		p.vars[name] = v
	}
	l := newLeveller(p.vars)
	a := &answer{Status: r.status, Headers: l.headers(r.header)}
	if isJSON && !s.Text {
		a.Body = l.reduced(s, body)
	} else {
		text, err := lines(l.text(string(r.data)), s.Only)
		if err != nil {
			return nil, err
		}
		a.BodyText = text
	}
	if len(missing) > 0 {
		return a, fmt.Errorf("%w: nothing to capture for %s in %.300s", errStop, strings.Join(missing, ", "), r.data)
	}
	return a, nil
}

func (l *leveller) headers(h http.Header) map[string]string {
	out := make(map[string]string, len(h))
	for name, values := range h {
		out[name] = l.header(name, strings.Join(values, "\n"))
	}
	return out
}

// reduced levels a value out, and keeps the parts that the step compares.
func (l *leveller) reduced(s *step, v any) any {
	v = l.value(v)
	for _, p := range s.Ignore {
		v = without(v, segments(p))
	}
	if len(s.Only) > 0 {
		return pick(v, s.Only)
	}
	return v
}

// lines keeps the lines of a text that match one of the patterns, or all lines if there are no
// patterns.
func lines(text string, patterns []string) (string, error) {
	if len(patterns) == 0 {
		return text, nil
	}
	any, err := regexp.Compile("(" + strings.Join(patterns, ")|(") + ")")
	if err != nil {
		return "", err
	}
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if any.MatchString(line) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n"), nil
}

// wait repeats a request until the response meets the step's condition.
func (p *player) wait(ctx context.Context, s *step) (*answer, error) {
	deadline := time.Now().Add(p.timeout(s, waitTime))
	for pause := firstPause; ; pause = min(pause*5/4, lastPause) {
		r, err := p.send(ctx, s)
		if err != nil {
			return nil, err
		}
		body, _ := r.json()
		ok := s.Until.Status == 0 || s.Until.Status == r.status
		if ok && s.Until.Pointer != "" {
			if ok, err = p.holds(s.Until, body); err != nil {
				return nil, err
			}
		}
		if ok {
			return p.observe(s, r)
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("waited in vain; at last: %d %.300s", r.status, r.data)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// holds reports whether v has a value at the condition's pointer, and, if the condition has a
// value, whether the two are equal.
func (p *player) holds(c *condition, v any) (bool, error) {
	pointer, err := p.fill(c.Pointer)
	if err != nil {
		return false, err
	}
	want, err := p.expand(c.Value)
	if err != nil {
		return false, err
	}
	got, ok := at(v, pointer)
	return ok && (want == nil || compact(got) == compact(want)), nil
}

// timeout returns how long a step waits at most. otherwise applies to a step that sets no limit.
func (p *player) timeout(s *step, otherwise time.Duration) time.Duration {
	if s.TimeoutMs != 0 {
		otherwise = time.Duration(s.TimeoutMs) * time.Millisecond
	}
	if p.patience != 0 {
		otherwise = min(otherwise, p.patience)
	}
	return otherwise
}

var variable = regexp.MustCompile(`\$\{(\w+)\}`)

// fill replaces the variables in a text by their values.
func (p *player) fill(text string) (string, error) {
	var missing error
	out := variable.ReplaceAllStringFunc(text, func(name string) string {
		v, ok := p.vars[name[2:len(name)-1]]
		if !ok {
			missing = fmt.Errorf("nothing has captured %s", name)
		}
		return fmt.Sprint(v)
	})
	return out, missing
}

// expand replaces the variables in a JSON value by their values. A string that is one variable and
// nothing else becomes the variable's value, of whatever type.
func (p *player) expand(v any) (any, error) {
	switch v := v.(type) {
	case string:
		if m := variable.FindStringSubmatch(v); m != nil && m[0] == v && p.vars[m[1]] != nil {
			return p.vars[m[1]], nil
		}
		return p.fill(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			e, err := p.expand(v[i])
			if err != nil {
				return nil, err
			}
			out[i] = e
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			key, err := p.fill(k)
			if err != nil {
				return nil, err
			}
			if out[key], err = p.expand(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}
