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

// bareCommand is how this program calls itself to be the bare server.
const bareCommand = "bare-server"

// answer is what a server has answered, and what the bare one is told to answer.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// serveBare runs the bare server: net/http and nothing else. It says where it listens, and takes
// one answer a line, which it gives to everybody from then on and confirms by a line. It ends with
// its input.
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
		// The times that any server has that strangers can reach.
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

// selfSigned makes a certificate of the kind that coracle makes.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// bareServer is the bare server, in a process of its own.
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

// attach speaks to a bare server by its input and output.
func attach(in io.WriteCloser, out io.Reader) (*bareServer, error) {
	b := &bareServer{in: in, out: bufio.NewReader(out)}
	address, err := b.out.ReadString('\n')
	b.address = strings.TrimSpace(address)
	return b, err
}

// say makes a the answer to whatever comes.
func (b *bareServer) say(a answer) error {
	if err := json.NewEncoder(b.in).Encode(a); err != nil {
		return err
	}
	_, err := b.out.ReadString('\n')
	return err
}
