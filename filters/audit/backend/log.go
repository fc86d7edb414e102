package backend

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/coracle-project/coracle/filters/audit"
)

// maxPiece is the largest number of bytes in one write of several events. It is less than the
// smallest file that is rotated, 1 MiB, with room for the newline that mends a torn line.
const maxPiece = 1<<20 - 1

// logStore is the store that writes events as lines into a file, or into the standard output.
type logStore struct {
	out    io.Writer
	file   *rotating // what out is; nil: the standard output, which is not closed
	format string

	mu struct {
		sync.Mutex      // held during writes, because lines must not mix
		torn       bool // out ends in the middle of a line
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

// openLog opens the log.
func openLog(c *LogConfig) (*logStore, error) {
	s := &logStore{format: c.Format}
	if c.Path == "-" {
		s.out = os.Stdout
		return s, nil
	}
	f, err := openFile(c.Path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		s.mu.torn, err = endsTorn(f, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	s.file = newRotating(f, info, c)
	s.out = s.file
	return s, nil
}

// openFile opens the file of a log. It makes the file and its folder, which nobody else may read.
func openFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
}

// endsTorn reports whether a file ends in the middle of a line. A device or a pipe does not.
func endsTorn(f *os.File, info os.FileInfo) (bool, error) {
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return false, nil
	}
	var last [1]byte
	_, err := f.ReadAt(last[:], info.Size()-1)
	return last[0] != '\n', err
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
	n, err := s.out.Write(text[from:])
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
func (s *logStore) close(ctx context.Context) {
	if s.file != nil {
		s.file.close(ctx)
	}
}
