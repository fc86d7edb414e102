package differential

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/capabilities"

	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
)

// The environment may set: SEED, the seed of all random numbers; COUNT, a factor for the number of
// tries; BODIES, to print whole requests.
var (
	seed    = uint64(time.Now().UnixNano())
	count   = 1.0
	verbose = os.Getenv("BODIES") != ""
)

func TestMain(m *testing.M) {
	etcdproc.Main()
	serveKubernetes()
	flag.Parse()
	watch.DefaultChanSize = 1 << 14 // a fake clientset panics when its watchers cannot keep up
	if s := os.Getenv("SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			fatal("SEED: %v", err)
		}
		seed = n
	}
	if s := os.Getenv("COUNT"); s != "" {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || f <= 0 {
			fatal("COUNT is a factor above 0, not %q", s)
		}
		count = f
	}
	fmt.Printf("SEED=%d COUNT=%g\n", seed, count)
	jsonpatch.AccumulatedCopySizeLimit = 3 << 20 // as kube-apiserver does
	klog.SetLogger(logr.Discard())               // Kubernetes logs errors that random objects cause
	capabilities.Setup(true, 0)
	os.Exit(m.Run())
}

// internal reads an object of theirs: decoded, with defaults, in the internal version.
func internal(t testing.TB, obj map[string]any) runtime.Object {
	t.Helper()
	out, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), encode(obj))
	if err != nil {
		t.Fatalf("Kubernetes cannot read %s: %v", encode(obj), err)
	}
	return out
}

// versioned is an internal object of theirs in a version, as JSON has it.
func versioned(t testing.TB, hub runtime.Object, kind schema.GroupVersionKind) map[string]any {
	t.Helper()
	obj, err := legacyscheme.Scheme.ConvertToVersion(hub, kind.GroupVersion())
	if err != nil {
		t.Fatal(err)
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return tree(obj).(map[string]any)
}

func fatal(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(2)
}

// random returns the random numbers of one subject, which do not depend on other subjects.
func random(subject ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, subject...)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// times is the number of tries of something whose default is n tries.
func times(n int) int { return max(1, int(float64(n)*count)) }
