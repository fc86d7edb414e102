package encryption

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"

	"golang.org/x/crypto/nacl/secretbox"
)

// errDecrypt is the error of a value that cannot be decrypted. No method can say more about the
// cause, because changed bytes and another key look the same.
var errDecrypt = errors.New("the value cannot be decrypted: it was changed, or belongs to another key")

// keyed returns the provider of a key with a name: the name and a colon end the prefix.
func keyed(prefix, name string, m method) Provider {
	name += ":"
	return Provider{prefix: []byte(prefix + name), key: len(name), method: m}
}

// AESGCM returns a provider that stores the nonce (12 bytes), the ciphertext and the tag (16
// bytes). secret has 16, 24 or 32 bytes. name must not contain a colon.
func AESGCM(name string, secret []byte) (Provider, error) {
	aead, err := newGCM(secret)
	if err != nil {
		return Provider{}, err
	}
	return keyed("k8s:enc:aesgcm:v1:", name, gcm{aead}), nil
}

// gcm is the method of AES-GCM.
type gcm struct{ aead cipher.AEAD }

// AES-GCM adds a nonce and a tag to each value, in bytes.
const (
	nonceSize = 12
	tagSize   = 16
)

// newGCM returns AES-GCM with a key of 16, 24 or 32 bytes.
func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func (m gcm) seal(_ context.Context, plain, aad []byte) ([]byte, error) {
	out := make([]byte, nonceSize, nonceSize+len(plain)+tagSize)
	rand.Read(out) // never fails
	return m.aead.Seal(out, out[:nonceSize], plain, aad), nil
}

func (m gcm) open(_ context.Context, data, aad []byte) ([]byte, bool, error) {
	plain, err := m.unseal(data, aad)
	return plain, false, err
}

// unseal decrypts data; it implements opener.
func (m gcm) unseal(data, aad []byte) ([]byte, error) {
	if len(data) < nonceSize {
		return nil, errDecrypt
	}
	plain, err := m.aead.Open(nil, data[:nonceSize], data[nonceSize:], aad)
	if err != nil {
		return nil, errDecrypt
	}
	return plain, nil
}

// Secretbox returns a provider that stores the nonce (24 bytes), the tag (16 bytes) and the
// ciphertext. secret has 32 bytes. name must not contain a colon.
func Secretbox(name string, secret []byte) (Provider, error) {
	if len(secret) != 32 {
		return Provider{}, errors.New("the secret must have 32 bytes")
	}
	return keyed("k8s:enc:secretbox:v1:", name, box{[32]byte(secret)}), nil
}

// box is the method of secretbox.
type box struct{ key [32]byte }

func (m box) seal(_ context.Context, plain, _ []byte) ([]byte, error) {
	var nonce [24]byte
	rand.Read(nonce[:])
	return secretbox.Seal(nonce[:], plain, &nonce, &m.key), nil
}

func (m box) open(_ context.Context, data, _ []byte) ([]byte, bool, error) {
	if len(data) < 24 {
		return nil, false, errDecrypt
	}
	nonce := [24]byte(data[:24])
	plain, ok := secretbox.Open(nil, data[24:], &nonce, &m.key)
	if !ok {
		return nil, false, errDecrypt
	}
	return plain, false, nil
}

// AESCBC returns a provider that stores the IV (16 bytes) and the ciphertext, padded as in PKCS #7.
// It does not notice changes to the stored bytes. secret has 16, 24 or 32 bytes. name must not
// contain a colon.
func AESCBC(name string, secret []byte) (Provider, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return Provider{}, err
	}
	return keyed("k8s:enc:aescbc:v1:", name, cbc{block}), nil
}

// cbc is the method of AES-CBC.
type cbc struct{ block cipher.Block }

func (m cbc) seal(_ context.Context, plain, _ []byte) ([]byte, error) {
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	out := make([]byte, aes.BlockSize+len(plain)+pad)
	rand.Read(out[:aes.BlockSize])
	body := out[aes.BlockSize:]
	copy(body, plain)
	copy(body[len(plain):], bytes.Repeat([]byte{byte(pad)}, pad))
	cipher.NewCBCEncrypter(m.block, out[:aes.BlockSize]).CryptBlocks(body, body)
	return out, nil
}

func (m cbc) open(_ context.Context, data, _ []byte) ([]byte, bool, error) {
	if len(data) < 2*aes.BlockSize || len(data)%aes.BlockSize != 0 {
		return nil, false, errDecrypt
	}
	plain := make([]byte, len(data)-aes.BlockSize)
	cipher.NewCBCDecrypter(m.block, data[:aes.BlockSize]).CryptBlocks(plain, data[aes.BlockSize:])
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > aes.BlockSize {
		return nil, false, errDecrypt
	}
	for _, b := range plain[len(plain)-pad:] {
		if int(b) != pad {
			return nil, false, errDecrypt
		}
	}
	return plain[:len(plain)-pad], false, nil
}

// Identity returns the provider that stores values as they are.
func Identity() Provider { return Provider{} }
