package envtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// results_test.go runs the suites, collects the results of plain tests and of ginkgo's specs, and
// compares them with the lists of waiting_test.go. TestSuites calls it.

// reportFile is the name of the report that ginkgo writes in the folder of each package.
const reportFile = "coracle-report.json"

// results holds the results of packages by path, without the path of the module.
type results map[string]*result

// result holds the results of one package.
type result struct {
	passed, skipped map[string]bool   // names of tests and specs; one that fails is in neither
	failed          map[string]string // names with the failure messages
	seconds         float64
	ended           bool            // the test program failed, whatever the results of its tests
	said            strings.Builder // all output
}

func (r results) of(path string) *result {
	path = strings.TrimPrefix(path, theirs+"/")
	if r[path] == nil {
		r[path] = &result{passed: map[string]bool{}, skipped: map[string]bool{}, failed: map[string]string{}}
	}
	return r[path]
}

func (p *result) add(name, state, why string) {
	switch state {
	case "pass", "passed":
		p.passed[name] = true
	case "skip", "skipped", "pending":
		p.skipped[name] = true
	default:
		p.failed[name] += why
	}
}

// has reports whether the package has a test or spec called name.
func (p *result) has(name string) bool {
	_, failed := p.failed[name]
	return failed || p.passed[name] || p.skipped[name]
}

// run tests packages and adds the results of their plain tests.
func (r results) run(t *testing.T, dir string, packages []string, args ...string) {
	t.Helper()
	if len(packages) == 0 {
		return
	}
	// The packages run one after the other, because several listen on the same port.
	flags := []string{"test", "-p=1", "-json", "-vet=off", "-count=1", "-timeout=10m", "-skip", strings.Join(slices.Sorted(maps.Keys(apart)), "|")}
	cmd := exec.CommandContext(t.Context(), "go", slices.Concat(flags, packages, args)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	said := map[[2]string]string{} // by package and test
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var e struct {
			Action, Package, ImportPath, Test, Output string
			Elapsed                                   float64
		}
		if err := dec.Decode(&e); err != nil {
			t.Fatal(err)
		}
		if e.Package == "" { // an event of a build
			e.Package, _, _ = strings.Cut(e.ImportPath, " ")
		}
		p, key := r.of(e.Package), [2]string{e.Package, e.Test}
		switch e.Action {
		case "output", "build-output":
			said[key] += e.Output
			p.said.WriteString(e.Output)
		case "pass", "fail", "skip":
			switch {
			case e.Test == "":
				p.seconds, p.ended = e.Elapsed, e.Action == "fail"
			case !strings.Contains(said[key], " Specs in "): // otherwise it ran specs, which the report has
				p.add(e.Test, e.Action, said[key])
			}
		}
	}
}

// readReports adds the results of specs from ginkgo's reports.
func (r results) readReports(t *testing.T, dir string) {
	t.Helper()
	for path, p := range r {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path), reportFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var suites []struct {
			SpecReports []struct {
				ContainerHierarchyTexts           []string
				LeafNodeType, LeafNodeText, State string
				Failure                           struct{ Message string }
			}
		}
		if err == nil {
			err = json.Unmarshal(text, &suites)
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, suite := range suites {
			for _, s := range suite.SpecReports {
				name := strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " ")
				if s.LeafNodeType != "It" {
					if s.State == "passed" {
						continue // setup or teardown of a suite
					}
					name = s.LeafNodeType + " " + name
				}
				p.add(strings.Join(strings.Fields(name), " "), s.State, s.Failure.Message)
			}
		}
	}
}

// judge compares the results with the lists of waiting_test.go and prints a table. If complete is
// true, all suites were run, so a listed test that does not exist is an error.
func (r results) judge(t *testing.T, complete bool) {
	t.Helper()
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "passed\tfailed\twaiting\tskipped\tseconds\t")
	for _, path := range slices.Sorted(maps.Keys(r)) {
		p := r[path]
		waits := 0
		for _, name := range slices.Sorted(maps.Keys(p.failed)) {
			full := path + ": " + name
			switch {
			case waiting[full] != "":
				waits++
			case raced(full) != "":
				t.Logf("%s failed, as it does at times: %s", full, raced(full))
			default:
				t.Errorf("%s failed:\n%s", full, p.failed[name])
			}
			delete(p.passed, name) // two specs may have the same name
		}
		for name := range p.passed {
			if what := waiting[path+": "+name]; what != "" {
				t.Errorf("%s: %s passes, so it does not wait for %s: remove it from the list", path, name, what)
			}
		}
		if p.ended && len(p.failed) == 0 {
			t.Errorf("%s failed, and none of its tests did:\n%s", path, p.said.String())
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%.1f\t %s\n", len(p.passed), len(p.failed)-waits, waits, len(p.skipped), p.seconds, path)
	}
	w.Flush()
	t.Logf("%s@%s\n%s", theirs, version, table.String())
	if !complete {
		return
	}
	for full := range waiting {
		path, name, _ := strings.Cut(full, ": ")
		if p := r[path]; p == nil || !p.has(name) {
			t.Errorf("%s is listed, and there is no such test", full)
		}
	}
}

// raced returns the reason why a test fails at times, "" if it is not in races.
func raced(full string) string {
	for pattern, why := range races {
		if regexp.MustCompile(pattern).MatchString(full) {
			return why
		}
	}
	return ""
}
