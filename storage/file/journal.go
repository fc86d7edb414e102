package file

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// note is one line of the journal: what became of a key at a revision. The layout is in docs/format-file.md.
type note struct {
	rev     storage.Revision
	key     string
	hash    uint64 // of the file's content
	ends    time.Time
	deleted bool
}

// journalState is what the lines of a journal add up to.
type journalState struct {
	rev  storage.Revision
	keys map[string]note
}

// journal is the open file. It is used by one goroutine at a time.
type journal struct {
	path  string
	file  *os.File
	sync  bool
	lines int // in the file
	live  int // of them still telling something, at the last rewrite
	err   error
}

// sum is the hash by which a file's content is known again. It guards against nothing but accident.
func sum(content []byte) uint64 {
	h := fnv.New64a()
	h.Write(content)
	return h.Sum64()
}

// append adds the line to buf.
func (n note) append(buf []byte) []byte {
	start := len(buf)
	buf = append(buf, "00000000 "...)
	buf = strconv.AppendUint(buf, uint64(n.rev), 10)
	switch {
	case n.deleted:
		buf = append(buf, " del"...)
	default:
		buf = fmt.Appendf(buf, " put %016x", n.hash)
		if !n.ends.IsZero() {
			buf = fmt.Appendf(buf, " %d", n.ends.UnixMilli())
		}
	}
	buf = append(buf, ' ')
	buf = strconv.AppendQuote(buf, n.key)
	copy(buf[start:], fmt.Sprintf("%08x", crc32.ChecksumIEEE(buf[start+9:])))
	return append(buf, '\n')
}

var errLine = errors.New("damaged line")

// parseNote reads a line without its end.
func parseNote(line string) (note, error) {
	check, rest, ok := strings.Cut(line, " ")
	if want, err := strconv.ParseUint(check, 16, 32); !ok || err != nil || len(check) != 8 || uint32(want) != crc32.ChecksumIEEE([]byte(rest)) {
		return note{}, errLine
	}
	quote := strings.IndexByte(rest, '"')
	if quote < 0 {
		return note{}, errLine
	}
	key, err := strconv.Unquote(rest[quote:])
	if err != nil {
		return note{}, errLine
	}
	f := strings.Fields(rest[:quote])
	if len(f) < 2 {
		return note{}, errLine
	}
	n := note{key: key, deleted: f[1] == "del"}
	rev, err := strconv.ParseUint(f[0], 10, 64)
	if err != nil || (f[1] == "put") == n.deleted {
		return note{}, errLine
	}
	n.rev = storage.Revision(rev)
	if n.deleted {
		return n, nil
	}
	if len(f) < 3 {
		return note{}, errLine
	}
	if n.hash, err = strconv.ParseUint(f[2], 16, 64); err != nil {
		return note{}, errLine
	}
	if len(f) > 3 {
		ms, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil {
			return note{}, errLine
		}
		n.ends = time.UnixMilli(ms)
	}
	return n, nil
}

// readJournal adds up the lines. It ends at the first damaged one, which is how a crash leaves the last; good is the
// number of bytes before it.
func readJournal(r io.Reader) (state journalState, lines int, good int64, err error) {
	state.keys = map[string]note{}
	b := bufio.NewReader(r)
	for {
		line, err := b.ReadString('\n')
		if err == io.EOF {
			return state, lines, good, nil
		}
		if err != nil {
			return state, lines, good, err
		}
		n, err := parseNote(line[:len(line)-1])
		if err != nil {
			return state, lines, good, nil
		}
		good += int64(len(line))
		lines++
		state.rev = max(state.rev, n.rev)
		if n.deleted {
			delete(state.keys, n.key)
		} else {
			state.keys[n.key] = n
		}
	}
}

// openJournal reads the journal at path and opens it for more. A missing one is empty.
func openJournal(path string, sync bool) (*journal, journalState, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, journalState{}, err
	}
	state, lines, good, err := readJournal(f)
	if err == nil {
		err = f.Truncate(good)
	}
	if err == nil {
		_, err = f.Seek(good, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, journalState{}, err
	}
	return &journal{path: path, file: f, sync: sync, lines: lines, live: len(state.keys)}, state, nil
}

// add appends a line. After a failure the end of the file is unknown, so the journal takes no more until it is mended.
func (j *journal) add(n note) error {
	if j.err != nil {
		return j.err
	}
	_, err := j.file.Write(n.append(nil))
	if err == nil && j.sync {
		err = j.file.Sync()
	}
	if err != nil {
		j.err = fmt.Errorf("the journal cannot be written: %w", err)
		return j.err
	}
	j.lines++
	return nil
}

// mend replaces a journal that could not be written. The disk may have been full, and be so no more.
func (j *journal) mend(state func() journalState) error {
	if j.err == nil {
		return nil
	}
	if err := j.rewrite(state()); err != nil {
		return j.err
	}
	j.err = nil
	return nil
}

// rewriteIfLong replaces the journal if it has many more lines than keys.
func (j *journal) rewriteIfLong(state func() journalState) error {
	if j.lines < 1000 || j.lines < 4*j.live {
		return nil
	}
	return j.rewrite(state())
}

// rewrite replaces the journal by one line per key. The revision of the store is kept by a line without meaning
// otherwise, the deletion of the empty key.
func (j *journal) rewrite(s journalState) error {
	buf := note{rev: s.rev, deleted: true}.append(nil)
	for _, n := range s.keys {
		buf = n.append(buf)
	}
	tmp := j.path + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(buf)
	if err == nil && j.sync {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(tmp, j.path)
	}
	if err != nil {
		f.Close()
		return err
	}
	if j.sync {
		if d, err := os.Open(filepath.Dir(j.path)); err == nil {
			d.Sync()
			d.Close()
		}
	}
	j.file.Close()
	j.file, j.lines, j.live = f, bytes.Count(buf, []byte{'\n'}), len(s.keys)
	return nil
}

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	return j.file.Close()
}
