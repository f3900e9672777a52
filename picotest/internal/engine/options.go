package engine

import (
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// checkOptions refuses option lists that the server refuses when it builds the plan, and types their parameters.
func (a *analyzer) checkOptions(opts []grammar.Option, dql bool) *Error {
	pref, forward := "", ""
	for _, o := range opts {
		if o.Param != nil && o.Param.Index > 0 {
			want := typeInt
			if o.Name == grammar.ReadPreference || o.Name == grammar.Forward {
				want = typeText
			}
			t, err := a.typed(o.Param, want, &scope{})
			if err != nil {
				return err
			}
			if t != want {
				return refuse("invalid OptionSpec: expected %s for option %s, got %s", want, o.Name, t)
			}
		}
		switch o.Name {
		case grammar.ReadPreference:
			if !dql {
				return refuse("invalid OptionSpec: read_preference option is supported only for DQL queries")
			}
			pref = o.Word
		case grammar.Forward:
			forward = o.Word
		}
	}
	if forward == "off" && pref != "" && pref != "leader" {
		return refuse(`invalid OptionSpec: "forward = off" is not compatible with "read_preference = %s"`, pref)
	}
	return nil
}

// Options resolves the options of the text with these arguments, over those of the session, over those of the system.
func (s *Stmt) Options(args []Value) (Options, *Error) {
	s.eng.mu.Lock()
	defer s.eng.mu.Unlock()
	return s.resolveOptions(args)
}

func (s *Stmt) resolveOptions(args []Value) (Options, *Error) {
	o := Options{ReadPreference: "leader", Forward: "on", MotionRowMax: s.eng.cat.intSetting("sql_motion_row_max"),
		OpcodeMax: s.eng.cat.intSetting("sql_vdbe_opcode_max")}
	if p, ok := s.eng.cat.setting("read_preference", "").(string); ok {
		o.ReadPreference = p
	}
	if s.sess.ReadPreference != "" {
		o.ReadPreference = strings.ToLower(s.sess.ReadPreference)
	}
	if s.sess.Forward != "" {
		o.Forward = s.sess.Forward
	}
	if s.sess.MotionRowMax != nil {
		o.MotionRowMax = *s.sess.MotionRowMax
	}
	if s.sess.OpcodeMax != nil {
		o.OpcodeMax = *s.sess.OpcodeMax
	}
	for _, opt := range s.options {
		var v Value
		if opt.Param != nil && opt.Param.Index > 0 && opt.Param.Index <= len(args) {
			v = args[opt.Param.Index-1]
		} else if opt.Number != "" {
			n, ok := parseInt(opt.Number, 64)
			if !ok {
				return o, refuse("invalid query: value doesn't fit into integer range: %s", opt.Number)
			}
			v = n
		} else {
			v = opt.Word
		}
		switch opt.Name {
		case grammar.VdbeOpcodeMax, grammar.MotionRowMax:
			n, ok := v.(int64)
			if !ok || n < 0 {
				return o, refuse("invalid OptionSpec: expected option %s to be unsigned got: %s", opt.Name, jsonOf(v))
			}
			if opt.Name == grammar.VdbeOpcodeMax {
				o.OpcodeMax = n
			} else {
				o.MotionRowMax = n
			}
		case grammar.ReadPreference:
			w, _ := v.(string)
			if w = strings.ToLower(w); w != "leader" && w != "replica" && w != "any" {
				return o, refuse("invalid OptionSpec: expected read_preference to be one of [leader, replica, any], got: %s", w)
			}
			o.ReadPreference, o.ReadPreferenceGiven = w, true
		case grammar.Forward:
			w, _ := v.(string)
			if w = strings.ToLower(w); w != "on" && w != "off" && w != "ro_to_rw" {
				return o, refuse("invalid OptionSpec: expected forward to be one of [on, ro_to_rw, off], got: %s", w)
			}
			o.Forward = w
		}
	}
	return o, nil
}
