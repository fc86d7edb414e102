package robust

import (
	"fmt"
	"strings"
)

// fillTries bounds the creates of one shape. It is above the limit of every quota.
const fillTries = 30

// fill creates objects of all kinds until quotas refuse them. No other client writes meanwhile. One
// object takes exactly the rest of CPU, memory and storage.
func (c *quotaClient) fill(round *QuotaRound) error {
	if err := c.again(round, "pods", func() tree { return podShape(1, mi, true) }); err != nil {
		return err
	}
	left, err := c.left()
	if err != nil {
		return err
	}
	if of := left["compute"]; of["pods"] > 0 && of["requests.cpu"] > 0 && of["requests.memory"] > 0 {
		if err := c.once(round, "pods", podShape(of["requests.cpu"], of["requests.memory"], false)); err != nil {
			return err
		}
	}
	if of := left["claims"]; of["persistentvolumeclaims"] > 0 && of["requests.storage"] > 0 {
		if err := c.once(round, "persistentvolumeclaims", claimShape(of["requests.storage"], false)); err != nil {
			return err
		}
	}
	for _, next := range []struct {
		kind  string
		shape func() tree
	}{
		{"pods", func() tree { return podShape(1, mi, false) }},
		{"configmaps", func() tree { return textShape("configmaps") }},
		{"secrets", func() tree { return textShape("secrets") }},
		{"services", func() tree { return serviceShape("LoadBalancer", 1) }},
		{"services", func() tree { return serviceShape("ClusterIP", 1) }},
		{"persistentvolumeclaims", func() tree { return claimShape(mi, true) }},
	} {
		if err := c.again(round, next.kind, next.shape); err != nil {
			return err
		}
	}
	_, round.Full, err = c.counted()
	return err
}

// again creates objects of a shape until one is not created.
func (c *quotaClient) again(round *QuotaRound, kind string, shape func() tree) error {
	for range fillTries {
		if err := c.once(round, kind, shape()); err != nil {
			return err
		}
		if last := round.Fill[len(round.Fill)-1]; last.Result != acked {
			break
		}
	}
	return nil
}

// once creates one object. It notes the revision before that.
func (c *quotaClient) once(round *QuotaRound, kind string, shape tree) error {
	_, rv, err := c.list(corePath + kind)
	if err != nil {
		return err
	}
	op := c.create(&thing{kind: kind, name: fmt.Sprintf("%s%d", fillPrefix, c.made)}, shape)
	op.Known = rv
	round.Fill = append(round.Fill, op)
	return nil
}

// fillPrefix begins the names of objects that fill quotas.
const fillPrefix = "fill-"

// left returns the amounts for which the quotas have room.
func (c *quotaClient) left() (sums, error) {
	_, s, _, err := c.run.right(c.caller)
	for _, l := range c.run.rec.Limits {
		for name, hard := range l.Hard {
			s[l.Name][name] = hard - s[l.Name][name]
		}
	}
	return s, err
}

// release deletes a config map, and creates another as soon as there is room. Then it deletes the
// objects that filled the quotas.
func (c *quotaClient) release(round *QuotaRound) error {
	objects, _, err := c.counted()
	if err != nil {
		return err
	}
	filled := func(o *Counted) bool { return strings.HasPrefix(o.Name, fillPrefix) }
	for _, o := range objects {
		if o.Kind == "configmaps" {
			c.remove(&thing{kind: o.Kind, name: o.Name, known: o})
			break
		}
	}
	err = within(patience, "there is no room for a config map after one was deleted", func() (bool, error) {
		round.Release = c.create(&thing{kind: "configmaps", name: fmt.Sprintf("%sagain-%d", fillPrefix, c.made)}, textShape("configmaps"))
		return round.Release.Result == acked, nil
	})
	if err != nil {
		c.trouble("%v", err)
	}
	if objects, _, err = c.counted(); err != nil {
		return err
	}
	for _, o := range objects {
		if filled(o) {
			c.remove(&thing{kind: o.Kind, name: o.Name, known: o})
		}
	}
	return nil
}
