package jwt

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
)

func claimsOf(t testing.TB, text string) claims {
	t.Helper()
	var c claims
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// mapped returns the mapping of an issuer that is valid except for its URL.
func mapped(t testing.TB, i Issuer) *mapping {
	t.Helper()
	i.Issuer = Source{URL: "https://issuer.example.com", Audiences: []string{"us"}}
	all, errs := compile(&Config{JWT: []Issuer{i}}, nil)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return &mapping{&i, all[0]}
}

func TestMappings(t *testing.T) {
	bySub := Mappings{Username: PrefixedMapping{Claim: "sub", Prefix: ptr("oidc:")}}
	by := func(expression string) Mappings { return Mappings{Username: PrefixedMapping{Expression: expression}} }
	const content = `{"sub":"alice","email":"a@b","email_verified":true,"n":7,"roles":["a","","b"],"deep":{"dotted.name":{"k-1":"v"}},"odd.name":"o","none":null,"list":[{"x.y":1}]}`
	for _, tt := range []struct {
		name    string
		issuer  Issuer
		content string
		want    *request.User
		fails   string
	}{
		{"prefix", Issuer{ClaimMappings: bySub}, content, &request.User{Name: "oidc:alice"}, ""},
		{"e-mail", Issuer{ClaimMappings: Mappings{Username: PrefixedMapping{Claim: "email", Prefix: ptr("")}}}, content, &request.User{Name: "a@b"}, ""},
		{"e-mail, not verified", Issuer{ClaimMappings: Mappings{Username: PrefixedMapping{Claim: "email", Prefix: ptr("")}}}, `{"email":"a@b","email_verified":false}`, nil, "email not verified"},
		{"e-mail, verified by null", Issuer{ClaimMappings: Mappings{Username: PrefixedMapping{Claim: "email", Prefix: ptr("")}}}, `{"email":"a@b","email_verified":null}`, nil, "email not verified"},
		{"e-mail, perhaps verified", Issuer{ClaimMappings: Mappings{Username: PrefixedMapping{Claim: "email", Prefix: ptr("")}}}, `{"email":"a@b","email_verified":"yes"}`, nil, "email_verified"},
		{"e-mail, nothing said", Issuer{ClaimMappings: Mappings{Username: PrefixedMapping{Claim: "email", Prefix: ptr("")}}}, `{"email":"a@b"}`, &request.User{Name: "a@b"}, ""},
		{"expression", Issuer{ClaimMappings: by("claims.sub + '!'")}, content, &request.User{Name: "alice!"}, ""},
		{"no text", Issuer{ClaimMappings: by("claims.n")}, content, nil, "username claim expression must return a string"},
		{"empty", Issuer{ClaimMappings: by("''")}, content, nil, "empty username"},
		{"missing", Issuer{ClaimMappings: by("claims.gone")}, content, nil, "no such key"},
		{"escaped names", Issuer{ClaimMappings: by("claims.odd__dot__name + claims.deep.dotted__dot__name.k__dash__1 + string(claims.list[0].x__dot__y)")}, content, &request.User{Name: "ov1"}, ""},
		{"all of a user", Issuer{ClaimMappings: Mappings{
			Username: PrefixedMapping{Expression: "claims.sub"}, Groups: PrefixedMapping{Expression: "claims.roles"},
			UID: Mapping{Expression: "string(claims.n)"},
			Extra: []ExtraMapping{
				{"example.com/a", "dyn(claims.roles).map(r, r + '!')"}, {"example.com/none", "claims.none"}, {"example.com/empty", "''"}, {"example.com/has", "has(claims.sub) ? 'yes' : 'no'"},
			},
		}}, content, &request.User{Name: "alice", UID: "7", Groups: []string{"a", "b"}, Extra: map[string][]string{
			"example.com/a": {"a!", "!", "b!"}, "example.com/has": {"yes"},
		}}, ""},
		{"uid of a claim", Issuer{ClaimMappings: Mappings{Username: bySub.Username, UID: Mapping{Claim: "email"}}}, content, &request.User{Name: "oidc:alice", UID: "a@b"}, ""},
		{"groups of numbers", Issuer{ClaimMappings: Mappings{Username: bySub.Username, Groups: PrefixedMapping{Expression: "[1, 2]"}}}, content, nil, "a string or a list of strings"},
		{"required", Issuer{ClaimMappings: bySub, ClaimValidationRules: []ClaimRule{{Claim: "email", RequiredValue: "a@b"}}}, content, &request.User{Name: "oidc:alice"}, ""},
		{"required, other", Issuer{ClaimMappings: bySub, ClaimValidationRules: []ClaimRule{{Claim: "email", RequiredValue: "b@a"}}}, content, nil, "value does not match"},
		{"required, missing", Issuer{ClaimMappings: bySub, ClaimValidationRules: []ClaimRule{{Claim: "gone"}}}, content, nil, "not present"},
		{"required, no text", Issuer{ClaimMappings: bySub, ClaimValidationRules: []ClaimRule{{Claim: "n"}}}, content, nil, "parse claim n"},
		{"rule", Issuer{ClaimMappings: bySub, ClaimValidationRules: []ClaimRule{{Expression: "claims.n == 7"}}}, content, &request.User{Name: "oidc:alice"}, ""},
		{"broken rule", Issuer{ClaimMappings: bySub, ClaimValidationRules: []ClaimRule{{Expression: "claims.n < 7", Message: "too many"}}}, content, nil, "'claims.n < 7' failed: too many"},
		{"user rule", Issuer{ClaimMappings: bySub, UserValidationRules: []ExpressionRule{{Expression: "user.username.startsWith('oidc:') && user.groups.size() == 0 && user.uid == ''"}}}, content, &request.User{Name: "oidc:alice"}, ""},
		{"broken user rule", Issuer{ClaimMappings: bySub, UserValidationRules: []ExpressionRule{{Expression: "!user.username.startsWith('oidc:')"}}}, content, nil, "user info validation rule"},
		{"too much", Issuer{ClaimMappings: by("lists.range(100000000).size() > 0 ? 'a' : 'b'")}, content, nil, "cost limit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			user, err := mapped(t, tt.issuer).user(t.Context(), claimsOf(t, tt.content))
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("got %+v, %v, want an error with %q", user, err, tt.fails)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(user, tt.want) {
				t.Errorf("got %+v, %v, want %+v", user, err, tt.want)
			}
		})
	}
}

func TestRead(t *testing.T) {
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
	for _, tt := range []struct{ name, text, fails string }{
		{"v1", head, ""},
		{"v1beta1", strings.Replace(head, "v1", "v1beta1", 1), ""},
		{"v1alpha1", strings.Replace(head, "v1", "v1alpha1", 1), ""},
		{"v2", strings.Replace(head, "v1", "v2", 1), "no kind"},
		{"whole", head + "jwt: [{issuer: {url: 'https://a', audiences: [b]}, claimMappings: {username: {claim: sub, prefix: ''}}}]\nanonymous: {enabled: true, conditions: [{path: /livez}]}\n", ""},
		{"empty", "", "empty config data"},
		{"nothing", "a: b\n", "'Kind' is missing"},
		{"other kind", strings.Replace(head, "Authentication", "Encryption", 1), "no kind"},
		{"unknown field", head + "jwt: [{issuer: {URL: 'https://a'}}]\n", `strict decoding error: unknown field "jwt[0].issuer.URL"`},
		{"repeated field", head + "jwt: []\njwt: []\n", `strict decoding error: yaml: unmarshal errors`},
		{"wrong type", head + "jwt: 7\n", "cannot unmarshal"},
		{"no YAML", "\t{", "yaml"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Read([]byte(tt.text))
			if tt.fails == "" && err != nil || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
				t.Errorf("got %v, want %q", err, tt.fails)
			}
			if tt.name == "whole" && (c.JWT[0].Issuer.URL != "https://a" || *c.JWT[0].ClaimMappings.Username.Prefix != "" || c.Anonymous.Conditions[0].Path != "/livez") {
				t.Errorf("got %+v", c)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add("apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt: [{issuer: {url: 'https://a', audiences: [b]}, claimMappings: {username: {expression: claims.email}}}]\n")
	f.Add(`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthenticationConfiguration","jwt":[{"claimMappings":{"extra":[{"key":"a/b"}]}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := Read([]byte(text)); err == nil {
			Validate(c, nil)
		}
	})
}

// FuzzClaimedIssuer: random tokens are handled without delay.
func FuzzClaimedIssuer(f *testing.F) {
	f.Add("a.eyJpc3MiOiJodHRwczovL2EifQ.b")
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		if iss := claimedIssuer(token); iss != "" && strings.Count(token, ".") != 2 {
			t.Errorf("%q is of %q", token, iss)
		}
	})
}
