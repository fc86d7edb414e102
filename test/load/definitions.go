package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Definitions are not a scenario: they are created one after the other, each after the one before
// is established, and they cost memory as well as time.

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// restBeforeMemory is the time that the servers get to release memory before it is measured.
const restBeforeMemory = 20 * time.Second

// definitions creates n definitions of about size bytes, each when the one before is established,
// lists the instances of each, and asks for the OpenAPI document that describes all of them. At the
// end it removes them.
type definitions struct {
	*target
	group   string
	n, size int
	rest    time.Duration
	buf     bytes.Buffer
}

func (d *definitions) name(i int) string { return fmt.Sprintf("things%d.%s", i, d.group) }

// definition is the body of the i-th definition.
func (d *definitions) definition(i int) []byte {
	const fill = 100
	var fields []string
	for at := 0; at*(fill+130) < d.size; at++ {
		fields = append(fields, fmt.Sprintf(`"field%d":{"type":"string","description":%q,"maxLength":63,"pattern":"^[a-z]+$"}`,
			at, strings.Repeat("d", fill)))
	}
	return fmt.Appendf(nil, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":%q},"spec":{"group":%q,`+
		`"scope":"Namespaced","names":{"plural":"things%[3]d","kind":"Thing%[3]d"},"versions":[{"name":"v1","served":true,"storage":true,`+
		`"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{%[4]s}}}}}}]}}`,
		d.name(i), d.group, i, strings.Join(fields, ","))
}

// run measures the definitions and prints their cost.
func (d *definitions) run(ctx context.Context, out io.Writer) error {
	defer d.remove()
	memory, cpu, r := resident(d.pids), cpuOf(d.pids), result{}
	for i := range d.n {
		begin := time.Now()
		if err := d.establish(ctx, d.name(i), d.definition(i), &d.buf); err != nil {
			return err
		}
		r.latency = append(r.latency, time.Since(begin))
	}
	each := (cpuOf(d.pids) - cpu) / time.Duration(d.n)
	select {
	case <-time.After(d.rest):
	case <-ctx.Done():
		return ctx.Err()
	}
	idle := resident(d.pids)
	for i := range d.n {
		if err := d.do(ctx, get(fmt.Sprintf("/apis/%s/v1/things%d", d.group, i)), &d.buf); err != nil {
			return err
		}
	}
	listed, begin := resident(d.pids), time.Now()
	if err := d.do(ctx, get("/openapi/v2"), &d.buf); err != nil {
		return err
	}
	perDefinition := func(bytes int64) int64 { return (bytes - memory) >> 10 / int64(d.n) }
	fmt.Fprintf(out, "%s: established p50 %v p99 %v, CPU each %v, resident KiB each %d, once listed %d, OpenAPI v2 of %d bytes in %v\n",
		d.target.name, r.percentile(.5).Round(time.Microsecond), r.percentile(.99).Round(time.Microsecond), each.Round(time.Microsecond),
		perDefinition(idle), perDefinition(listed), d.buf.Len(), time.Since(begin).Round(time.Millisecond))
	return nil
}

// establish creates a definition and waits until it is established.
func (t *target) establish(ctx context.Context, name string, definition []byte, buf *bytes.Buffer) error {
	create := request{method: "POST", path: definitionsPath, body: definition, want: http.StatusCreated}
	if err := t.do(ctx, create, buf); err != nil {
		return err
	}
	for {
		if err := t.do(ctx, get(definitionsPath+"/"+name), buf); err != nil {
			return err
		}
		var def struct {
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
		if err := json.Unmarshal(buf.Bytes(), &def); err != nil {
			return err
		}
		for _, c := range def.Status.Conditions {
			if c.Type == "Established" && c.Status == "True" {
				return nil
			}
		}
		time.Sleep(500 * time.Microsecond)
	}
}

// remove deletes the definitions and ignores errors. It runs after an interrupt, too.
func (d *definitions) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for i := range d.n {
		if resp, err := d.open(ctx, request{method: "DELETE", path: definitionsPath + "/" + d.name(i)}); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
}

// measureDefinitions measures all targets, one after the other.
func measureDefinitions(ctx context.Context, p plan, n int, rest time.Duration, specs []string, out io.Writer) error {
	for _, spec := range specs {
		t, err := parseTarget(spec, protocols[0], p)
		if err != nil {
			return err
		}
		group := "load-" + strconv.FormatInt(time.Now().UnixNano(), 36) + ".example.com"
		d := &definitions{target: t, group: group, n: n, size: p.size, rest: rest}
		if err := d.run(ctx, out); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}
