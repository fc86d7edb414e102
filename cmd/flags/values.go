package flags

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// This file has the types of flags that pflag lacks and several sections need: key=value pairs, an
// IP address, a range of ports. Each reads and prints its value, and words its mistakes, as its
// counterpart in kube-apiserver's libraries (k8s.io/component-base/cli/flag,
// k8s.io/apimachinery/pkg/util/net). The help shows the result of Type.

// pairs is a flag of entries key=value. It may be given several times, and one value may hold
// several entries with commas between them. Blanks around keys and values are cut off. A later
// entry replaces an earlier one with the same key.
type pairs struct {
	values map[string]string
	bare   bool // an entry may be a key without "=", whose value is then ""
	whole  bool // a comma is part of the value, so each use of the flag holds one entry
}

// String implements pflag.Value.
func (p *pairs) String() string {
	entries := make([]string, 0, len(p.values))
	for k, v := range p.values {
		entries = append(entries, k+"="+v)
	}
	sort.Strings(entries)
	return strings.Join(entries, ",")
}

// Set implements pflag.Value.
func (p *pairs) Set(s string) error {
	if p.values == nil {
		p.values = map[string]string{}
	}
	entries := []string{s}
	if !p.whole {
		entries = slices.DeleteFunc(strings.Split(s, ","), func(entry string) bool { return entry == "" })
	}
	for _, entry := range entries {
		key, value, found := strings.Cut(entry, "=")
		if !found && !p.bare {
			return errors.New("malformed pair, expect string=string")
		}
		p.values[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return nil
}

// Type implements pflag.Value.
func (p *pairs) Type() string { return "mapStringString" }

// address is a flag that holds an IP address. It writes to a string of the Config. "" sets nothing.
type address struct{ value *string }

// String implements pflag.Value.
func (a address) String() string {
	if a.value == nil || *a.value == "" {
		return "<nil>"
	}
	return *a.value
}

// Set implements pflag.Value.
func (a address) Set(s string) error {
	if s == "" {
		return nil
	}
	ip := strings.TrimSpace(s)
	if net.ParseIP(ip) == nil {
		return fmt.Errorf("failed to parse IP: %q", s)
	}
	*a.value = ip
	return nil
}

// Type implements pflag.Value.
func (address) Type() string { return "ip" }

// noneAtZero replaces 0 by none. For some flags 0 means "no bound" or "off", but in the Config 0
// means the default; none is what the Config has instead, such as -1.
func noneAtZero[T int | time.Duration](value *T, none T) {
	if *value == 0 {
		*value = none
	}
}

// portRange is a flag that holds a range of ports: first-last, first+more (8000+10 is 8000-8010),
// or a single port. The zero value is the empty range, as is the text "". Mistakes are worded as
// kube-apiserver words them.
type portRange struct{ first, last int } // both included; 0 <= first <= last <= 65535

// String implements pflag.Value.
func (r *portRange) String() string {
	if *r == (portRange{}) {
		return ""
	}
	return fmt.Sprintf("%d-%d", r.first, r.last)
}

// contains reports whether the range has a port. The empty range has none, not even port 0.
func (r *portRange) contains(port int) bool {
	return *r != portRange{} && r.first <= port && port <= r.last
}

// Set implements pflag.Value.
func (r *portRange) Set(s string) error {
	s = strings.TrimSpace(s)
	if s == "" {
		*r = portRange{}
		return nil
	}
	if strings.Contains(s, "-") && strings.Contains(s, "+") {
		return fmt.Errorf("unable to parse port range: %s", s)
	}
	from, to, more := strings.Cut(s, "+")
	if !more {
		from, to, _ = strings.Cut(s, "-")
	}
	first, err := strconv.Atoi(from)
	if err != nil {
		return err
	}
	last := first
	if len(from) < len(s) {
		if last, err = strconv.Atoi(to); err != nil {
			return err
		}
	}
	if more {
		last += first
	}
	switch {
	case first > 65535 || last > 65535:
		return fmt.Errorf("the port range cannot be greater than 65535: %s", s)
	case last < first:
		return fmt.Errorf("end port cannot be less than start port: %s", s)
	}
	*r = portRange{first, last}
	return nil
}

// Type implements pflag.Value.
func (*portRange) Type() string { return "portRange" }
