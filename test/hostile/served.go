package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// beside compares refusals with successful reads of an object of as many bytes, on as many
// connections. It measures both in turn, because the speed of machines changes, and takes the
// median of the ratios. A ratio above p.max is an error. The table shows the lowest cost of each.
func (p *plan) beside(ctx context.Context, coracle *process) error {
	fmt.Printf("%-28s %-5s %6s %8s %12s %12s %6s\n", "request", "", "status", "bytes", "refused", "served", "times")
	over := 0
	for i, q := range floods() {
		for _, proto := range []protocol{http1, http2} {
			if !p.only.MatchString(q.name) {
				continue
			}
			a, err := newSender(coracle, proto).once(ctx, &q)
			if err != nil {
				return fmt.Errorf("%s over %s: %w", q.name, proto, err)
			}
			if a.Status != 401 && a.Status != 403 {
				return fmt.Errorf("%s over %s: got %d, want a refusal: %.200s", q.name, proto, a.Status, a.Body)
			}
			served, err := readable(ctx, coracle, fmt.Sprintf("served-%d-%s", i, proto), len(a.Body))
			if err != nil {
				return err
			}
			refused, read := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			var ratios []float64
			for range p.rounds {
				one, err := p.cost(ctx, &q, proto, coracle)
				if err != nil {
					return err
				}
				other, err := p.cost(ctx, &served, proto, coracle)
				if err != nil {
					return err
				}
				refused, read = min(refused, one), min(read, other)
				ratios = append(ratios, float64(one)/float64(other))
			}
			slices.Sort(ratios)
			ratio, mark := ratios[len(ratios)/2], ""
			if ratio > p.max {
				over, mark = over+1, " <--"
			}
			fmt.Printf("%-28s %-5s %6d %8d %12v %12v %6.2f%s\n", q.name, proto, a.Status, len(a.Body), refused, read, ratio, mark)
		}
	}
	if over > 0 {
		return fmt.Errorf("%d refusals cost more than %g times a read of as many bytes", over, p.max)
	}
	return nil
}

// floods returns the requests that are refused before an object is read: without credentials, with
// wrong credentials, and of a client without permission.
func floods() []request {
	const object = "/api/v1/namespaces/kube-system/secrets/admin"
	return []request{
		{name: "nobody", method: "GET", target: object},
		{name: "wrong token", method: "GET", target: object, header: bearer("wrong")},
		{name: "wrong jwt", method: "GET", target: object, header: bearer("eyJhbGciOiJFUzI1NiJ9." + strings.Repeat("eyJhIjoxfQ", 60) + "." + strings.Repeat("c2ln", 22))},
		{name: "forbidden object", method: "GET", target: object, header: bearer(knownToken)},
		{name: "forbidden list", method: "GET", target: "/api/v1/secrets", header: bearer(knownToken)},
		{name: "forbidden watch", method: "GET", target: "/api/v1/secrets?watch=true", header: bearer(knownToken)},
		{name: "forbidden path", method: "GET", target: "/metrics", header: bearer(knownToken)},
		{name: "forbidden impersonation", method: "GET", target: object, header: append(bearer(knownToken), "Impersonate-User", "admin")},
	}
}

// readable creates a config map whose JSON has at least n bytes, and at most a few hundred more,
// and returns the request that reads it.
func readable(ctx context.Context, coracle *process, name string, n int) (request, error) {
	s := newSender(coracle, http1)
	defer s.close()
	q := request{method: "POST", target: configMaps, header: bearer(adminToken),
		body: []byte(fmt.Sprintf(`{"metadata":{"name":%q},"data":{"k":%q}}`, name, strings.Repeat("v", max(n-300, 0))))}
	if a, err := s.send(ctx, &q); err != nil || a.Status != 201 {
		return request{}, fmt.Errorf("create the object to read: got %+v, %v", a, err)
	}
	return request{name: name, method: "GET", target: configMaps + "/" + name, header: bearer(adminToken)}, nil
}
