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

// pairs is a flag of entries key=value, which may be repeated, or hold several with commas between
// them. Blanks around keys and values are cut off.
type pairs struct {
	values map[string]string
	bare   bool // an entry may be a key alone
	whole  bool // commas belong to the value
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

// address is a flag that is an IP address, in the form of a configuration.
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

// noneAtZero gives a flag of which 0 means none or no bound the Config's word for that, where 0 is
// the default.
func noneAtZero[T int | time.Duration](value *T, none T) {
	if *value == 0 {
		*value = none
	}
}

// portRange is a flag that is a range of ports: first-last, first+more, or one alone; "" is the
// empty one. Mistakes are worded as kube-apiserver's.
type portRange struct{ first, last int }

// String implements pflag.Value.
func (r *portRange) String() string {
	if *r == (portRange{}) {
		return ""
	}
	return fmt.Sprintf("%d-%d", r.first, r.last)
}

// contains reports whether a port is of the range.
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
