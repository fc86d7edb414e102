package backend

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gopkg.in/natefinch/lumberjack.v2"

	"github.com/coracle-project/coracle/filters/audit"
)

// maxPiece is the largest number of bytes in one write of several events. It is less than the
// smallest file that is rotated, 1 MiB, with room for the newline that mends a torn line.
const maxPiece = 1<<20 - 1

// logStore is the store that writes events as lines into a file, or into the standard output.
//
// lumberjack rotates the file, as in kube-apiserver: when a write would make the file larger than
// MaxSize, the file is renamed to NAME-TIME.EXT, and a goroutine of lumberjack compresses and
// removes old files. That goroutine never ends.
type logStore struct {
	out    io.Writer
	closer io.Closer // nil: out is not closed
	format string
	max    int64 // size of a file in bytes, at which it is rotated; 0: never

	mu struct {
		sync.Mutex           // held during writes, because lines must not mix
		torn       bool      // out ends in the middle of a line
		size       int64     // of the file, in bytes
		rotated    time.Time // when the write that rotated the file last had ended
	}
}

// lines are encoded events. They begin with a newline, which is written only if the line before is
// torn.
type lines struct {
	text []byte
	ends []int // of the events in text
}

// spareLines has lines for the next delivery.
var spareLines = sync.Pool{New: func() any { return &lines{text: []byte{'\n'}} }}

// openLog opens the log. It makes the file and its folder, which nobody else may read.
func openLog(c *LogConfig) (*logStore, error) {
	s := &logStore{format: c.Format}
	if c.Path == "-" {
		s.out = os.Stdout
		return s, nil
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(c.Path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if s.mu.size, s.mu.torn, err = lookAt(f); err != nil {
		f.Close()
		return nil, err
	}
	if c.MaxSize == 0 {
		s.out, s.closer = f, f
		return s, nil
	}
	rotating := &lumberjack.Logger{
		Filename: c.Path, MaxSize: c.MaxSize, MaxAge: c.MaxAge, MaxBackups: c.MaxBackups, Compress: c.Compress,
	}
	s.out, s.closer, s.max = rotating, rotating, int64(c.MaxSize)<<20
	return s, f.Close()
}

// lookAt returns the size of a file, and whether it ends in the middle of a line. A device or a
// pipe has no size.
func lookAt(f *os.File) (size int64, torn bool, err error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return 0, false, err
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return info.Size(), last[0] != '\n', err
}

// deliver implements store.
func (s *logStore) deliver(_ context.Context, events []*audit.Event) (lost int, err error) {
	l := spareLines.Get().(*lines)
	defer l.giveBack()
	flush := func(end int) {
		if n, failure := s.write(l.text[:end], l.ends); failure != nil {
			lost, err = lost+n, failure
		}
	}
	for _, e := range events {
		begin := len(l.text)
		l.text = append(s.encode(l.text, e), '\n')
		if len(l.text) > maxPiece && len(l.ends) > 0 {
			flush(begin)
			l.text, l.ends = append(l.text[:1], l.text[begin:]...), l.ends[:0]
		}
		l.ends = append(l.ends, len(l.text))
	}
	flush(len(l.text))
	return lost, err
}

// encode appends an event in the format of the log.
func (s *logStore) encode(text []byte, e *audit.Event) []byte {
	if s.format == FormatLegacy {
		return e.AppendLegacy(text)
	}
	return e.AppendJSON(text, false)
}

// giveBack keeps the memory of l for the next delivery, unless one large event made it large.
func (l *lines) giveBack() {
	if cap(l.text) <= 2*maxPiece {
		l.text, l.ends = l.text[:1], l.ends[:0]
		spareLines.Put(l)
	}
}

// rotationPause is the shortest time between two rotations. The name of a rotated file tells the
// time in milliseconds. Of two files with the same name, lumberjack would keep only the second.
const rotationPause = 2 * time.Millisecond

// write writes the text of lines, whose events end at ends. After a failure it returns how many
// events are not completely in the file. An event of which only the newline is missing is in the
// file, because the next write adds the newline.
func (s *logStore) write(text []byte, ends []int) (lost int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := 1
	if s.mu.torn {
		from = 0
	}
	// lumberjack decides in the same way.
	rotates := s.max > 0 && s.mu.size+int64(len(text)-from) > s.max
	if rotates {
		time.Sleep(rotationPause - time.Since(s.mu.rotated))
	}
	n, err := s.out.Write(text[from:])
	if rotates {
		s.mu.rotated = time.Now()
	}
	if rotates && n > 0 {
		s.mu.size = 0
	}
	s.mu.size += int64(n)
	if n > 0 {
		s.mu.torn = text[from+n-1] != '\n'
	}
	if err == nil {
		return 0, nil
	}
	for _, end := range ends {
		if end-1 > from+n {
			lost++
		}
	}
	return lost, err
}

// close implements store.
func (s *logStore) close() {
	if s.closer != nil {
		_ = s.closer.Close() // every write has been reported already
	}
}
