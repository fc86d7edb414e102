package servertest_test

import (
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/coracle-project/coracle/server/servertest"
)

// A suite starts its environment before the first test, in TestMain or in BeforeSuite, and stops it
// after the last test.
func Example() {
	env := servertest.Environment{Paths: []string{"testdata/definitions"}}
	s, err := env.Start()
	if err != nil {
		log.Fatal(err)
	}
	resp, err := s.Client.Post(s.URL+"/apis/river.example.com/v1/namespaces/default/oars", "application/yaml", strings.NewReader(`
apiVersion: river.example.com/v1
kind: Oar
metadata: {name: left}
spec: {length: 3}
`))
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	if err := s.Stop(); err != nil {
		log.Fatal(err)
	}
	// Output: 201 Created
}

// Clients of client-go and controller-runtime are configured with a user's credentials:
//
//	cfg := &rest.Config{
//		Host:            me.Host,
//		TLSClientConfig: rest.TLSClientConfig{
//			CAData: me.CAData, CertData: me.CertData, KeyData: me.KeyData,
//		},
//		QPS:             -1,
//	}
func ExampleServer_AddUser() {
	s, err := servertest.Environment{}.Start()
	if err != nil {
		log.Fatal(err)
	}
	me, err := s.AddUser("me", "rowers")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(me.Host == s.URL, strings.Contains(string(me.Kubeconfig()), "certificate-authority-data"))
	if err := s.Stop(); err != nil {
		log.Fatal(err)
	}
	// Output: true true
}

// The installed objects call the suite's own webhooks, which the suite serves at the address in
// Webhooks. With controller-runtime:
//
//	webhook.NewServer(webhook.Options{
//		Host: s.Webhooks.Host, Port: s.Webhooks.Port, CertDir: s.Webhooks.CertDir,
//	})
func ExampleWebhooks() {
	env := servertest.Environment{Paths: []string{"testdata/definitions"}, Webhooks: &servertest.Webhooks{}}
	s, err := env.Start()
	if err != nil {
		log.Fatal(err)
	}
	resp, err := s.Client.Get(s.URL + "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/oars.river.example.com")
	if err != nil {
		log.Fatal(err)
	}
	definition, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(strings.Contains(string(definition), fmt.Sprintf(`"url":"https://127.0.0.1:%d/oars"`, s.Webhooks.Port)))
	if err := s.Stop(); err != nil {
		log.Fatal(err)
	}
	// Output: true
}
