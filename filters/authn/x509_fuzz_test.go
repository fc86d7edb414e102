package authn

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/router/request"
)

// oddString encodes a text as an ASN.1 string of the type that tag names.
func oddString(tag int, text string) asn1.RawValue {
	data := []byte(text)
	if tag == asn1.TagBMPString {
		data = nil
		for _, unit := range utf16.Encode([]rune(text)) {
			data = append(data, byte(unit>>8), byte(unit))
		}
	}
	return asn1.RawValue{Tag: tag, Bytes: data}
}

// subject returns the DER of a subject with attributes, each as a relative distinguished name of
// its own.
func subject(f *testing.F, attributes ...pkix.AttributeTypeAndValue) []byte {
	f.Helper()
	var names pkix.RDNSequence
	for _, a := range attributes {
		names = append(names, []pkix.AttributeTypeAndValue{a})
	}
	der, err := asn1.Marshal(names)
	if err != nil {
		f.Fatal(err)
	}
	return der
}

var (
	oidCommonName   = asn1.ObjectIdentifier{2, 5, 4, 3}
	oidOrganization = asn1.ObjectIdentifier{2, 5, 4, 10}
)

// FuzzCertificateNames signs random subjects by a trusted authority. The certificate has no user,
// or the user of its last common name, with exactly the groups in it.
func FuzzCertificateNames(f *testing.F) {
	named := func(oid asn1.ObjectIdentifier, value any) pkix.AttributeTypeAndValue {
		return pkix.AttributeTypeAndValue{Type: oid, Value: value}
	}
	cn, org, uid := oidCommonName, oidOrganization, oidUID
	for _, seed := range [][]pkix.AttributeTypeAndValue{
		nil,
		{named(cn, "alice"), named(org, "dev"), named(org, "system:masters"), named(uid, "1")},
		{named(cn, "alice"), named(cn, "bob")},
		{named(cn, "bob"), named(cn, "")},
		{named(org, "dev")},
		{named(cn, "alice"), named(uid, "1"), named(uid, "2")},
		{named(cn, "alice"), named(uid, "")},
		{named(cn, "alice"), named(uid, 7)},
		{named(cn, 7), named(org, true)},
		{named(cn, strings.Repeat("a", 70_000)), named(org, strings.Repeat("b", 70_000))},
		{named(cn, "alice\x00"), named(org, "system:masters\x00"), named(org, "system:masters ")},
		{named(cn, oddString(asn1.TagBMPString, "ålice")), named(org, oddString(asn1.TagBMPString, "\U0001F600"))},
		{named(cn, oddString(asn1.TagT61String, "al\xe9ce")), named(org, oddString(asn1.TagNumericString, "12 34"))},
		{named(cn, oddString(asn1.TagIA5String, "alice")), named(uid, oddString(asn1.TagPrintableString, "a*&"))},
		{named(cn, oddString(asn1.TagUTF8String, "a\xff")), named(org, oddString(asn1.TagGeneralString, "x"))},
	} {
		f.Add(subject(f, seed...))
	}
	f.Add([]byte{0x31, 0x00})
	ca := pkitest.NewAuthority(f, "ca")
	f.Fuzz(func(t *testing.T, subject []byte) {
		pair, err := ca.Pair.Sign(&x509.Certificate{RawSubject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		if err != nil {
			return
		}
		cert := pair.Cert
		name, uids, groups := attributes(cert)
		user, err := NewX509(func() *x509.CertPool { return ca.Pool }).Authenticate(with(cert))
		switch {
		case err != nil:
			if len(err.Error()) > 4<<10 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if len(uids) == 1 && uids[0] != "" {
				t.Errorf("%q with the uid %q is refused: %v", name, uids[0], err)
			}
		case user == nil:
			if name != "" {
				t.Errorf("%q has no user", name)
			}
		case user.Name != name || name == "" || !slices.Equal(user.Groups, append(groups, request.GroupAuthenticated)):
			t.Errorf("got %q in %q, want %q in %q", user.Name, user.Groups, name, groups)
		case user.UID != "" && !slices.Equal(uids, []string{user.UID}), user.UID == "" && len(uids) > 0:
			t.Errorf("got the uid %q of %q", user.UID, uids)
		}
	})
}

// attributes reads a subject independently: its last common name, its uids, and its organizations.
func attributes(c *x509.Certificate) (name string, uids, groups []string) {
	for _, a := range c.Subject.Names {
		text, ok := a.Value.(string)
		switch {
		case a.Type.Equal(oidUID):
			uids = append(uids, text)
		case !ok:
		case a.Type.Equal(oidCommonName):
			name = text
		case a.Type.Equal(oidOrganization):
			groups = append(groups, text)
		}
	}
	return name, uids, groups
}
