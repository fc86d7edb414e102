//go:build unix

package configfile

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRead: regular files and pipes are read, everything else is refused.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, size int) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	socket := filepath.Join(dir, "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path string
		size       int
		want       string // in the error
	}{
		{"empty", file("empty", 0), 0, ""},
		{"as large as may be", file("full", 100), 100, ""},
		{"larger", file("large", 101), 0, "larger than 100 bytes"},
		{"absent", filepath.Join(dir, "absent"), 0, "open " + filepath.Join(dir, "absent") + ": no such file or directory"},
		{"a directory", dir, 0, "read " + dir + ": is a directory"},
		{"a device", "/dev/zero", 0, "read /dev/zero: neither a regular file nor a pipe"},
		{"a link to a device", link, 0, "neither a regular file nor a pipe"},
		{"a socket", socket, 0, "neither a regular file nor a pipe"},
	} {
		data, err := read(tt.path, 100, time.Second)
		if len(data) != tt.size || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %d bytes, %v, want %d bytes, %q", tt.name, len(data), err, tt.size, tt.want)
		}
		if tt.name != "larger" { // Check compares this with Max
			if checked := Check(tt.path); (checked == nil) != (err == nil) {
				t.Errorf("%s: Check says %v, want %v", tt.name, checked, err)
			}
		}
	}
	if _, err := Read(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want one that is fs.ErrNotExist", err)
	}
	if _, err := Read("/dev/zero"); err == nil {
		t.Error("a device is read")
	}
}

// TestPipe reads a pipe whose writer comes late and writes slowly. It does not wait forever for a
// writer that never comes.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(path); err != nil {
		t.Errorf("Check: %v", err)
	}
	write := func(stays time.Duration, texts ...string) (done chan error) {
		done = make(chan error, 1)
		go func() {
			time.Sleep(3 * retryTime)
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			for _, text := range texts {
				if err == nil {
					_, err = f.WriteString(text)
					time.Sleep(3 * retryTime)
				}
			}
			time.Sleep(stays)
			done <- errors.Join(err, f.Close())
		}()
		return done
	}
	done := write(0, "ab", "cd")
	if data, err := read(path, 4, time.Minute); string(data) != "abcd" || err != nil {
		t.Errorf("got %q, %v, want abcd", data, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	done = write(0, "abcde")
	if data, err := read(path, 4, time.Minute); err == nil || !strings.Contains(err.Error(), "larger than 4 bytes") {
		t.Errorf("got %q, %v, want that it is too large", data, err)
	}
	<-done
	done = write(time.Second, "ab")
	if data, err := read(path, 4, 500*time.Millisecond); err == nil || !strings.Contains(err.Error(), "has not ended after 500ms") {
		t.Errorf("a pipe that stays open: got %q, %v", data, err)
	}
	<-done
	if data, err := read(path, 4, 5*retryTime); err == nil || !strings.Contains(err.Error(), "has not ended after 50ms") {
		t.Errorf("a pipe without a writer: got %q, %v", data, err)
	}
}
