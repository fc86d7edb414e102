package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

// bareCommand is the argument with which this program starts itself as the bare server.
const bareCommand = "bare-server"

// answer is an answer of Coracle, which the bare server then gives as well.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// serveBare runs the bare server: net/http and nothing else. It writes its address to out. Then it
// reads answers from in, one per line as JSON. It confirms each by an empty line, and gives it to
// every request from then on. It ends when in ends.
func serveBare(in io.Reader, out io.Writer) error {
	cert, err := selfSigned()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var current atomic.Pointer[answer]
	srv := &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}},
		ErrorLog:  log.New(io.Discard, "", 0),
		// The timeouts that any server on the Internet needs.
		ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a := current.Load()
			h := w.Header()
			for name, values := range a.Header {
				h[name] = values
			}
			w.WriteHeader(a.Status)
			w.Write(a.Body)
		}),
	}
	go srv.ServeTLS(l, "", "")
	fmt.Fprintln(out, l.Addr())
	for decoder := json.NewDecoder(in); ; {
		a := new(answer)
		if err := decoder.Decode(a); err != nil {
			return srv.Close()
		}
		current.Store(a)
		fmt.Fprintln(out)
	}
}

// selfSigned makes a certificate with a key of the same type as Coracle's, so that handshakes cost
// the same.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// bareServer is a bare server in a process of its own, so that its processor time can be measured.
type bareServer struct {
	process
	in  io.WriteCloser
	out *bufio.Reader
}

func startBare() (*bareServer, error) {
	cmd := exec.Command(os.Args[0], bareCommand)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	running, err := start(cmd)
	if err != nil {
		return nil, err
	}
	b, err := attach(in, out)
	if err != nil {
		running.stop()
		return nil, err
	}
	running.address = b.address
	b.process = running
	return b, nil
}

// attach returns a bare server by its input and output, after reading its address.
func attach(in io.WriteCloser, out io.Reader) (*bareServer, error) {
	b := &bareServer{in: in, out: bufio.NewReader(out)}
	address, err := b.out.ReadString('\n')
	b.address = strings.TrimSpace(address)
	return b, err
}

// say makes a the answer to all requests.
func (b *bareServer) say(a answer) error {
	if err := json.NewEncoder(b.in).Encode(a); err != nil {
		return err
	}
	_, err := b.out.ReadString('\n')
	return err
}
