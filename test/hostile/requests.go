package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// request is one request. Over HTTP/1.1 it is sent byte for byte.
type request struct {
	name           string
	method, target string
	header         []string // name, value, name, value, ...
	body           []byte
	odd            bool // the HTTP/2 client of the standard library cannot send it
}

// raw returns the request in the form of HTTP/1.1.
func (q *request) raw() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\n", q.method, q.target)
	for i := 0; i < len(q.header); i += 2 {
		fmt.Fprintf(&b, "%s: %s\r\n", q.header[i], q.header[i+1])
	}
	if q.body != nil {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(q.body))
	}
	b.WriteString("\r\n")
	b.Write(q.body)
	return b.Bytes()
}

// The tokens of clients. A stranger has none.
const (
	adminToken = "hostile-admin"
	knownToken = "hostile-known" // of an authenticated client without permissions
)

// sizes are the lengths of the long parts, in bytes. The last one is more than
// the server accepts.
var sizes = []int{256, 4 << 10, 56 << 10, 900 << 10}

// fill repeats f(0) + f(1) + ... up to n bytes.
func fill(n int, f func(i int) string) string {
	var b strings.Builder
	for i := 0; ; i++ {
		s := f(i)
		if b.Len()+len(s) > n {
			return b.String()
		}
		b.WriteString(s)
	}
}

func same(s string) func(int) string { return func(int) string { return s } }

// refused returns the requests that the server must refuse: each form at each size.
func refused() []request {
	out := []request{
		{name: "root", method: "GET", target: "/"},
		{name: "head", method: "HEAD", target: "/api/v1/pods"},
		{name: "list", method: "GET", target: "/api/v1/secrets"},
		{name: "object", method: "GET", target: "/api/v1/namespaces/kube-system/secrets/admin"},
		{name: "watch", method: "GET", target: "/api/v1/secrets?watch=true&timeoutSeconds=3600"},
		{name: "legacy watch", method: "GET", target: "/api/v1/watch/secrets"},
		{name: "unknown group", method: "GET", target: "/apis/example.com/v1/things"},
		{name: "token", method: "GET", target: "/api/v1/secrets", header: bearer("wrong")},
		{name: "known", method: "GET", target: "/api/v1/secrets", header: bearer(knownToken)},
		{name: "impersonate", method: "GET", target: "/api/v1/secrets", header: append(bearer(knownToken), "Impersonate-User", "admin")},
		{name: "preflight", method: "OPTIONS", target: "/api/v1/pods", header: []string{"Origin", "https://a.example", "Access-Control-Request-Method", "GET"}},
		{name: "upgrade", method: "POST", target: "/api/v1/namespaces/default/pods/a/exec?command=sh", odd: true,
			header: []string{"Connection", "Upgrade", "Upgrade", "SPDY/3.1"}},
		{name: "bad timeout", method: "GET", target: "/api/v1/pods?timeout=soon"},
		{name: "bad escape", method: "GET", target: "/api/v1/pods?labelSelector=%zz"},
		{name: "semicolon", method: "GET", target: "/api/v1/pods?a=1;b=2"},
	}
	for _, n := range sizes {
		for _, q := range long(n) {
			q.name += " " + strconv.Itoa(n)
			if q.method == "" {
				q.method = "GET"
			}
			if q.target == "" {
				q.target = "/api/v1/secrets"
			}
			out = append(out, q)
		}
	}
	return out
}

// long returns the requests that have one part of n bytes.
func long(n int) []request {
	return []request{
		{name: "accept parameters", header: []string{"Accept", "application/json" + fill(n, func(i int) string { return ";p" + strconv.Itoa(i) + "=1" })}},
		{name: "accept clauses", header: []string{"Accept", fill(n, func(i int) string { return "a/b" + strconv.Itoa(i) + ";q=0." + strconv.Itoa(i) + "," }) + "*/*"}},
		{name: "accept commas", header: []string{"Accept", fill(n, same(",")) + "application/json"}},
		{name: "accept lines", header: lines("Accept", n, func(i int) string { return "application/json;as=Table" })},
		{name: "accept-encoding", header: []string{"Accept-Encoding", fill(n, func(i int) string { return "gzip;q=0." + strconv.Itoa(i) + "," })}},
		{name: "content-type", method: "POST", body: []byte("{}"),
			header: []string{"Content-Type", "application/json" + fill(n, func(i int) string { return ";p" + strconv.Itoa(i) + "=1" })}},
		{name: "bearer", header: bearer(fill(n, same("x")))},
		{name: "jwt", header: bearer("eyJhbGciOiJFUzI1NiJ9." + fill(n, same("eyJhIjoxfQ")) + ".c2ln")},
		{name: "basic", header: []string{"Authorization", "Basic " + fill(n, same("dXNlcjpw"))}},
		{name: "credentials lines", header: lines("Authorization", n, func(i int) string { return "Bearer " + strconv.Itoa(i) })},
		{name: "user-agent", header: []string{"User-Agent", fill(n, same("Mozilla/5.0 \""))}},
		{name: "audit-id", header: []string{"Audit-ID", fill(n, same("a"))}},
		{name: "cookie", header: []string{"Cookie", fill(n, func(i int) string { return "c" + strconv.Itoa(i) + "=1; " })}},
		{name: "origin", header: []string{"Origin", fill(n, same("https://"))}},
		{name: "forwarded", header: []string{"X-Forwarded-For", fill(n, same("10.0.0.1, "))}},
		{name: "header lines", header: names(n, "X-Stranger-")},
		{name: "impersonate lines", header: append(bearer(knownToken), names(n, "Impersonate-Extra-")...)},
		{name: "path", target: "/" + fill(n, same("a"))},
		{name: "path markup", target: "/" + fill(n, same("<"))},
		{name: "path escapes", target: "/" + fill(n, same("%01"))},
		{name: "path segments", target: "/api/v1/" + fill(n, same("a/"))},
		{name: "path slashes", target: fill(n, same("/")), odd: true},
		{name: "path namespace", target: "/api/v1/namespaces/" + fill(n/3, same("<")) + "/pods/" + fill(n/3, same("&")) + "/" + fill(n/3, same("\""))},
		{name: "query", target: "/api/v1/secrets?" + fill(n, same("a"))},
		{name: "query parameters", target: "/api/v1/secrets?" + fill(n, same("a&"))},
		{name: "query escapes", target: "/api/v1/secrets?a=" + fill(n, same("%3d"))},
		{name: "query pretty", target: "/api/v1/secrets?" + fill(n, same("pretty=%31&"))},
		{name: "label selector", target: "/api/v1/secrets?labelSelector=" + fill(n, func(i int) string { return "a" + strconv.Itoa(i) + "," }) + "z"},
		{name: "field selector", target: "/api/v1/secrets?fieldSelector=" + fill(n, func(i int) string { return "a=" + strconv.Itoa(i) + "," }) + "z=1"},
		{name: "method", method: fill(n, same("X")), odd: true},
		{name: "body", method: "POST", body: []byte(fill(n, same("[")))},
		{name: "body of exec", method: "POST", target: "/api/v1/namespaces/default/pods/a/exec", body: []byte(fill(n, same("x")))},
	}
}

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

// lines are header lines of one name, n bytes in all.
func lines(name string, n int, value func(i int) string) []string {
	var out []string
	for i := 0; n > 0; i++ {
		out = append(out, name, value(i))
		n -= len(name) + len(value(i)) + 4
	}
	return out
}

// names are header lines of many names, n bytes in all.
func names(n int, prefix string) []string {
	var out []string
	for i := 0; n > 0; i++ {
		name := prefix + strconv.Itoa(i)
		out = append(out, name, "1")
		n -= len(name) + 5
	}
	return out
}
