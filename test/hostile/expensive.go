package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// expensive.go measures the most expensive requests of an authenticated client (-expensive): how
// much processor time each takes, and how long another client waits while it is sent.

const (
	maxBody    = 3<<20 - 1<<10 // bytes: the server's limit, less room for what surrounds the long part
	configMaps = "/api/v1/namespaces/default/configmaps"
	pods       = "/api/v1/namespaces/default/pods"
	services   = "/api/v1/namespaces/default/services"

	bystanders = 2000                   // objects that exist beside those of the requests
	patience   = 250 * time.Millisecond // the longest that another client may wait
	onlooking  = 5 * time.Second        // for each request
)

// expensiveRequests returns requests that cause as much work as the server's limits allow. The
// client may write. Most of the requests are refused.
func expensiveRequests() []request {
	yaml := []string{"Content-Type", "application/yaml"}
	patch := func(kind string) []string { return []string{"Content-Type", "application/" + kind + "-patch+json"} }
	quoted := func(i int) string { return `"k` + strconv.Itoa(i) + `":"",` }
	ports := func(n int, protocol string) string {
		return fill(n, func(i int) string { return `{"port":` + strconv.Itoa(i%65535+1) + `,"protocol":"` + protocol + `"},` })
	}
	out := []request{
		{name: "json repeated keys", method: "POST", target: configMaps, body: configMap(fill(maxBody, same(`"a":"",`)))},
		{name: "json many keys", method: "POST", target: configMaps + "?dryRun=All", body: configMap(fill(maxBody, quoted))},
		{name: "json unknown fields", method: "POST", target: configMaps + "?dryRun=All&fieldValidation=Strict",
			body: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},` + fill(maxBody, quoted) + `"z":1}`)},
		{name: "json depth", method: "POST", target: configMaps, body: []byte(`{"metadata":` + fill(maxBody, same("[")))},
		{name: "yaml repeated keys", method: "POST", target: configMaps, header: yaml,
			body: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a}\ndata:\n" + fill(maxBody, same(" a:\n")))},
		{name: "yaml many keys", method: "POST", target: configMaps, header: yaml,
			body: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a}\ndata:\n" + fill(maxBody, func(i int) string { return " k" + strconv.Itoa(i) + ": a\n" }))},
		{name: "yaml flow", method: "POST", target: configMaps, header: yaml, body: []byte("a: " + fill(maxBody, same("[")))},
		{name: "finalizers", method: "POST", target: configMaps, body: object(`"finalizers":[` + fill(maxBody, same(`"",`)) + `""]`)},
		{name: "owner references", method: "POST", target: configMaps, body: object(`"ownerReferences":[` + fill(maxBody, same(`{},`)) + `{}]`)},
		{name: "bad labels", method: "POST", target: configMaps, body: object(`"labels":{` + fill(maxBody, func(i int) string { return `"/` + strconv.Itoa(i) + `":"-",` }) + `"a":"b"}`)},
		{name: "env of one name", method: "POST", target: pods + "?dryRun=All",
			body: pod(`"env":[` + fill(maxBody, same(`{"name":"A"},`)) + `{"name":"B"}]`)},
		{name: "bad env", method: "POST", target: pods, body: pod(`"env":[` + fill(maxBody, same(`{"name":"="},`)) + `{"name":""}]`)},
		{name: "bad ports", method: "POST", target: pods, body: pod(`"ports":[` + fill(maxBody, same(`{},`)) + `{}]`)},
		{name: "volume mounts", method: "POST", target: pods, body: pod(`"volumeMounts":[` + fill(maxBody, func(i int) string { return `{"name":"v` + strconv.Itoa(i) + `","mountPath":"/"},` }) + `{}]`)},
		{name: "service ports", method: "POST", target: services, body: []byte(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"ports":[` + ports(maxBody, "TCP") + `{"port":1}]}}`)},
		{name: "strategic ports", method: "PATCH", target: services + "/hostile?dryRun=All", header: patch("strategic-merge"),
			body: []byte(`{"spec":{"ports":[` + ports(maxBody, "UDP") + `{"port":1}]}}`)},
		{name: "strategic ports, short", method: "PATCH", target: services + "/hostile?dryRun=All", header: patch("strategic-merge"),
			body: []byte(`{"spec":{"ports":[` + ports(76<<10, "UDP") + `{"port":1}]}}`)},
		{name: "strategic order", method: "PATCH", target: services + "/hostile?dryRun=All", header: patch("strategic-merge"),
			body: []byte(`{"spec":{"$setElementOrder/ports":[` + ports(maxBody/2, "UDP") + `{"port":1}],"ports":[` + ports(maxBody/2, "UDP") + `{"port":1}]}}`)},
		{name: "strategic finalizers", method: "PATCH", target: services + "/hostile?dryRun=All", header: patch("strategic-merge"),
			body: []byte(`{"metadata":{"finalizers":[` + fill(maxBody, func(i int) string { return `"a/` + strconv.Itoa(i) + `",` }) + `"a/b"]}}`)},
		{name: "merge patch", method: "PATCH", target: configMaps + "/hostile-0?dryRun=All", header: patch("merge"), body: []byte(`{"data":{` + fill(maxBody, quoted) + `"z":"z"}}`)},
		{name: "json patch", method: "PATCH", target: configMaps + "/hostile-0?dryRun=All", header: patch("json"),
			body: []byte("[" + fill(maxBody, same(`{"op":"add","path":"/data/a","value":"b"},`)) + `{"op":"test","path":"/data/a","value":"c"}]`)},
		{name: "json patch of a list", method: "PATCH", target: configMaps + "/hostile-0?dryRun=All", header: patch("json"),
			body: []byte(`[{"op":"add","path":"/metadata/finalizers","value":[]},` + fill(9900*60, same(`{"op":"add","path":"/metadata/finalizers/0","value":"a/b"},`)) + `{"op":"test","path":"/kind","value":"c"}]`)},
		{name: "list with a selector", method: "GET", target: configMaps + "?labelSelector=a+notin+(" + fill(48<<10, func(i int) string { return strconv.Itoa(i) + "," }) + "z)"},
		{name: "list with requirements", method: "GET", target: configMaps + "?labelSelector=" + fill(48<<10, func(i int) string { return "a!=" + strconv.Itoa(i) + "," }) + "a!=z"},
		{name: "list as table", method: "GET", target: configMaps, header: []string{"Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"}},
		{name: "list as yaml", method: "GET", target: configMaps, header: []string{"Accept", "application/yaml"}},
		{name: "list pretty", method: "GET", target: configMaps + "?pretty=1"},
		{name: "openapi", method: "GET", target: "/openapi/v2"},
	}
	for i := range out {
		out[i].header = append(slices.Clone(out[i].header), bearer(adminToken)...)
	}
	return out
}

func object(metadata string) []byte {
	return []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"a",` + metadata + `}}`)
}

func configMap(data string) []byte {
	return []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"a"},"data":{` + data + `"z":"z"}}`)
}

func pod(container string) []byte {
	return []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"a"},"spec":{"containers":[{"name":"c","image":"i",` + container + `}]}}`)
}

// lookOn sends each of the expensive requests four at a time, and measures reads of one object
// meanwhile.
func (p *plan) lookOn(ctx context.Context, coracle *process) error {
	if err := furnish(ctx, coracle); err != nil {
		return err
	}
	fmt.Printf("%-24s %6s %9s %12s %14s\n", "request", "status", "bytes", "CPU each", "bystander waits")
	late := 0
	for _, q := range expensiveRequests() {
		if !p.only.MatchString(q.name) {
			continue
		}
		before, err := coracle.cpu()
		if err != nil {
			return err
		}
		a, err := newSender(coracle, http1).once(ctx, &q)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		after, err := coracle.cpu()
		if err != nil {
			return err
		}
		worst, err := bystander(ctx, coracle, &q)
		if err != nil {
			return fmt.Errorf("bystander of %s: %w", q.name, err)
		}
		mark := ""
		if worst > patience {
			late++
			mark = " <--"
		}
		fmt.Printf("%-24s %6d %9d %12v %14v%s\n", q.name, a.Status, len(a.Body), (after - before).Round(time.Microsecond), worst.Round(time.Microsecond), mark)
	}
	if late > 0 {
		return fmt.Errorf("beside %d requests a bystander waited for more than %v", late, patience)
	}
	return nil
}

// furnish creates the objects that the requests patch and list.
func furnish(ctx context.Context, coracle *process) error {
	s := newSender(coracle, http1)
	defer s.close()
	make := func(target, body string) error {
		q := request{method: "POST", target: target, body: []byte(body), header: bearer(adminToken)}
		if a, err := s.send(ctx, &q); err != nil || a.Status != 201 {
			return errors.Join(err, fmt.Errorf("create the objects to patch: got %+v", a))
		}
		return nil
	}
	ports := strings.TrimSuffix(fill(200<<10, func(i int) string {
		return fmt.Sprintf(`{"name":"p%d","port":%d},`, i, i+1)
	}), ",")
	if err := make(services, `{"metadata":{"name":"hostile"},"spec":{"clusterIP":"None","ports":[`+ports+`]}}`); err != nil {
		return err
	}
	for i := range bystanders {
		if err := make(configMaps, fmt.Sprintf(`{"metadata":{"name":"hostile-%d","labels":{"a":"b"}},"data":{"k":%q}}`, i, strings.Repeat("v", 1000))); err != nil {
			return err
		}
	}
	return nil
}

// bystander returns how long the slowest read of one object took while q was sent four at a time.
func bystander(ctx context.Context, coracle *process, q *request) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, onlooking)
	defer cancel()
	var senders sync.WaitGroup
	defer senders.Wait()
	for range 4 {
		senders.Go(func() {
			s := newSender(coracle, http1)
			defer s.close()
			for ctx.Err() == nil {
				s.send(ctx, q)
			}
		})
	}
	s := newSender(coracle, http1)
	defer s.close()
	get := request{method: "GET", target: configMaps + "/hostile-1", header: bearer(adminToken)}
	var worst time.Duration
	for ctx.Err() == nil {
		began := time.Now()
		a, err := s.send(context.WithoutCancel(ctx), &get)
		if err != nil {
			return 0, err
		}
		if a.Status != 200 || !bytes.Contains(a.Body, []byte("hostile-1")) {
			return 0, fmt.Errorf("got %d: %.200s", a.Status, a.Body)
		}
		worst = max(worst, time.Since(began))
		time.Sleep(5 * time.Millisecond)
	}
	return worst, nil
}
