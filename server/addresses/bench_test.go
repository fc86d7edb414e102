package addresses_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server"
)

// BenchmarkCreateService compares the costs of the types of services: a service with a cluster IP
// has an IPAddress, which is a second durable write.
func BenchmarkCreateService(b *testing.B) {
	for _, tt := range []struct{ name, spec string }{
		{"headless", `{"clusterIP":"None"}`}, {"clusterIP", `{}`}, {"dual", `{"ipFamilyPolicy":"RequireDualStack"}`},
	} {
		b.Run("sort="+tt.name, func(b *testing.B) {
			b.SetParallelism(16)
			p := newInProcess(b, func(c *server.Config) {
				c.Storage = server.StorageConfig{Engine: server.StorageEmbedded}
				c.API.Services.ClusterIPRanges = []string{"10.0.0.0/8", "fd00::/64"}
			})
			var i atomic.Int64
			before := cpuTime(b)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					name := fmt.Sprintf("s%d", i.Add(1))
					if code, answer := p.do("POST", servicesPath, serviceJSON(name, tt.spec)); code != http.StatusCreated {
						b.Error(answer)
					}
				}
			})
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpuTime returns the processor time of this process.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
