// Package audittest plays a session of requests to a server and compares the audit events of the
// server with recorded ones. The events were recorded from a kube-apiserver, which played the same
// session (test/cluster, TestAudit).
//
// Words: a Session is a list of Steps, each a request; it is played at each of the Levels, by users
// and in namespaces of their own, so that the policy records each step at each level. An Event is
// the JSON of an audit event, in which everything that differs from run to run is normalized
// (normalize.go).
//
// Laws: a Session depends on the server alone, not on the time of day or on the machine. An event
// belongs to a step by its audit ID, which the player sends.
//
// Only tests import the package. Not here: the policy, the tokens, the session and the recorded
// events, which are in server/testdata/audit.
//
// Read: audittest.go, play.go, hooks.go, normalize.go, compare.go.
package audittest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Levels are the levels at which a session is played. They name users, groups and namespaces.
var Levels = []string{"none", "metadata", "request", "requestresponse"}

// The files in the directory of a session.
const (
	PolicyFile = "policy.yaml"
	TokenFile  = "tokens.csv" // as --token-auth-file takes it
	EventFile  = "events.jsonl.gz"
	steps      = "session.json"
)

// Session is what is played. In all strings, {level} stands for the level, and {NAME} for a value
// that an earlier step has saved as NAME.
type Session struct {
	// Setup is played once, before the steps, by the user "setup". Each step is repeated until it
	// has the wanted outcome.
	Setup []Step
	// Steps are played in order at each level. All levels are played at the same time.
	Steps []Step
}

// Step is a request with the outcome that every server must give.
type Step struct {
	Name, Method, Path string
	Headers            map[string]string
	Content
	// Token authenticates the request; nil means that of the level's administrator, "" none.
	// Certificate, if set, is the user for whom the request shows a client certificate instead.
	Token       *string
	Certificate string
	Wanted
	// Save names values of the answer that later steps use: paths of fields, by name.
	Save map[string]string
}

// Content is the body of a request. Body is sent as JSON, Text as it is, Base64 decoded. Size makes
// a ConfigMap of about as many bytes. At most one is set.
type Content struct {
	Body         json.RawMessage
	Text, Base64 string
	Size         int
}

// Wanted is what the answer to a step must have: the status code, of which May are further ones,
// for what Coracle answers otherwise than a kube-apiserver. Steps of Setup without a Code may also
// be answered with 200 or 201. They want Until in the answer and Warning in a warning.
type Wanted struct {
	Code           int
	May            []int
	Until, Warning string
}

// Read reads the session in a directory.
func Read(t testing.TB, dir string) *Session {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, steps))
	if err != nil {
		t.Fatal(err)
	}
	s := new(Session)
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		t.Fatalf("%s: %v", steps, err)
	}
	return s
}

// auditID returns the audit ID of the n-th step at a level.
func auditID(n int, level string) string { return fmt.Sprintf("%03d-%s", n+1, level) }

// step returns the step with an audit ID, and the level; ok is false if there is none.
func (s *Session) step(id string) (step *Step, level string, ok bool) {
	number, level, ok := strings.Cut(id, "-")
	var n int
	if _, err := fmt.Sscanf(number, "%03d", &n); err != nil || !ok || n < 1 || n > len(s.Steps) {
		return nil, "", false
	}
	return &s.Steps[n-1], level, slices.Contains(Levels, level)
}
