package callout

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// Socket is a gRPC connection to a plugin behind a Unix socket. All methods may be called
// concurrently. The owner must call Close.
type Socket struct {
	conn   *grpc.ClientConn
	called func(method string, took time.Duration, err error)
}

// DialSocket returns the Socket at a path, or at an abstract name that begins with "@". DialSocket
// does not connect; each call waits until the plugin is there. called is called after each call.
func DialSocket(path string, called func(method string, took time.Duration, err error)) (*Socket, error) {
	conn, err := grpc.NewClient("passthrough:///plugin",
		grpc.WithAuthority("localhost"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true), grpc.ForceCodecV2(wireCodec{})),
		grpc.WithDisableServiceConfig(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}))
	if err != nil {
		return nil, fmt.Errorf("cannot call the plugin at %s: %w", path, err)
	}
	return &Socket{conn, called}, nil
}

// Call calls a method, such as "/v2.KeyManagementService/Status", with a protobuf message and
// returns the response, also a protobuf message.
func (s *Socket) Call(ctx context.Context, method string, in []byte) ([]byte, error) {
	var out []byte
	began := time.Now()
	err := s.conn.Invoke(ctx, method, in, &out)
	s.called(method, time.Since(began), err)
	return out, err
}

// Close ends the connection and all calls.
func (s *Socket) Close() { _ = s.conn.Close() } // only a second Close fails

// CodeOf returns the gRPC code of a call's error, as metrics show it.
func CodeOf(err error) string {
	if err == nil {
		return codes.OK.String()
	}
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		return s.GRPCStatus().Code().String()
	}
	return "unknown-non-grpc"
}

// wireCodec passes encoded messages through unchanged, so that no generated code is needed.
type wireCodec struct{}

// Name implements encoding.CodecV2.
func (wireCodec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (wireCodec) Marshal(message any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(message.([]byte))}, nil
}

// Unmarshal implements encoding.CodecV2.
func (wireCodec) Unmarshal(data mem.BufferSlice, message any) error {
	*message.(*[]byte) = data.Materialize()
	return nil
}

// AppendField appends a field of type bytes, string or message to a protobuf message. An empty
// value is left out, as protobuf encodes defaults.
func AppendField[T ~string | ~[]byte](message []byte, field protowire.Number, value T) []byte {
	if len(value) == 0 {
		return message
	}
	return protowire.AppendString(protowire.AppendTag(message, field, protowire.BytesType), string(value))
}

// Fields calls each with every field of a protobuf message that has bytes (then value is set) or a
// varint (then number is set). Other fields are skipped.
func Fields(message []byte, each func(field protowire.Number, value []byte, number uint64)) error {
	for len(message) > 0 {
		field, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var value []byte
		var number uint64
		switch typ {
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(field, typ, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if typ == protowire.BytesType || typ == protowire.VarintType {
			each(field, value, number)
		}
		message = message[n:]
	}
	return nil
}
