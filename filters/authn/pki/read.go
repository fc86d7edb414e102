package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"iter"
)

// blocks yields the PEM blocks in a text.
func blocks(data []byte) iter.Seq[*pem.Block] {
	return func(yield func(*pem.Block) bool) {
		for block, rest := pem.Decode(data); block != nil && yield(block); block, rest = pem.Decode(rest) {
		}
	}
}

// ParsePair reads a certificate and its private key. certPEM may hold certificates of authorities
// behind the first; they stay in CertPEM.
func ParsePair(certPEM, keyPEM []byte) (*Pair, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key cannot sign")
	}
	return &Pair{Cert: pair.Leaf, Key: key, CertPEM: certPEM, KeyPEM: keyPEM}, nil
}

// ParseCertificates returns the certificates in PEM text. Blocks of other types and blocks with
// headers are skipped, as in Kubernetes.
func ParseCertificates(data []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for block := range blocks(data) {
		if block.Type != typeCertificate || len(block.Headers) > 0 {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// ParseKey returns the first private key in PEM text that is an RSA or ECDSA key.
func ParseKey(data []byte) (crypto.Signer, error) {
	for block := range blocks(data) {
		if key := privateKey(block.Bytes); key != nil {
			return key, nil
		}
	}
	return nil, errors.New("data does not contain a valid RSA or ECDSA private key")
}

// ParsePublicKeys returns the public keys in PEM text: from public keys, certificates and private
// keys. Other blocks are skipped, such as the parameters of a curve.
func ParsePublicKeys(data []byte) ([]crypto.PublicKey, error) {
	var keys []crypto.PublicKey
	for block := range blocks(data) {
		if key := privateKey(block.Bytes); key != nil {
			keys = append(keys, key.Public())
		} else if key := publicKey(block.Bytes); key != nil {
			keys = append(keys, key)
		}
	}
	if keys == nil {
		return nil, errors.New("data does not contain any valid RSA or ECDSA public keys")
	}
	return keys, nil
}

// privateKey returns the RSA or ECDSA key in a PKCS #1, SEC 1 or PKCS #8 encoding, or nil.
func privateKey(der []byte) crypto.Signer {
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key
	}
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		switch key := key.(type) {
		case *rsa.PrivateKey:
			return key
		case *ecdsa.PrivateKey:
			return key
		}
	}
	return nil
}

// publicKey returns the RSA or ECDSA key in a PKIX encoding or a certificate, or nil.
func publicKey(der []byte) crypto.PublicKey {
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil
		}
		key = cert.PublicKey
	}
	switch key.(type) {
	case *rsa.PublicKey, *ecdsa.PublicKey:
		return key
	}
	return nil
}
