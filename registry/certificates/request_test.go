package certificates

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// block encodes DER as a PEM block.
func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// signed returns a PKCS #10 request in DER.
func signed(t *testing.T) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "jane"}}, pkitest.Key(t))
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// issued returns a certificate in DER.
func issued(t *testing.T) []byte {
	t.Helper()
	return pkitest.SelfSigned(t).Cert.Raw
}

// asked returns a request with a valid spec.request. spec has the JSON of further fields of the
// spec, status that of the status.
func asked(t *testing.T, spec, status string) *signingRequest {
	t.Helper()
	if !strings.Contains(spec, `"request"`) {
		spec += `,"request":"` + base64.StdEncoding.EncodeToString(block("CERTIFICATE REQUEST", signed(t))) + `"`
	}
	return checktest.Decode[signingRequest](t, `{"spec":{`+strings.Trim(spec, ",")+`},"status":{`+status+`}}`)
}

const plain = `"signerName":"example.com/signer","usages":["client auth"]`

func kind(t *testing.T) *registry.Resource {
	t.Helper()
	return checktest.Resource(t, Resources(), "CertificateSigningRequest")
}

// doors has the ways to update a stored request, by subresource.
func doors(t *testing.T) map[string]func(obj, old *signingRequest) string {
	t.Helper()
	r := kind(t)
	through := func(prepare func(*registry.Request, meta.Object, meta.Object), check func(obj, old meta.Object) string) func(obj, old *signingRequest) string {
		return func(obj, old *signingRequest) string {
			prepare(&registry.Request{Now: now}, obj, old)
			return check(obj, old)
		}
	}
	list := map[string]func(obj, old *signingRequest) string{
		"": through(r.Strategy.Prepare, func(obj, old meta.Object) string { return text(r.Strategy.Validate(obj, old)) }),
		"status": through(r.Status.Prepare, func(obj, old meta.Object) string {
			return text(r.Status.Validate(obj, old))
		}),
	}
	for _, sub := range r.Subresources {
		list[sub.Name] = through(sub.Prepare, func(obj, old meta.Object) string { return text(sub.Validate(obj, old)) })
	}
	return list
}

func text[E error](errs []E) string {
	var lines []string
	for _, err := range errs {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

func TestRequests(t *testing.T) {
	s := kind(t).Strategy
	long := strings.Repeat("a", 63)
	domain := long + "." + long + "." + long + "." + long // 255
	names := strings.TrimSuffix(strings.Repeat(long+".", 6), ".")
	const signer = `spec.signerName: Invalid value: `
	for spec, want := range map[string]string{
		plain:                               ``,
		`"usages":["client auth"]`:          `spec.signerName: Required value`,
		`"signerName":"example.com/signer"`: `spec.usages: Required value`,
		plain + `,"expirationSeconds":600`:  ``,
		plain + `,"expirationSeconds":599`:  `spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)`,
		`"signerName":"example.com/s","usages":["any","signing","any"]`: `spec.usages[2]: Duplicate value: "any"`,
		`"signerName":"example.com/s","usages":["odd"]`: `spec.usages[0]: Unsupported value: "odd": supported values: "any", "cert sign", "client auth", "code signing", ` +
			`"content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", ` +
			`"ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"`,
		`"usages":["any"],"signerName":"kubernetes.io/legacy-unknown"`: signer + `"kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version`,
		`"usages":["any"],"signerName":"example.com"`:                  signer + `"example.com": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
		`"usages":["any"],"signerName":"example.com/a/b"`:              signer + `"example.com/a/b": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
		`"usages":["any"],"signerName":"example/a"`:                    signer + `"example": should be a domain with at least two segments separated by dots`,
		`"usages":["any"],"signerName":"a.B.C/a"`:                      signer + `"a.B.C": validating label "B": ` + checktest.Label,
		`"usages":["any"],"signerName":"a.b/c.D"`:                      signer + `"c.D": validating label "D": ` + checktest.Subdomain,
		`"usages":["any"],"signerName":"` + domain[2:] + `/a"`:         ``,
		`"usages":["any"],"signerName":"` + domain[1:] + `/a"`:         `spec.signerName: Too long: may not be more than 253 bytes`,
		`"usages":["any"],"signerName":"a.b/` + names + `.` + strings.Repeat("a", 63) + `.` + strings.Repeat("b", 63) + `.` + strings.Repeat("c", 54) + `"`: ``,
		`"usages":["any"],"signerName":"a.b/` + names + `.` + strings.Repeat("a", 63) + `.` + strings.Repeat("b", 63) + `.` + strings.Repeat("c", 56) + `"`: `spec.signerName: Too long: may not be more than 571 bytes`,
	} {
		t.Run(spec, func(t *testing.T) {
			checktest.Want(t, s.Validate(asked(t, spec, ""), nil), want)
		})
	}
	if len(names) != 383 {
		t.Errorf("the path is of %d bytes", len(names))
	}
}

// unsigned returns a request for an RSA key with this many bits. Its signature is invalid, because
// no private key exists.
func unsigned(t *testing.T, bits int) []byte {
	t.Helper()
	key, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), bits-1, 1), E: 65537})
	if err != nil {
		t.Fatal(err)
	}
	type info struct {
		Version    int
		Subject    []int
		Key        asn1.RawValue
		Attributes []int `asn1:"tag:0"`
	}
	der, err := asn1.Marshal(struct {
		Info      info
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{
		info{Key: asn1.RawValue{FullBytes: key}},
		pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}, Parameters: asn1.NullRawValue},
		asn1.BitString{Bytes: []byte("x"), BitLength: 8},
	})
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// TestSigned: a request must be a PKCS #10 request that is signed with its own key.
func TestSigned(t *testing.T) {
	der := signed(t)
	if err := checkSigned(block("CERTIFICATE REQUEST", der)); err != nil {
		t.Error(err)
	}
	forged := append([]byte(nil), der...)
	forged[len(forged)-1] ^= 1
	for want, in := range map[string][]byte{
		"PEM block type must be CERTIFICATE REQUEST": block("CERTIFICATE", der),
		"x509: ECDSA verification failure":           block("CERTIFICATE REQUEST", forged),
		"asn1: ":                                     block("CERTIFICATE REQUEST", []byte("x")),
		"crypto/rsa: verification error":             block("CERTIFICATE REQUEST", unsigned(t, maxKeyBits)),
		"the RSA key has more than 16384 bits":       block("CERTIFICATE REQUEST", unsigned(t, maxKeyBits+1)),
	} {
		if err := checkSigned(in); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := checkSigned(nil); err == nil {
		t.Error("no request at all is fine")
	}
	checktest.Want(t, kind(t).Strategy.Validate(asked(t, plain+`,"request":"YQ=="`, ""), nil),
		`spec.request: Invalid value: "YQ==": PEM block type must be CERTIFICATE REQUEST`)
}

func TestCertificates(t *testing.T) {
	der := issued(t)
	one := block("CERTIFICATE", der)
	for want, in := range map[string][]byte{
		"": append(append([]byte("a remark\n"), one...), one...),
		"must contain at least one CERTIFICATE PEM block":              []byte("a"),
		`only CERTIFICATE PEM blocks are allowed, found "PRIVATE KEY"`: append(append([]byte(nil), one...), block("PRIVATE KEY", der)...),
		"found CERTIFICATE PEM block containing 0 certificates":        block("CERTIFICATE", nil),
		"no PEM block headers are permitted":                           pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Headers: map[string]string{"a": "b"}, Bytes: der}),
		"x509: malformed certificate":                                  block("CERTIFICATE", []byte("x")),
	} {
		err := checkCertificate(in)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// conditions returns a list of conditions that are true and have a transition time in the past.
func conditions(types ...string) string {
	for i, t := range types {
		types[i] = `{"type":"` + t + `","status":"True","lastUpdateTime":"2030-01-01T00:00:00Z","lastTransitionTime":"2030-01-01T00:00:00Z"}`
	}
	return `"conditions":[` + strings.Join(types, ",") + `]`
}

func certificate(pem []byte) string {
	return `"certificate":"` + base64.StdEncoding.EncodeToString(pem) + `"`
}

// TestDoors: the spec never changes; the subresource approval changes approvals, the subresource
// status changes certificates and all other conditions.
func TestDoors(t *testing.T) {
	cert, other := certificate(block("CERTIFICATE", issued(t))), certificate(block("CERTIFICATE", issued(t)))
	forbidden := func(path, msg string) string { return "status." + path + ": Forbidden: " + msg }
	for _, tt := range []struct{ old, new, door, want string }{
		{``, conditions("Approved"), "approval", ``},
		{``, conditions("Approved"), "status", forbidden("conditions", `updates may not add a condition of type "Approved"`)},
		{``, conditions("Denied"), "", forbidden("conditions", `updates may not add a condition of type "Denied"`)},
		{conditions("Approved"), conditions("Approved", "Failed"), "status", ``},
		{conditions("Approved"), ``, "approval", forbidden("conditions", `updates may not remove a condition of type "Approved"`)},
		{conditions("Denied", "Failed"), conditions("Other"), "status", forbidden("conditions", `updates may not remove a condition of type "Denied"`) + "\n" +
			forbidden("conditions", `updates may not remove a condition of type "Failed"`)},
		{``, conditions("Approved", "Denied"), "approval", `status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive`},
		{``, conditions("Denied", "Approved"), "approval", `status.conditions: Invalid value: "Approved": Approved and Denied conditions are mutually exclusive`},
		{conditions("Denied", "Approved"), conditions("Denied", "Approved", "Other"), "approval", ``},
		{``, conditions("a", "a"), "status", `status.conditions[1].type: Duplicate value: "a"`},
		{conditions("a", "a"), conditions("a", "a", "a"), "status", ``},
		{``, conditions(""), "status", `status.conditions[0].type: Required value`},
		{conditions(""), conditions("", "a"), "status", ``},
		{``, `"conditions":[{"type":"a"}]`, "status", `status.conditions[0].status: Required value`},
		{``, `"conditions":[{"type":"a","status":"Odd"}]`, "status", `status.conditions[0].status: Unsupported value: "Odd": supported values: "False", "True", "Unknown"`},
		{``, `"conditions":[{"type":"Failed","status":"False"}]`, "status", `status.conditions[0].status: Unsupported value: "False": supported values: "True"`},
		{``, `"conditions":[{"type":"a","status":"Unknown"},{"type":"b","status":"False"}]`, "status", ``},
		{``, cert, "status", ``},
		{``, cert, "approval", forbidden("certificate", "updates may not set certificate content")},
		{cert, other, "status", forbidden("certificate", "updates may not modify existing certificate content")},
		{cert, cert, "status", ``},
		{cert, ``, "status", forbidden("certificate", "updates may not modify existing certificate content")},
		{``, certificate([]byte("a")), "status", `status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block`},
		{certificate([]byte("a")), certificate([]byte("b")), "status", forbidden("certificate", "updates may not modify existing certificate content")},
		{certificate([]byte("a")), certificate([]byte("a")), "status", ``},
	} {
		t.Run(tt.door+" "+tt.old+" to "+tt.new, func(t *testing.T) {
			old := asked(t, plain, tt.old)
			next := asked(t, plain, tt.new)
			next.Spec = old.Spec
			if got := doors(t)[tt.door](next, old); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestStored: a stored request that violates a rule that was added later can still be updated.
func TestStored(t *testing.T) {
	spec := `"signerName":"kubernetes.io/legacy-unknown","usages":["odd","any","any"]`
	old := asked(t, spec, "")
	next := asked(t, plain, "")
	if got := doors(t)[""](next, old); got != "" || next.Spec.SignerName != old.Spec.SignerName {
		t.Errorf("got %s, signer %s", got, next.Spec.SignerName)
	}
}

// TestApprovalsStay: a write to the subresource status does not change approvals.
func TestApprovalsStay(t *testing.T) {
	old := asked(t, plain, `"conditions":[{"type":"Approved","status":"True","reason":"a","lastUpdateTime":"2030-01-01T00:00:00Z","lastTransitionTime":"2030-01-01T00:00:00Z"}]`)
	next := asked(t, plain, `"conditions":[{"type":"Failed","status":"True"},{"type":"Approved","status":"True","reason":"b"}]`)
	if got := doors(t)["status"](next, old); got != "" || next.Status.Conditions[1] != old.Status.Conditions[0] {
		t.Errorf("got %s, %+v", got, next.Status.Conditions)
	}
	next = asked(t, plain, `"conditions":[{"type":"Approved","status":"True","reason":"b"}]`)
	next.Spec = old.Spec
	want := "status.conditions: Forbidden: updates may not modify a condition of type \"Approved\"\n"
	if got := doors(t)[""](next, old); !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s...", got, want)
	}
}

// TestTimes: a condition without a transition time gets the present time, unless the old object has
// it with the same status.
func TestTimes(t *testing.T) {
	early := meta.NewTime(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	old := asked(t, plain, `"conditions":[{"type":"a","status":"True","lastTransitionTime":"2030-01-01T00:00:00Z"},{"type":"b","status":"True"},`+
		`{"type":"c","status":"True","lastTransitionTime":"2030-01-01T00:00:00Z"}]`)
	next := asked(t, plain, `"conditions":[{"type":"a","status":"True"},{"type":"b","status":"True"},{"type":"c","status":"False"},`+
		`{"type":"d","status":"True","lastUpdateTime":"2030-01-01T00:00:00Z","lastTransitionTime":"2030-01-01T00:00:00Z"}]`)
	if got := doors(t)["approval"](next, old); got != "" {
		t.Error(got)
	}
	for i, want := range []struct{ updated, since time.Time }{{now, early.Time}, {now, now}, {now, now}, {early.Time, early.Time}} {
		if c := next.Status.Conditions[i]; !c.LastUpdateTime.Time.Equal(want.updated) || !c.LastTransitionTime.Time.Equal(want.since) {
			t.Errorf("condition %s: got %v, %v", c.Type, c.LastUpdateTime, c.LastTransitionTime)
		}
	}
}

// TestWhoAsks: the server sets the user of a request, whatever the client sends.
func TestWhoAsks(t *testing.T) {
	s := kind(t).Strategy
	lie := plain + `,"username":"root","uid":"0","groups":["system:masters"],"extra":{"a":["b"]}`
	r := asked(t, lie, "")
	s.Prepare(&registry.Request{User: &request.User{Name: "jane", UID: "7", Groups: []string{"dev"}, Extra: map[string][]string{"x": {"y"}}}}, r, nil)
	if got := r.Spec; got.Username != "jane" || got.UID != "7" || len(got.Groups) != 1 || got.Groups[0] != "dev" || len(got.Extra) != 1 || got.Extra["x"][0] != "y" {
		t.Errorf("got %+v", got)
	}
	r = asked(t, lie, "")
	s.Prepare(&registry.Request{}, r, nil)
	if got := r.Spec; got.Username != "" || got.UID != "" || got.Groups != nil || got.Extra != nil {
		t.Errorf("got %+v", got)
	}
	if m := kind(t); m.Strategy.Metadata != registry.MetaWhole || m.Status.Metadata != registry.MetaWhole || !m.Strategy.AllowUnconditionalUpdate {
		t.Errorf("got %+v", m.Strategy)
	}
}

func TestCells(t *testing.T) {
	cert := certificate(block("CERTIFICATE", issued(t)))
	for status, want := range map[string]string{
		``:                                  "Pending",
		conditions("Approved"):              "Approved",
		conditions("Denied", "Approved"):    "Denied",
		conditions("Approved") + `,` + cert: "Approved,Issued",
		conditions("Failed"):                "Pending,Failed",
		conditions("Failed", "Other") + `,` + cert: "Pending,Failed,Issued",
	} {
		checktest.WantCells(t, kind(t), asked(t, plain+`,"username":"jane","expirationSeconds":3600`, status), now,
			"x", "<unknown>", "example.com/signer", "jane", "60m", want)
	}
	checktest.WantCells(t, kind(t), &certificatesv1.CertificateSigningRequest{}, now, "", "<unknown>", "<none>", "", "<none>", "Pending")
}
