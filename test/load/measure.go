package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// result is the measurement of one scenario on one target.
type result struct {
	ops     int
	bytes   int64
	wall    time.Duration
	cpu     time.Duration // of the server; 0 if its processes are not known
	latency []time.Duration
}

// perOp returns the CPU time per operation.
func (r *result) perOp() time.Duration {
	if r.ops == 0 {
		return 0
	}
	return r.cpu / time.Duration(r.ops)
}

// rate returns the operations per second.
func (r *result) rate() float64 { return float64(r.ops) / r.wall.Seconds() }

// percentile returns the latency that a share p of all latencies does not exceed. The first call
// sorts the latencies.
func (r *result) percentile(p float64) time.Duration {
	if len(r.latency) == 0 {
		return 0
	}
	if !slices.IsSorted(r.latency) {
		slices.Sort(r.latency)
	}
	return r.latency[int(float64(len(r.latency)-1)*p)]
}

func (r *result) String() string {
	return fmt.Sprintf("%9.0f/s  p50 %9v  p99 %9v  CPU/op %9v  %7.1f MB/s", r.rate(),
		r.percentile(.5).Round(time.Microsecond), r.percentile(.99).Round(time.Microsecond),
		r.perOp().Round(100*time.Nanosecond), float64(r.bytes)/1e6/r.wall.Seconds())
}

// median returns the result with the median CPU, or the median rate if the CPU is not known.
func median(rs []*result) *result {
	sorted := slices.SortedFunc(slices.Values(rs), func(a, b *result) int {
		if a.cpu != 0 || b.cpu != 0 {
			return int(a.perOp() - b.perOp())
		}
		return int(b.rate() - a.rate())
	})
	return sorted[len(sorted)/2]
}

// tick is the unit of CPU time in /proc: USER_HZ is 100 on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// cpuOf returns the CPU time that the processes have used so far. A process that has ended counts
// as 0.
func cpuOf(pids []int) time.Duration {
	var sum time.Duration
	for _, pid := range pids {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		// The name of the process comes second, in parentheses, and may hold anything.
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		const user, system = 11, 12 // of the fields after the name
		for _, i := range []int{user, system} {
			if i < len(fields) {
				n, _ := strconv.ParseInt(fields[i], 10, 64)
				sum += time.Duration(n) * tick
			}
		}
	}
	return sum
}

// peakMemory returns the sum of the highest resident sizes of the processes, in bytes.
func peakMemory(pids []int) int64 { return memoryOf(pids, "VmHWM:") }

// resident returns the sum of the present resident sizes.
func resident(pids []int) int64 { return memoryOf(pids, "VmRSS:") }

// memoryOf returns the sum of one line of the processes' /proc status, in bytes.
func memoryOf(pids []int, what string) int64 {
	var sum int64
	for _, pid := range pids {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(line, what); ok {
				n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				sum += n << 10
			}
		}
	}
	return sum
}
