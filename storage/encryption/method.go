package encryption

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"

	"golang.org/x/crypto/nacl/secretbox"
)

var errDecrypt = errors.New("the value cannot be decrypted: it was changed, or belongs to another key")

// AESGCM returns a provider that stores nonce (12 bytes), ciphertext, tag (16). secret has 16, 24 or 32 bytes; name
// must not contain a colon.
func AESGCM(name string, secret []byte) (Provider, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return Provider{}, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return Provider{}, err
	}
	return Provider{prefix: []byte("k8s:enc:aesgcm:v1:" + name + ":"), method: gcm{aead}}, nil
}

type gcm struct{ aead cipher.AEAD }

func (m gcm) seal(plain, aad []byte) ([]byte, error) {
	n := m.aead.NonceSize()
	out := make([]byte, n, n+len(plain)+m.aead.Overhead())
	rand.Read(out) // never fails
	return m.aead.Seal(out, out[:n], plain, aad), nil
}

func (m gcm) open(data, aad []byte) ([]byte, error) {
	n := m.aead.NonceSize()
	if len(data) < n {
		return nil, errDecrypt
	}
	plain, err := m.aead.Open(nil, data[:n], data[n:], aad)
	if err != nil {
		return nil, errDecrypt
	}
	return plain, nil
}

// Secretbox returns a provider that stores nonce (24 bytes), tag (16), ciphertext. secret has 32 bytes.
func Secretbox(name string, secret []byte) (Provider, error) {
	if len(secret) != 32 {
		return Provider{}, errors.New("the secret must have 32 bytes")
	}
	return Provider{prefix: []byte("k8s:enc:secretbox:v1:" + name + ":"), method: box{[32]byte(secret)}}, nil
}

type box struct{ key [32]byte }

func (m box) seal(plain, _ []byte) ([]byte, error) {
	var nonce [24]byte
	rand.Read(nonce[:])
	return secretbox.Seal(nonce[:], plain, &nonce, &m.key), nil
}

func (m box) open(data, _ []byte) ([]byte, error) {
	if len(data) < 24 {
		return nil, errDecrypt
	}
	nonce := [24]byte(data[:24])
	plain, ok := secretbox.Open(nil, data[24:], &nonce, &m.key)
	if !ok {
		return nil, errDecrypt
	}
	return plain, nil
}

// AESCBC returns a provider that stores IV (16 bytes), then ciphertext padded as in PKCS #7. It does not notice
// changes to the stored bytes. secret has 16, 24 or 32 bytes.
func AESCBC(name string, secret []byte) (Provider, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return Provider{}, err
	}
	return Provider{prefix: []byte("k8s:enc:aescbc:v1:" + name + ":"), method: cbc{block}}, nil
}

type cbc struct{ block cipher.Block }

func (m cbc) seal(plain, _ []byte) ([]byte, error) {
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	out := make([]byte, aes.BlockSize+len(plain)+pad)
	rand.Read(out[:aes.BlockSize])
	body := out[aes.BlockSize:]
	copy(body, plain)
	copy(body[len(plain):], bytes.Repeat([]byte{byte(pad)}, pad))
	cipher.NewCBCEncrypter(m.block, out[:aes.BlockSize]).CryptBlocks(body, body)
	return out, nil
}

func (m cbc) open(data, _ []byte) ([]byte, error) {
	if len(data) < 2*aes.BlockSize || len(data)%aes.BlockSize != 0 {
		return nil, errDecrypt
	}
	plain := make([]byte, len(data)-aes.BlockSize)
	cipher.NewCBCDecrypter(m.block, data[:aes.BlockSize]).CryptBlocks(plain, data[aes.BlockSize:])
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > aes.BlockSize {
		return nil, errDecrypt
	}
	for _, b := range plain[len(plain)-pad:] {
		if int(b) != pad {
			return nil, errDecrypt
		}
	}
	return plain[:len(plain)-pad], nil
}

// Identity returns the provider that stores values as they are.
func Identity() Provider { return Provider{} }
