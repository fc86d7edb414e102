package server_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/router/callout"
)

// servePlugin serves gRPC on a socket. methods has a function for each method, from the message of
// the call to that of the answer.
func servePlugin(t testing.TB, path, service string, methods map[string]func(in []byte) ([]byte, error)) (stop func()) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(rawMessages{}))
	desc := &grpc.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil)}
	for name, answer := range methods {
		desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: name,
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				var in []byte
				if err := decode(&in); err != nil {
					return nil, err
				}
				return answer(in)
			}})
	}
	s.RegisterService(desc, nil)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	stop = sync.OnceFunc(func() { s.Stop(); <-served })
	t.Cleanup(stop)
	return stop
}

// rawMessages is a gRPC codec that does not decode messages.
type rawMessages struct{}

func (rawMessages) Name() string { return "proto" }

func (rawMessages) Marshal(message any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(message.([]byte))}, nil
}

func (rawMessages) Unmarshal(data mem.BufferSlice, message any) error {
	*message.(*[]byte) = data.Materialize()
	return nil
}

// fieldsOf returns the fields of a protobuf message by number; if a field repeats, its last value.
func fieldsOf(message []byte) map[int]string {
	all := map[int]string{}
	_ = callout.Fields(message, func(field protowire.Number, value []byte, _ uint64) { all[int(field)] = string(value) })
	return all
}

// kmsPlugin is a KMS plugin that encrypts with AES-GCM. It derives each key from the key's name.
type kmsPlugin struct {
	mu      sync.Mutex
	key     string
	healthz string
}

func (p *kmsPlugin) set(key, healthz string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.healthz = key, healthz
}

func (p *kmsPlugin) state() (key, healthz string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.key, p.healthz
}

func kmsKey(name string) cipher.AEAD {
	sum := sha256.Sum256([]byte(name))
	block, _ := aes.NewCipher(sum[:])
	aead, _ := cipher.NewGCMWithRandomNonce(block)
	return aead
}

// annotation is the name of an annotation that the plugin returns with a ciphertext, and requires
// when it decrypts.
const annotation = "kms.example.com"

func (p *kmsPlugin) serve(t testing.TB, path string) (stop func()) {
	return servePlugin(t, path, "v2.KeyManagementService", map[string]func([]byte) ([]byte, error){
		"Status": func([]byte) ([]byte, error) {
			key, healthz := p.state()
			return callout.AppendField(callout.AppendField(callout.AppendField(nil, 1, "v2"), 2, healthz), 3, key), nil
		},
		"Encrypt": func(in []byte) ([]byte, error) {
			request := fieldsOf(in)
			if request[2] == "" {
				return nil, errors.New("the call has no id")
			}
			key, _ := p.state()
			out := callout.AppendField(nil, 1, kmsKey(key).Seal(nil, nil, []byte(request[1]), nil))
			return callout.AppendField(callout.AppendField(out, 2, key), 3,
				callout.AppendField(callout.AppendField(nil, 1, annotation), 2, rand.Text())), nil
		},
		"Decrypt": func(in []byte) ([]byte, error) {
			request := fieldsOf(in)
			if request[2] == "" || len(fieldsOf([]byte(request[4]))[2]) != 26 || fieldsOf([]byte(request[4]))[1] != annotation {
				return nil, fmt.Errorf("the call has no id, or not the annotation: %v", request)
			}
			plain, err := kmsKey(request[3]).Open(nil, nil, []byte(request[1]), nil)
			return callout.AppendField(nil, 1, plain), err
		},
	})
}
