package encryption

import "time"

// told is a function that Hooks.Transforms has returned. It is called for each value with the time
// that the value took, and the error.
type told func(took time.Duration, err error)

// meter reports the values of one resource that one provider writes and reads.
type meter struct {
	read, written []told // one function for each name of the provider
	unknown       told   // values that no provider can read; the same for all providers of a resource
}

// unknownProvider names, in Hooks.Transforms, the missing provider of a value that none can read.
const unknownProvider = "unknown"

// metered returns a copy of the chain that reports the values of a resource to the hooks.
func (c Chain) metered(h *Hooks, group, resource string) Chain {
	if len(c) == 0 {
		return nil
	}
	if group != "" {
		resource += "." + group
	}
	metered := make(Chain, len(c))
	unknown := told(h.Transforms(resource, unknownProvider, false))
	for i, p := range c {
		p.meter = &meter{unknown: unknown}
		for _, name := range p.names(false) {
			p.meter.read = append(p.meter.read, h.Transforms(resource, name, false))
		}
		for _, name := range p.names(true) {
			p.meter.written = append(p.meter.written, h.Transforms(resource, name, true))
		}
		metered[i] = p
	}
	return metered
}

// names returns the names by which kube-apiserver counts the work of a provider: its method and its
// key. The name of identity depends on the direction.
func (p *Provider) names(written bool) []string {
	switch method := len(p.prefix) - p.key; {
	case method == 0 && written:
		return []string{""}
	case method == 0:
		return []string{"identity"}
	case p.key == 0:
		return []string{string(p.prefix)}
	default:
		return []string{string(p.prefix[:method]), string(p.prefix[method:])}
	}
}

// decrypted reports a value that the provider has read, or failed to read, since began.
func (p *Provider) decrypted(began time.Time, err error) {
	if p.meter != nil {
		tell(p.meter.read, began, err)
	}
}

// encrypted reports a value that the provider has written, or failed to write, since began.
func (p *Provider) encrypted(began time.Time, err error) {
	if p.meter != nil {
		tell(p.meter.written, began, err)
	}
}

// tell calls all functions with the time since began.
func tell(all []told, began time.Time, err error) {
	took := time.Since(began)
	for _, f := range all {
		f(took, err)
	}
}
