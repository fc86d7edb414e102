package backend

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/audit"
)

// logTo returns the configuration of a log in a folder that does not exist yet.
func (g *gauges) logTo() Config {
	c := g.config()
	c.Log.Path = filepath.Join(g.t.TempDir(), "logs", "audit.log")
	return c
}

// open returns Backends for c. The test closes them, unless it has closed them itself.
func (g *gauges) open(c Config) *Backends {
	g.t.Helper()
	b, err := New(c)
	if err != nil {
		g.t.Fatal(err)
	}
	return b
}

func TestLogFormats(t *testing.T) {
	for _, format := range formats {
		for _, maxSize := range []int{0, 1} {
			g := newGauges(t)
			c := g.logTo()
			c.Log.Format, c.Log.MaxSize = format, maxSize
			b := g.open(c)
			events := eventsOf("e", 2)
			var want []byte
			for _, e := range events {
				if !b.Process(e) {
					t.Error("the event was not stored")
				}
				if format == FormatJSON {
					want = append(e.AppendJSON(want, false), '\n')
				} else {
					want = append(e.AppendLegacy(want), '\n')
				}
			}
			got, err := os.ReadFile(c.Log.Path) // blocking: it is there before close
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("format %s, max size %d: got %q (%v), want %q", format, maxSize, got, err, want)
			}
			b.Close(t.Context())
		}
	}
}

func TestLogIsPrivate(t *testing.T) {
	g := newGauges(t)
	c := g.logTo()
	g.open(c).Close(t.Context())
	for path, want := range map[string]os.FileMode{c.Log.Path: 0o600, filepath.Dir(c.Log.Path): 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: got %v (%v), want %v", path, info.Mode(), err, want)
		}
	}
}

func TestUnusablePath(t *testing.T) {
	g := newGauges(t)
	c := g.logTo()
	g.open(c).Close(t.Context())
	for path, want := range map[string]string{
		filepath.Dir(c.Log.Path):         "is a directory",
		filepath.Join(c.Log.Path, "log"): "not a directory",
	} {
		c.Log.Path = path
		if _, err := New(c); err == nil || !strings.HasPrefix(err.Error(), "opening the audit log: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("New with path %s: got %v, want %q", path, err, want)
		}
	}
}

func TestStandardOutput(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = write
	defer func() { os.Stdout = stdout }()
	g := newGauges(t)
	c := g.config()
	c.Log.Path = "-"
	b := g.open(c)
	e := eventOf("e")
	b.Process(e)
	b.Close(t.Context())
	if err := write.Close(); err != nil {
		t.Errorf("Close of the backends closed the standard output: %v", err)
	}
	got, _ := io.ReadAll(read)
	if want := string(e.AppendJSON(nil, false)) + "\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFullDevice wants each event to count as an error, with one line in the log, and requests to
// be refused only in the mode blocking-strict.
func TestFullDevice(t *testing.T) {
	for _, maxSize := range []int{0, 100} {
		for _, mode := range modes {
			g := newGauges(t)
			c := g.config()
			c.Log.Path, c.Log.Mode, c.Log.MaxSize, c.Log.MaxBackups, c.Log.MaxAge = "/dev/full", mode, maxSize, 0, 0
			b := g.open(c)
			for i, e := range eventsOf("e", 20) {
				e.Stage = audit.RequestReceived
				if got, want := b.Process(e), mode != ModeBlockingStrict; got != want {
					t.Errorf("mode %s, event %d: got %v, want %v", mode, i, got, want)
				}
			}
			b.Close(t.Context())
			g.want(logName, 20)
			if n := g.lines.FilterField(zapPlugin(logName)).Len(); n < 1 || n > 2 {
				t.Errorf("mode %s: got %d lines in the log, want one, and perhaps one at the end", mode, n)
			}
			told := int64(0)
			for _, line := range g.lines.All() {
				told += line.ContextMap()["events"].(int64)
			}
			if first := g.lines.All()[0].ContextMap()["error"]; told != 20 || !strings.Contains(fmt.Sprint(first), syscall.ENOSPC.Error()) {
				t.Errorf("mode %s: the log tells of %d events and of %v, want 20 and no space", mode, told, first)
			}
		}
	}
}

// patchy is a writer to a disk that is full now and then. A failing write stores a part, at random.
type patchy struct {
	text   bytes.Buffer
	random *rand.Rand
}

func (p *patchy) Write(b []byte) (int, error) {
	if p.random.IntN(3) > 0 {
		return p.text.Write(b)
	}
	n, _ := p.text.Write(b[:p.random.IntN(len(b)+1)])
	return n, syscall.ENOSPC
}

// TestTornLines wants each stored event to be a whole line, once, whatever failed before it, and
// the number of lost events to be right.
func TestTornLines(t *testing.T) {
	for seed := range uint64(200) {
		out := &patchy{random: rand.New(rand.NewPCG(seed, 1))}
		s := &logStore{out: out, format: FormatJSON}
		lost, lines := 0, map[string]int{}
		const batches, size = 20, 5
		for i := range batches {
			events := eventsOf(fmt.Sprint("e", i, "-"), size)
			n, err := s.deliver(t.Context(), events)
			if lost += n; (err != nil) != (n > 0) && n > 0 {
				t.Fatalf("seed %d: %d events are lost, and the error is %v", seed, n, err)
			}
			for _, e := range events {
				lines[string(e.AppendJSON(nil, false))] = 0
			}
		}
		whole := 0
		for line := range strings.Lines(out.text.String()) {
			line = strings.TrimSuffix(line, "\n") // the last line may be torn there
			if _, is := lines[line]; !is {
				continue // a torn line, of an event that is lost
			}
			if lines[line]++; lines[line] > 1 {
				t.Errorf("seed %d: a line is there twice", seed)
			}
			whole++
		}
		if whole != batches*size-lost {
			t.Errorf("seed %d: %d whole lines and %d lost events of %d", seed, whole, lost, batches*size)
		}
	}
}

// TestTornAtStart begins a line of its own behind half a line of an earlier process.
func TestTornAtStart(t *testing.T) {
	for before, want := range map[string]string{"": "", `{"kind":"Ev`: `{"kind":"Ev` + "\n", "{}\n": "{}\n"} {
		g := newGauges(t)
		c := g.logTo()
		g.open(c).Close(t.Context())
		if err := os.WriteFile(c.Log.Path, []byte(before), 0); err != nil {
			t.Fatal(err)
		}
		b := g.open(c)
		e := eventOf("e")
		b.Process(e)
		b.Close(t.Context())
		got, _ := os.ReadFile(c.Log.Path)
		if want += string(e.AppendJSON(nil, false)) + "\n"; string(got) != want {
			t.Errorf("behind %q: got %q, want %q", before, got, want)
		}
	}
}

// sized returns an event whose line has about n bytes.
func sized(id string, n int) *audit.Event {
	e := eventOf(id)
	e.Level = audit.Request
	e.RequestObject = []byte(`"` + strings.Repeat("x", n-len(e.AppendJSON(nil, false))) + `"`)
	return e
}

// TestPieces wants a batch that is larger than a rotated file to be written in pieces, and only
// what is larger by itself to fail.
func TestPieces(t *testing.T) {
	g := newGauges(t)
	c := g.logTo()
	c.Log.MaxSize, c.Log.Mode, c.Log.Batch = 1, ModeBatch, Batch{Buffer: 1000, Size: 64, Wait: time.Minute}
	b := g.open(c)
	var want []string
	for i := range 50 {
		size := 100_000
		if i%10 == 5 {
			size = 1<<20 + i - 25 // MaxSize, a little less, or more
		}
		e := sized(fmt.Sprint("e", i), size)
		if len(e.AppendJSON(nil, false))+1 <= 1<<20 {
			want = append(want, e.AuditID)
		}
		b.Process(e)
	}
	b.Close(t.Context())
	if len(want) == 45 || len(want) == 50 {
		t.Fatalf("%d events fit into a file: the test tests nothing", len(want))
	}
	once(t, idsIn(t, filesIn(t, filepath.Dir(c.Log.Path))...), want)
	g.want(logName, 50-len(want))
}

// rotated is the name of a file that has been rotated, as kube-apiserver names it.
var rotated = regexp.MustCompile(`^audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log$`)

// TestRotation writes from several goroutines, some of them events that fill a file alone, so that
// rotations follow each other as fast as they can.
func TestRotation(t *testing.T) {
	for _, mode := range []string{ModeBlocking, ModeBatch} {
		g := newGauges(t)
		c := g.logTo()
		c.Log.MaxSize, c.Log.MaxBackups, c.Log.MaxAge, c.Log.Mode = 1, 0, 0, mode
		b := g.open(c)
		var writing sync.WaitGroup
		const writers, each = 4, 50
		var want []string
		for i := range writers {
			events := make([]*audit.Event, each)
			for j := range events {
				size := 2000
				if j%10 == 0 {
					size = 600_000
				}
				events[j] = sized(fmt.Sprint(i, "-", j), size)
			}
			want = append(want, idsOf(events)...)
			writing.Go(func() {
				for _, e := range events {
					b.Process(e)
				}
			})
		}
		writing.Wait()
		b.Close(t.Context())
		files := filesIn(t, filepath.Dir(c.Log.Path))
		once(t, idsIn(t, files...), want)
		g.want(logName, 0)
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil || info.Size() > 1<<20 {
				t.Errorf("%s has %d bytes (%v)", file, info.Size(), err)
			}
			if name := filepath.Base(file); name != "audit.log" && !rotated.MatchString(name) {
				t.Errorf("unexpected file %s", name)
			}
		}
		if len(files) < 12 {
			t.Errorf("mode %s: got %d files, the test rotates too little", mode, len(files))
		}
	}
}

// TestOldFiles wants no more than MaxBackups rotated files to be kept, and all to be compressed.
func TestOldFiles(t *testing.T) {
	g := newGauges(t)
	c := g.logTo()
	c.Log.MaxSize, c.Log.MaxBackups, c.Log.Compress = 1, 2, true
	folder := filepath.Dir(c.Log.Path)
	b := g.open(c)
	for i := range 10 {
		b.Process(sized(fmt.Sprint("e", i), 700_000))
	}
	b.Close(t.Context())
	files := filesIn(t, folder)
	if len(files) != 3 || len(slices.DeleteFunc(files, func(f string) bool { return !strings.HasSuffix(f, ".log.gz") })) != 2 {
		t.Fatalf("got %v, want a log and two compressed files", filesIn(t, folder))
	}
	ids := idsIn(t, c.Log.Path)
	for _, file := range filesIn(t, folder) {
		if !strings.HasSuffix(file, ".gz") {
			continue
		}
		plain := filepath.Join(t.TempDir(), "plain")
		if err := os.WriteFile(plain, unzipped(t, file), 0o600); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, idsIn(t, plain)...)
	}
	once(t, ids, []string{"e7", "e8", "e9"})
}
