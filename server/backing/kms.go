package backing

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/storage/encryption"
)

// kmsClient calls a KMS plugin by version 2 of its protocol (KEP-3299; k8s.io/kms, apis/v2). It
// encodes the few messages by hand, so that the server needs no generated code. The numbers of
// fields are those of that protocol.
type kmsClient struct{ socket *callout.Socket }

const kmsService = "/v2.KeyManagementService/"

// Status implements encryption.KMS.
func (c kmsClient) Status(ctx context.Context) (s encryption.KMSStatus, err error) {
	out, err := c.socket.Call(ctx, kmsService+"Status", nil)
	if err != nil {
		return s, err
	}
	return s, callout.Fields(out, func(field protowire.Number, value []byte, _ uint64) {
		switch field {
		case 1:
			s.Version = string(value)
		case 2:
			s.Healthz = string(value)
		case 3:
			s.KeyID = string(value)
		}
	})
}

// Encrypt implements encryption.KMS.
func (c kmsClient) Encrypt(ctx context.Context, call string, plain []byte) (e encryption.KMSCipher, err error) {
	in := callout.AppendField(callout.AppendField(nil, 1, plain), 2, call)
	out, err := c.socket.Call(ctx, kmsService+"Encrypt", in)
	if err != nil {
		return e, err
	}
	var bad error
	err = callout.Fields(out, func(field protowire.Number, value []byte, _ uint64) {
		switch field {
		case 1:
			e.Data = value
		case 2:
			e.KeyID = string(value)
		case 3:
			if e.Annotations == nil {
				e.Annotations = map[string][]byte{}
			}
			var key string
			content := []byte{}
			if err := callout.Fields(value, func(field protowire.Number, value []byte, _ uint64) {
				switch field {
				case 1:
					key = string(value)
				case 2:
					content = value
				}
			}); err != nil {
				bad = err
			}
			e.Annotations[key] = content
		}
	})
	if err == nil {
		err = bad
	}
	return e, err
}

// Decrypt implements encryption.KMS.
func (c kmsClient) Decrypt(ctx context.Context, call string, e encryption.KMSCipher) (plain []byte, err error) {
	in := callout.AppendField(callout.AppendField(callout.AppendField(nil, 1, e.Data), 2, call), 3, e.KeyID)
	for _, key := range slices.Sorted(maps.Keys(e.Annotations)) {
		in = callout.AppendField(in, 4, callout.AppendField(callout.AppendField(nil, 1, key), 2, e.Annotations[key]))
	}
	out, err := c.socket.Call(ctx, kmsService+"Decrypt", in)
	if err != nil {
		return nil, err
	}
	return plain, callout.Fields(out, func(field protowire.Number, value []byte, _ uint64) {
		if field == 1 {
			plain = value
		}
	})
}

// Close implements encryption.KMS.
func (c kmsClient) Close() { c.socket.Close() }
