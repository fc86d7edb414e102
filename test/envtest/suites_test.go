package envtest

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The module whose suites are run. test/interop is built with the same version.
const (
	theirs  = "sigs.k8s.io/controller-runtime"
	version = "v0.24.1"
	sum     = "h1:miPEwrmirImAvgME1L9qebGHrOnGJoVmVdtOU9fRfo4="
)

// starters are the packages of controller-runtime that start servers. The tests of a package start
// servers if they import one of these.
var starters = []string{theirs + "/pkg/envtest", theirs + "/pkg/internal/testing/controlplane"}

func TestSuites(t *testing.T) {
	source, assets := fetch(t), layOut(t)
	clean(t)
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	t.Setenv("USE_EXISTING_CLUSTER", "")
	wanted := strings.Fields(os.Getenv("SUITES"))
	if len(wanted) == 0 {
		wanted = []string{"./pkg/..."}
	}
	specs, plain := packages(t, source, wanted)
	found := results{}
	found.run(t, source, plain)
	found.run(t, source, specs, "-args", "--ginkgo.json-report="+reportFile)
	found.readReports(t, source)
	found.judge(t, len(os.Getenv("SUITES")) == 0)
}

// command runs a program in a folder and returns its output.
func command(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, said.Bytes())
	}
	return out
}

// fetch copies the module to a folder in which its tests can write. A workspace gives it the
// dependencies that test/interop has, so that those are not compiled twice.
func fetch(t *testing.T) string {
	t.Helper()
	var module struct{ Dir, Sum string }
	if err := json.Unmarshal(command(t, ".", "go", "mod", "download", "-json", theirs+"@"+version), &module); err != nil {
		t.Fatal(err)
	}
	if module.Sum != sum {
		t.Fatalf("%s@%s has the sum %s, want %s", theirs, version, module.Sum, sum)
	}
	dir := filepath.Join(t.TempDir(), "controller-runtime")
	if err := os.CopyFS(dir, os.DirFS(module.Dir)); err != nil {
		t.Fatal(err)
	}
	// The files of the module cache are read-only and never executable.
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() || filepath.Ext(path) == ".sh":
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	command(t, filepath.Dir(dir), "go", "work", "init", dir, absolute(t, "../interop"), absolute(t, "../.."))
	return dir
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// layOut returns a folder with the programs kube-apiserver, etcd and kubectl.
func layOut(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("ASSETS"); dir != "" {
		return absolute(t, dir)
	}
	dir := t.TempDir()
	program, assets := filepath.Join(dir, "coracle"), filepath.Join(dir, "assets")
	command(t, filepath.Join("..", ".."), "go", "build", "-o", program, "./cmd/coracle")
	command(t, ".", program, "envtest", assets)
	return assets
}

// clean gives the suites a folder for temporary files. At the end of the test it kills the programs
// whose command line names that folder, because some suites leave programs behind.
func clean(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // none on systems without /proc
		for _, name := range lines {
			line, err := os.ReadFile(name)
			pid, pidErr := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err != nil || pidErr != nil || !bytes.Contains(line, []byte(dir)) {
				continue
			}
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill() // fails if the process has ended
			}
		}
	})
}

// packages returns the wanted packages whose tests start a server: those with specs, which ginkgo
// runs, and those with plain tests only.
func packages(t *testing.T, dir string, wanted []string) (specs, plain []string) {
	t.Helper()
	out := command(t, dir, "go", append([]string{"list", "-json=ImportPath,TestImports,XTestImports"}, wanted...)...)
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p struct {
			ImportPath                string
			TestImports, XTestImports []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		imports := append(p.TestImports, p.XTestImports...)
		starts := func(path string) bool { return slices.Contains(imports, path) || p.ImportPath == path }
		switch {
		case !slices.ContainsFunc(starters, starts):
		case slices.Contains(imports, "github.com/onsi/ginkgo/v2"):
			specs = append(specs, p.ImportPath)
		default:
			plain = append(plain, p.ImportPath)
		}
	}
	return specs, plain
}
