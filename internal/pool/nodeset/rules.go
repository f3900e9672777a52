package nodeset

import "github.com/picodata/go-picodata/options"

// Rules are what a configuration says of single nodes, made for looking up a thousand of them.
type Rules struct {
	maxConns                     int
	weights, caps, priorityRules *options.RuleIndex
}

// NewRules reads a configuration, which may not change then.
func NewRules(cfg *options.Config) *Rules {
	return &Rules{maxConns: cfg.MaxConnsPerInstance, weights: options.IndexRules(cfg.NodeWeights),
		caps: options.IndexRules(cfg.NodeMaxConns), priorityRules: options.IndexRules(cfg.NodePriorities)}
}

// Of returns the weight, cap and priority of a node: by its name, one of its
// addresses or its tier, in this order, else the defaults. Nodes found by discovery inherit them this way.
func (r *Rules) Of(name string, addresses []string, tier string) (weight, maxConns, priority int) {
	weight, maxConns = options.DefaultWeight, r.maxConns
	if v, ok := r.weights.Match(name, addresses, tier); ok {
		weight = v
	}
	if v, ok := r.caps.Match(name, addresses, tier); ok {
		maxConns = v
	}
	if v, ok := r.priorityRules.Match(name, addresses, tier); ok {
		priority = v
	}
	return weight, maxConns, priority
}
