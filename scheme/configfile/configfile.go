// Package configfile reads the files that configure a server: certificates, keys, tokens, policies,
// configurations.
//
// Words: a configuration file is a regular file of at most Max bytes, or a named pipe that delivers
// at most Max bytes and ends within PipeTime.
//
// Laws:
//   - Everything else is refused before it is opened: a device may deliver bytes forever, and
//     to open one may have effects.
//   - Reading a pipe blocks for at most PipeTime.
//   - Each error names the file. Where package os has an error for the case, that error is
//     returned.
//
// Any goroutine may call the functions. A pipe can be read only once: to find out whether a file
// can be read, call Check, which does not read from a pipe.
//
// Not here: what is in the files, and noticing that one has changed.
package configfile

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Bounds of a configuration file.
const (
	Max      = 16 << 20    // in bytes
	PipeTime = time.Minute // from opening a pipe to its end
)

// retryTime is the pause between two attempts to read from a pipe that no process has opened for
// writing.
const retryTime = 10 * time.Millisecond

// Read returns the content of a file.
func Read(path string) ([]byte, error) { return read(path, Max, PipeTime) }

// Check returns the error that Read would return, if it can be found without reading from a pipe;
// nil otherwise.
func Check(path string) error {
	info, err := os.Stat(path)
	if err == nil && isPipe(info) {
		return nil
	}
	f, err := open(path, Max)
	if err != nil {
		return err
	}
	return f.Close()
}

// KeyPair returns the certificate in two PEM files. It does what tls.LoadX509KeyPair does.
func KeyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := Read(certFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := Read(keyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// read is Read with its bounds as arguments, for tests.
func read(path string, most int64, pipeTime time.Duration) ([]byte, error) {
	f, err := open(path, most)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var in io.Reader = f
	if isPipe(info) {
		p := &pipe{f: f, until: time.Now().Add(pipeTime)}
		// This fails on systems that cannot wait for named pipes, but there Read does not block.
		_ = f.SetReadDeadline(p.until)
		in = p
	}
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, wrong(path, fmt.Errorf("the pipe has not ended after %v", pipeTime))
	case err != nil:
		return nil, err
	case int64(len(data)) > most:
		return nil, tooLarge(path, most)
	}
	return data, nil
}

// open opens a regular file or a named pipe. It does not wait for a process that writes to the
// pipe.
func open(path string, most int64) (*os.File, error) {
	// If Stat fails, the error of opening the file says more.
	if info, err := os.Stat(path); err == nil {
		if err := refusal(path, info, most); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = refusal(path, info, most)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// refusal returns why the file that info describes cannot be read, or nil.
func refusal(path string, info fs.FileInfo, most int64) error {
	switch {
	case info.IsDir():
		return wrong(path, syscall.EISDIR)
	case isPipe(info):
		return nil
	case !info.Mode().IsRegular():
		return wrong(path, errors.New("neither a regular file nor a pipe"))
	case info.Size() > most:
		return tooLarge(path, most)
	}
	return nil
}

// isPipe reports whether the file is a named pipe.
func isPipe(info fs.FileInfo) bool { return info.Mode()&fs.ModeNamedPipe != 0 }

// wrong returns an error that names the file.
func wrong(path string, err error) error { return &fs.PathError{Op: "read", Path: path, Err: err} }

// tooLarge returns the error for a file of more than most bytes.
func tooLarge(path string, most int64) error {
	return wrong(path, fmt.Errorf("larger than %d bytes, the most that a configuration file may have", most))
}

// pipe reads a named pipe to its end. Until the first byte, an end of file only means that no
// process has opened the pipe for writing, so Read tries again until the deadline.
type pipe struct {
	f     *os.File
	until time.Time
	begun bool
}

// Read implements io.Reader.
func (p *pipe) Read(b []byte) (int, error) {
	for {
		n, err := p.f.Read(b)
		if n > 0 {
			p.begun = true
			return n, nil
		}
		if p.begun && err == io.EOF || err != io.EOF && !errors.Is(err, syscall.EAGAIN) {
			return 0, err
		}
		if !time.Now().Before(p.until) {
			return 0, os.ErrDeadlineExceeded
		}
		time.Sleep(retryTime)
	}
}
