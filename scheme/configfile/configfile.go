// Package configfile reads the files that a server is configured by: certificates, keys, tokens,
// policies, configurations.
//
// A configuration file is a regular file of at most Max bytes, or a pipe that ends, within PipeTime
// and after at most Max bytes. All else is refused before it is opened: a device may go on without
// end, and to open one may do something. An error names the file, and is the one of package os
// where that has one.
//
// A pipe can be read once. Who wants to know only whether there is a file asks Check, which takes
// nothing from a pipe.
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

// The bounds of a file.
const (
	Max      = 16 << 20    // bytes
	PipeTime = time.Minute // from the opening of a pipe to its end
)

// retryTime is how long to wait for a pipe that nobody writes to yet.
const retryTime = 10 * time.Millisecond

// Read returns what is in a file.
func Read(path string) ([]byte, error) { return read(path, Max, PipeTime) }

// Check returns the error of Read as far as it is known without reading.
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

// KeyPair returns the certificate in two PEM files, as tls.LoadX509KeyPair does.
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
		_ = f.SetReadDeadline(p.until) // of no use on systems that cannot wait for named pipes, where Read does not wait
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

// open opens what may be read. It does not wait for somebody who writes to a pipe.
func open(path string, most int64) (*os.File, error) {
	if info, err := os.Stat(path); err == nil { // else the error of the opening says more
		if err := judge(path, info, most); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = judge(path, info, most)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// judge returns why a file of the kind of info is not read, or nil.
func judge(path string, info fs.FileInfo, most int64) error {
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

func isPipe(info fs.FileInfo) bool { return info.Mode()&fs.ModeNamedPipe != 0 }

func wrong(path string, err error) error { return &fs.PathError{Op: "read", Path: path, Err: err} }

func tooLarge(path string, most int64) error {
	return wrong(path, fmt.Errorf("larger than %d bytes, the most that a configuration file may have", most))
}

// pipe reads a pipe to its end, which comes after at least a byte: a named pipe that nobody has
// opened for writing yet looks as if it had ended.
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
