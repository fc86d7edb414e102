package file

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// The journal: a file of lines that give each key its revision. Every change of the store adds a
// line (add), and a start reads all of them (openJournal). A long journal is rewritten with one
// line per key. A journal is rewritten, too, after a line could not be written (mend).

// These are the kinds of lines. The layout is in docs/format-file.md.
const (
	opPut    = "put"   // the key has the value of the hash since the revision
	opDelete = "del"   // the key is gone since the revision
	opLease  = "lease" // the key has a lease if its file has the value of the hash: written before the file
	opBorn   = "born"  // the key's value is completed with this Birth, until the key is gone
)

// note is one line of the journal.
type note struct {
	rev   storage.Revision
	op    string
	key   string
	hash  uint64    // the digest of the value
	ends  time.Time // end of the lease, zero without
	birth Birth     // only of opBorn
}

// journalState is the sum of the lines of a journal.
type journalState struct {
	rev  storage.Revision
	keys map[string]note
	// leases are notes of leases that no later note of the key follows: their writes were not
	// finished.
	leases map[string]note
	births map[string]Birth
}

func newJournalState() journalState {
	return journalState{keys: map[string]note{}, leases: map[string]note{}, births: map[string]Birth{}}
}

// take adds a line to the sum.
func (s *journalState) take(n note) {
	s.rev = max(s.rev, n.rev)
	switch delete(s.leases, n.key); n.op {
	case opPut:
		s.keys[n.key] = n
	case opBorn:
		s.births[n.key] = n.birth
	case opDelete:
		delete(s.keys, n.key)
		delete(s.births, n.key)
	case opLease:
		s.leases[n.key] = n
	}
}

// journal is the open file. One goroutine at a time uses it: the holder of Store.commit.
type journal struct {
	root  *os.Root
	file  *os.File
	sync  bool  // fsync after each line
	lines int   // in the file
	live  int   // lines that counted at the last rewrite or at the start
	err   error // of the last write, until mend; the end of the file is unknown
}

// append appends the line of n to buf: checksum, revision, kind, the kind's fields and the quoted
// key.
func (n note) append(buf []byte) []byte {
	start := len(buf)
	buf = append(buf, "00000000 "...)
	buf = strconv.AppendUint(buf, uint64(n.rev), 10)
	buf = append(append(buf, ' '), n.op...)
	switch n.op {
	case opPut, opLease:
		buf = fmt.Appendf(buf, " %016x", n.hash)
	case opBorn:
		buf = fmt.Appendf(buf, " %d %s", n.birth.At.UnixMilli(), url.QueryEscape(n.birth.ID))
	}
	if !n.ends.IsZero() {
		buf = fmt.Appendf(buf, " %d", n.ends.UnixMilli())
	}
	buf = append(buf, ' ')
	buf = strconv.AppendQuote(buf, n.key)
	copy(buf[start:], fmt.Sprintf("%08x", crc32.ChecksumIEEE(buf[start+9:])))
	return append(buf, '\n')
}

var errLine = errors.New("damaged line")

// parseNote reads a line without its line end. A line whose checksum or form is wrong is errLine.
func parseNote(line string) (note, error) {
	check, rest, ok := strings.Cut(line, " ")
	if want, err := strconv.ParseUint(check, 16, 32); !ok || err != nil || len(check) != 8 ||
		uint32(want) != crc32.ChecksumIEEE([]byte(rest)) {
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
	n := note{op: f[1], key: key}
	rev, err := strconv.ParseUint(f[0], 10, 64)
	if err != nil {
		return note{}, errLine
	}
	n.rev = storage.Revision(rev)
	switch {
	case n.op == opDelete && len(f) == 2:
		return n, nil
	case n.op == opBorn && len(f) == 4:
		if n.birth.ID, err = url.QueryUnescape(f[3]); err != nil {
			return note{}, errLine
		}
		n.birth.At, err = parseMilli(f[2])
		return n, err
	case n.op == opPut && (len(f) == 3 || len(f) == 4), n.op == opLease && len(f) == 4:
	default:
		return note{}, errLine
	}
	if n.hash, err = strconv.ParseUint(f[2], 16, 64); err != nil {
		return note{}, errLine
	}
	if len(f) > 3 {
		if n.ends, err = parseMilli(f[3]); err != nil {
			return note{}, err
		}
	}
	return n, nil
}

// parseMilli reads a time in milliseconds since 1970.
func parseMilli(s string) (time.Time, error) {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, errLine
	}
	return time.UnixMilli(ms), nil
}

// readJournal sums up the lines. Damaged lines count for nothing; a crash leaves one at the end.
// good is the number of bytes up to the end of the last line that is not damaged.
func readJournal(r io.Reader) (state journalState, lines int, good int64, err error) {
	state = newJournalState()
	b := bufio.NewReader(r)
	for at := int64(0); ; {
		line, err := b.ReadString('\n')
		if err == io.EOF {
			return state, lines, good, nil
		}
		if err != nil {
			return state, lines, good, err
		}
		at += int64(len(line))
		lines++
		if n, err := parseNote(line[:len(line)-1]); err == nil {
			state.take(n)
			good = at
		}
	}
}

// openJournal reads the journal in root and opens it for more lines. A missing journal is an empty
// one.
func openJournal(root *os.Root, sync bool) (*journal, journalState, error) {
	f, err := root.OpenFile(journalName, os.O_CREATE|os.O_RDWR, 0o600)
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
	if err == nil && sync {
		err = syncDir(root, stateDir)
	}
	if err != nil {
		f.Close()
		return nil, journalState{}, err
	}
	return &journal{root: root, file: f, sync: sync, lines: lines, live: len(state.keys) + len(state.births)}, state,
		nil
}

// add appends a line and syncs it. After a failure the end of the file is unknown, so the journal
// accepts no lines until mend succeeds.
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

// mend rewrites a journal after a failed write. The disk may have been full and have room again.
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

// rewriteIfLong rewrites the journal if it has at least 1000 lines and at least four times as many
// lines as counted when it was last rewritten or read (live).
func (j *journal) rewriteIfLong(state func() journalState) error {
	if j.lines < 1000 || j.lines < 4*j.live {
		return nil
	}
	return j.rewrite(state())
}

// rewrite replaces the journal by a journal with one line for each key and for each birth. The
// first line of the new journal is the deletion of the empty key, whose only meaning is that it
// keeps the revision of the store.
func (j *journal) rewrite(s journalState) error {
	buf := note{rev: s.rev, op: opDelete}.append(nil)
	for key, birth := range s.births {
		buf = note{rev: s.rev, op: opBorn, key: key, birth: birth}.append(buf)
	}
	for _, n := range s.keys {
		buf = n.append(buf)
	}
	tmp := journalName + ".new"
	f, err := j.root.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(buf)
	if err == nil && j.sync {
		err = f.Sync()
	}
	if err == nil {
		err = j.root.Rename(tmp, journalName)
	}
	if err != nil {
		f.Close()
		return err
	}
	j.file.Close()
	j.file, j.lines, j.live = f, bytes.Count(buf, []byte{'\n'}), len(s.keys)+len(s.births)
	if j.sync {
		// Before this sync a crash may bring back the old file, without the lines that follow.
		if err := syncDir(j.root, stateDir); err != nil {
			j.err = err
			return err
		}
	}
	return nil
}

// close closes the file. j may be nil.
func (j *journal) close() error {
	if j == nil {
		return nil
	}
	return j.file.Close()
}
