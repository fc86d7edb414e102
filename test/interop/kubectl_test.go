package interop

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the sessions in testdata with what kubectl prints now")

// TestKubectl replays the sessions in testdata/kubectl, each against a server of its own.
//
// A session is a text as in a terminal. Lines that begin with "$ " are commands for sh,
// here-documents included; their output follows, with standard error; "(exit N)" ends the output of
// a command that fails. Lines that begin with "# " are remarks. The function level replaces the
// parts that differ from run to run. A first line "#! coracle serve FLAGS" gives flags to the
// server.
func TestKubectl(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "kubectl", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			replay(t, file)
		})
	}
}

// TestReadme wants the terminal session in README.md to be the one that TestKubectl replays,
// without its remarks and exit codes.
func TestReadme(t *testing.T) {
	session, err := os.ReadFile(filepath.Join("testdata", "kubectl", "readme.txt"))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`(?m)^(# .*|\(exit \d+\))\n`).ReplaceAllString(string(session), "")
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(readme), -1) {
		if block[1] != want {
			t.Errorf("README.md shows:\n%s\nwant, as it is replayed:\n%s", block[1], want)
		}
	}
}

// serve begins the line of a session that has the flags of its server.
const serve = "#! coracle serve "

// step is a command of a session, with the remarks before it and its output.
type step struct {
	remarks string // lines before the command
	command string // without "$ "
	output  string
	line    int // of the command, from 1
}

func replay(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"--controllers=*"}
	if first, _, _ := strings.Cut(string(text), "\n"); strings.HasPrefix(first, serve) {
		flags = strings.Fields(first[len(serve):])
	}
	play(t, newShell(t, newServer(t, flags...)), file)
}

// play replays a session in a shell.
func play(t *testing.T, shell *shell, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var written strings.Builder
	session := string(text)
	if first, rest, _ := strings.Cut(session, "\n"); strings.HasPrefix(first, serve) {
		session = "\n" + rest // keeps the line numbers
		written.WriteString(first + "\n")
	}
	steps, err := parseSession(session)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, s := range steps {
		got := shell.run(t, s.command)
		fmt.Fprintf(&written, "%s$ %s\n", s.remarks, s.command)
		if got != "" {
			written.WriteString(got + "\n")
		}
		written.WriteString("\n")
		if got != s.output && !*update {
			t.Errorf("%s:%d: $ %s\ngot:\n%s\nwant:\n%s", file, s.line, s.command, got, s.output)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimRight(written.String(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var heredoc = regexp.MustCompile(`<<'?(\w+)'?`)

func parseSession(text string) ([]step, error) {
	var steps []step
	var remarks, output strings.Builder
	flush := func() {
		if len(steps) > 0 {
			steps[len(steps)-1].output = strings.TrimRight(output.String(), "\n")
		}
		output.Reset()
	}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "# "):
			flush()
			remarks.WriteString(line + "\n")
		case strings.HasPrefix(line, "$ "):
			if remarks.Len() == 0 {
				flush()
			}
			s := step{remarks: remarks.String(), command: line[2:], line: i + 1}
			remarks.Reset()
			if m := heredoc.FindStringSubmatch(line); m != nil {
				for {
					if i++; i == len(lines) {
						return nil, fmt.Errorf("line %d: no %s follows", s.line, m[1])
					}
					s.command += "\n" + lines[i]
					if lines[i] == m[1] {
						break
					}
				}
			}
			steps = append(steps, s)
			output.Reset()
		case remarks.Len() > 0:
			if line == "" {
				remarks.WriteString("\n")
				continue
			}
			return nil, fmt.Errorf("line %d: output without a command", i+1)
		default:
			output.WriteString(line + "\n")
		}
	}
	flush()
	return steps, nil
}

// shell runs commands in a directory of its own, with kubectl in the path.
type shell struct {
	dir   string
	env   []string
	level *strings.Replacer
}

// scripts are further commands of sessions, so that these need not sleep.
var scripts = map[string]string{
	// await CMD... repeats a command until it succeeds.
	"await": `for i in $(seq 200); do "$@" > /dev/null 2>&1 && exit; sleep 0.1; done; echo "await $*: gave up"; exit 1`,
	// watched waits until a watch is open, unwatch PID ends it and waits until none is.
	"watched": `await watches '[1-9]'`,
	"unwatch": `kill $1; await watches 0`,
	"watches": `kubectl get --raw /metrics | grep -q '^apiserver_longrunning_requests{.*resource="configmaps".*} '"$1"`,
	// ageless replaces the ages that level does not find, and the blanks between columns, whose
	// widths depend on ages.
	"ageless": `sed -E -e 's/\b([0-9]+y)?[0-9]+[ds]\b/AGE/g' -e 's/  +/  /g'`,
}

// examples is the directory with one object of every kind; sessions call it KINDS.
const examples = "../../server/testdata/kinds"

// commandLimit bounds a command of a session.
const commandLimit = time.Minute

func newShell(t *testing.T, s *server) *shell {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{"bin", "work"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(programs.kubectl, filepath.Join(dir, "bin", "kubectl")); err != nil {
		t.Fatal(err)
	}
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	kinds, err := filepath.Abs(examples)
	if err != nil {
		t.Fatal(err)
	}
	return &shell{
		dir: filepath.Join(dir, "work"),
		env: []string{
			"GOGC=400", // kubectl ends before its garbage matters
			"PATH=" + filepath.Join(dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
			"HOME=" + dir, "KUBECONFIG=" + s.kubeconfig(), "TMPDIR=" + dir, "TZ=UTC", "LANG=C", "TERM=dumb", "KINDS=" + kinds,
		},
		level: strings.NewReplacer(kinds, "KINDS", s.url(), "SERVER", strings.TrimPrefix(s.url(), "https://"), "SERVER", dir, "DIR"),
	}
}

// run returns the output of a command, after level.
func (s *shell) run(t *testing.T, command string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = s.dir, s.env
	cmd.WaitDelay = time.Second // for processes that a command leaves in the background
	out, err := cmd.CombinedOutput()
	text := strings.TrimRight(level(s.level.Replace(string(out))), "\n")
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		text += fmt.Sprintf("\n(exit %d)", exit.ExitCode())
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		t.Fatalf("$ %s: %v", command, err)
	}
	return strings.TrimPrefix(text, "\n")
}

// volatile finds the parts that differ from run to run, with their replacements.
var volatile = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`(resourceVersion"?): "\d+"`), `$1: "RV"`},
	{regexp.MustCompile(`X509SHA256=[0-9a-f]{64}`), "X509SHA256=HASH"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000`), "TIME"},
	{regexp.MustCompile(`(Resource Version): +\d+`), "$1: RV"},
	{regexp.MustCompile(`\d+s \(x(\d+) over \d+s\)`), "AGE (x$1 over AGE)"},
	{regexp.MustCompile(`kubectl-edit-\d+`), "kubectl-edit-N"},
	// Addresses and ports that the server has chosen: all but those at the beginning of its ranges.
	// They are not wider than the heads of their columns.
	{regexp.MustCompile(`10\.0\.0\.(1[7-9]|[2-9]\d)    `), "10.0.0.NNN   "},
	{regexp.MustCompile(`10\.0\.0\.(1[7-9]|[2-9]\d|[12]\d\d)\b`), "10.0.0.NNN"},
	{regexp.MustCompile(`\b3(00(8[6-9]|9\d)|0[1-9]\d\d|[12]\d{3})/(TCP|UDP)`), "3NNNN/$3"},
	{regexp.MustCompile(`(?m)^E\d{4} .*reflector\.go.*\n`), ""}, // kubectl ended a watch while it was opening
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
}

// age is a short age as a cell of a table, with the blanks that pad it.
var age = regexp.MustCompile(`(?m)(^|  )(\d{1,3}s|<invalid>)( +|$)`)

// level replaces the parts that differ from run to run. Columns keep their widths.
func level(text string) string {
	for _, v := range volatile {
		text = v.pattern.ReplaceAllString(text, v.by)
	}
	return age.ReplaceAllStringFunc(text, func(cell string) string {
		bare := strings.TrimSpace(cell)
		if strings.HasSuffix(cell, " ") {
			return strings.Replace(cell, bare+strings.Repeat(" ", max(0, len("AGE")-len(bare))), "AGE", 1)
		}
		return strings.Replace(cell, bare, "AGE", 1)
	})
}
