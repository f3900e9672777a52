package options

import "slices"

// Clone returns a deep copy: no slice and no tls.Config is shared. Functions, the logger, the
// clock and the balancer are the caller's values and stay the same ones.
func (c *Config) Clone() *Config {
	if c == nil {
		return nil
	}
	d := *c
	d.Hosts = slices.Clone(c.Hosts)
	d.AllowedTiers = slices.Clone(c.AllowedTiers)
	d.ForbiddenTiers = slices.Clone(c.ForbiddenTiers)
	d.AddressMap = slices.Clone(c.AddressMap)
	d.AllowedNetworks = slices.Clone(c.AllowedNetworks)
	d.PreferZones = slices.Clone(c.PreferZones)
	d.NodeWeights = slices.Clone(c.NodeWeights)
	d.NodeMaxConns = slices.Clone(c.NodeMaxConns)
	d.NodePriorities = slices.Clone(c.NodePriorities)
	d.MirrorMap = slices.Clone(c.MirrorMap)
	d.ServerOptions = slices.Clone(c.ServerOptions)
	d.Tracers = slices.Clone(c.Tracers)
	if c.TLSConfig != nil {
		d.TLSConfig = c.TLSConfig.Clone()
	}
	return &d
}
