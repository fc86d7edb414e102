package callout

import (
	"bytes"
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// echoPlugin answers calls of /s/Echo with what it was sent, behind a socket.
func echoPlugin(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(wireCodec{}))
	s.RegisterService(&grpc.ServiceDesc{ServiceName: "s", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{MethodName: "Echo",
		Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var in []byte
			if err := decode(&in); err != nil {
				return nil, err
			}
			if string(in) == "refuse" {
				return nil, status.Error(codes.PermissionDenied, "no")
			}
			return in, nil
		}}}}, nil)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-served })
}

func TestSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	var told []string
	s, err := DialSocket(path, func(method string, took time.Duration, err error) {
		told = append(told, method+" "+CodeOf(err))
		if took <= 0 {
			t.Errorf("it took %v", took)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Call(ctx, "/s/Echo", nil); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("without a plugin: %v", err)
	}
	echoPlugin(t, path)
	message := bytes.Repeat([]byte("message"), 100_000)
	if out, err := s.Call(t.Context(), "/s/Echo", message); err != nil || !bytes.Equal(out, message) {
		t.Errorf("got %d bytes, %v", len(out), err)
	}
	if _, err := s.Call(t.Context(), "/s/Echo", []byte("refuse")); status.Code(err) != codes.PermissionDenied {
		t.Errorf("got %v", err)
	}
	s.Close()
	s.Close()
	if _, err := s.Call(t.Context(), "/s/Echo", nil); err == nil {
		t.Error("a call after the end")
	}
	want := []string{"/s/Echo DeadlineExceeded", "/s/Echo OK", "/s/Echo PermissionDenied", "/s/Echo Canceled"}
	if len(told) != 4 || told[0] != want[0] || told[1] != want[1] || told[2] != want[2] || told[3] != want[3] {
		t.Errorf("told of %q, want %q", told, want)
	}
	if got := CodeOf(errors.New("x")); got != "unknown-non-grpc" {
		t.Errorf("the code of another error is %s", got)
	}
}

func TestFields(t *testing.T) {
	message := AppendField(AppendField(AppendField([]byte(nil), 1, "a"), 2, ""), 3, []byte("b"))
	message = protowire.AppendVarint(protowire.AppendTag(message, 4, protowire.VarintType), 5)
	message = protowire.AppendFixed32(protowire.AppendTag(message, 6, protowire.Fixed32Type), 7)
	var got []string
	if err := Fields(message, func(field protowire.Number, value []byte, number uint64) {
		got = append(got, string(rune('0'+field))+string(value)+string(rune('0'+number)))
	}); err != nil || len(got) != 3 || got[0] != "1a0" || got[1] != "3b0" || got[2] != "45" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := Fields(message[:len(message)-1], func(protowire.Number, []byte, uint64) {}); err == nil {
		t.Error("half a field is no error")
	}
}
