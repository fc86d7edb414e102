package audittest

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
)

// Target is the server to which a session is played. It knows the tokens of TokenFile and trusts CA
// for client certificates.
type Target struct {
	URL string // without a slash at the end
	CA  *pkitest.Authority
}

// patience bounds how long a step of Setup is repeated.
const patience = 60 * time.Second

// Play plays the session. An outcome other than the wanted one fails the test.
func (s *Session) Play(t testing.TB, target Target) {
	t.Helper()
	hooks := newHooks(t)
	defer hooks.Close()
	setup := newPlayer(t, target, "none", hooks)
	defer setup.client.CloseIdleConnections()
	token := "token-of-setup"
	for i := range s.Setup {
		s.Setup[i].Token = &token
		setup.prepare(&s.Setup[i])
	}
	var wg sync.WaitGroup
	for _, level := range Levels {
		wg.Go(func() { // ends after the last step
			p := newPlayer(t, target, level, hooks)
			defer p.client.CloseIdleConnections()
			for n := range s.Steps {
				p.play(&s.Steps[n], auditID(n, level))
			}
		})
	}
	wg.Wait()
}

// player plays steps at one level.
type player struct {
	t      testing.TB
	target Target
	level  string
	saved  []string // pairs of "{NAME}" and the value
	client *http.Client
}

func newPlayer(t testing.TB, target Target, level string, hooks *hookServer) *player {
	p := &player{t: t, target: target, level: level, client: newClient()}
	p.saved = []string{"{level}", level, "{hooks}", hooks.URL, "{hooksCA}", hooks.bundle(), "{closed}", closed}
	return p
}

// newClient returns a client that shows certificates to the server.
func newClient(certificates ...tls.Certificate) *http.Client {
	return &http.Client{Timeout: patience, Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, Certificates: certificates},
		ForceAttemptHTTP2: true, DisableCompression: true,
	}}
}

// answer is what a step is answered with.
type answer struct {
	code     int
	warnings []string
	body     []byte
}

func (a *answer) String() string {
	return fmt.Sprintf("%d %.1000s (warnings %q)", a.code, a.body, a.warnings)
}

// prepare repeats a step of Setup until it has the wanted outcome.
func (p *player) prepare(step *Step) {
	p.t.Helper()
	accepted := append([]int{http.StatusOK, http.StatusCreated}, step.May...)
	if step.Code != 0 {
		accepted = []int{step.Code}
	}
	var a *answer
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var err error
		if a, err = p.send(p.client, step, ""); err != nil {
			p.t.Fatalf("setup: %s: %v", step.Name, err)
		}
		if slices.Contains(accepted, a.code) && bytes.Contains(a.body, []byte(step.Until)) &&
			strings.Contains(strings.Join(a.warnings, "\n"), step.Warning) {
			return
		}
	}
	p.t.Fatalf("setup: %s: after %v: got %v", step.Name, patience, a)
}

// play sends a step with an audit ID and checks the outcome.
func (p *player) play(step *Step, id string) {
	client := p.client
	if step.Certificate != "" {
		shown := p.target.CA.Client(p.fill(step.Certificate), p.level).TLS()
		client = newClient(shown)
		defer client.CloseIdleConnections()
	}
	a, err := p.send(client, step, id)
	if err != nil {
		p.t.Errorf("%s (%s): %v", id, step.Name, err)
		return
	}
	if a.code != step.Code && !slices.Contains(step.May, a.code) {
		p.t.Errorf("%s (%s): got %v, want %d", id, step.Name, a, step.Code)
	}
	for name, path := range step.Save {
		var value any
		if err := json.Unmarshal(a.body, &value); err != nil {
			p.t.Errorf("%s (%s): %v", id, step.Name, err)
		}
		for field := range strings.SplitSeq(path, ".") {
			m, _ := value.(map[string]any)
			value = m[field]
		}
		p.saved = append(p.saved, "{"+name+"}", fmt.Sprint(value))
	}
}

// fill replaces names in braces by what they stand for.
func (p *player) fill(text string) string { return strings.NewReplacer(p.saved...).Replace(text) }

// body returns the body of a step and the Content-Type that it has by default.
func (p *player) body(step *Step) (body []byte, contentType string) {
	switch {
	case step.Body != nil:
		return []byte(p.fill(string(step.Body))), "application/json"
	case step.Text != "":
		return []byte(p.fill(step.Text)), "application/json"
	case step.Base64 != "":
		data, err := base64.StdEncoding.DecodeString(step.Base64)
		if err != nil {
			p.t.Errorf("%s: %v", step.Name, err)
		}
		return data, "application/json"
	case step.Size > 0:
		large := strings.Repeat("x", step.Size)
		return fmt.Appendf(nil, `{"metadata":{"name":"large"},"data":{"k":%q}}`, large), "application/json"
	}
	return nil, ""
}

// send sends a step and reads the whole answer.
func (p *player) send(client *http.Client, step *Step, id string) (*answer, error) {
	body, contentType := p.body(step)
	req, err := http.NewRequest(step.Method, p.target.URL+p.fill(step.Path), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	set := func(name, value string) {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	req.Header.Set("User-Agent", "session/1")
	set("Accept", "application/json")
	set("Content-Type", contentType)
	set("Audit-ID", id)
	switch {
	case step.Certificate != "":
	case step.Token == nil:
		set("Authorization", "Bearer token-of-"+p.level+"-admin")
	case *step.Token != "":
		set("Authorization", "Bearer "+p.fill(*step.Token))
	}
	for name, value := range step.Headers {
		req.Header.Set(name, p.fill(value)) // "" leaves User-Agent out
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &answer{code: resp.StatusCode, warnings: resp.Header.Values("Warning")}
	a.body, err = io.ReadAll(resp.Body)
	return a, err
}
