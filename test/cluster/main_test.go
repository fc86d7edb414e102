package cluster

import (
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
)

// buildDir is the directory of the programs that have been built.
var buildDir string

// coracle, kube136 and kube134 are the programs that serve; all take the flags of kube-apiserver.
const (
	coracle = "coracle/kube-apiserver"
	kube136 = "kube-apiserver"
	kube134 = "kube-apiserver-1.34"
)

func TestMain(m *testing.M) {
	etcdproc.Main()
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	var err error
	if buildDir, err = os.MkdirTemp("", "cluster-"); err != nil {
		log.Print(err)
		return 1
	}
	defer os.RemoveAll(buildDir)
	klog.SetLogger(logr.Discard()) // client-go logs every broken connection, and these tests break connections
	return m.Run()
}

// program says how to build a program: in which module, from which package, and which version
// Kubernetes' own programs give themselves.
type program struct{ module, pkg, version string }

const cmds = "k8s.io/kubernetes/cmd/"

// programs are all programs that the tests run.
var programs = map[string]program{
	coracle:                   {"../..", "./cmd/coracle", ""},
	kube136:                   {".", cmds + "kube-apiserver", "v1.36.3"},
	kube134:                   {"v134", cmds + "kube-apiserver", "v1.34.2"},
	"kube-controller-manager": {".", cmds + "kube-controller-manager", "v1.36.3"},
	"kube-scheduler":          {".", cmds + "kube-scheduler", "v1.36.3"},
	"kwok":                    {"kwok", "sigs.k8s.io/kwok/cmd/kwok", ""},
	"kueue":                   {"kueue", "sigs.k8s.io/kueue/cmd/kueue", ""},
}

// executable returns the file of a program. It builds the program when a test first needs it,
// unless the environment names the file. Tests run one after another.
func executable(t *testing.T, name string) string {
	t.Helper()
	if file := os.Getenv("CORACLE"); file != "" && name == coracle {
		return file
	}
	if folder := os.Getenv("KUBERNETES"); folder != "" && name != coracle {
		return filepath.Join(folder, name)
	}
	file := filepath.Join(buildDir, name)
	if _, err := os.Stat(file); err == nil {
		return file
	}
	p := programs[name]
	flags := "-s -w"
	if p.version != "" {
		flags += " -X k8s.io/component-base/version.gitVersion=" + p.version
	}
	cmd := exec.Command("go", "build", "-ldflags="+flags, "-o", file, p.pkg)
	cmd.Dir = p.module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return file
}
