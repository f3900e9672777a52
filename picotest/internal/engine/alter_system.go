package engine

import "github.com/picodata/go-picodata/picotest/internal/grammar"

// buildAlterSystem plans ALTER SYSTEM; only admin may run it.
func (s *Stmt) buildAlterSystem(n *grammar.AlterSystem) *Error {
	s.kind, s.tag = SystemSet, "ALTER SYSTEM"
	var v Value
	if n.Value != nil {
		if _, err := s.an.typed(n.Value, typeUnknown, &scope{}); err != nil {
			return err
		}
		val, ok := s.constant(n.Value, nil)
		if ref, isRef := unparen(n.Value).(*grammar.ColumnRef); isRef {
			val, ok = ref.Column.Name, true
		}
		if !ok {
			return refuse("ALTER SYSTEM currently supports only literals as values.")
		}
		v = val
	}
	s.plan = &schemaPlan{func(s *Stmt, r *runState) *Error {
		if me := s.me(); me == nil || me.id != idAdmin {
			return bare("box error: AccessDenied: Write access to table '_pico_db_config' is denied for all users")
		}
		var tiers []string
		for _, t := range r.sys.Tiers {
			if n.Tier == nil || n.Tier.Name == t.Name {
				tiers = append(tiers, t.Name)
			}
		}
		if len(tiers) == 0 {
			return bare("specified tier '%s' doesn't exist", n.Tier.Name)
		}
		if !n.Reset && !n.Default {
			ofTier := ""
			if n.Tier != nil {
				ofTier = n.Tier.Name
			}
			return s.eng.cat.set(n.Name.Name, v, tiers, ofTier, s.sess.Version)
		}
		if _, known := parameterNamed(n.Name.Name, s.sess.Version); !known && !n.All {
			return bare("unknown parameter: '%s'", n.Name.Name)
		}
		for k := range s.eng.cat.config {
			if n.All || k.key == n.Name.Name {
				delete(s.eng.cat.config, k)
			}
		}
		return nil
	}}
	return nil
}
