package engine

import (
	"fmt"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// scalarNames maps functions whose SQLite form has the same arguments.
var scalarNames = map[string]string{
	"lower": "p_lower", "upper": "p_upper", "substr": "p_substr", "substring": "p_substr", "to_char": "p_to_char", "to_date": "p_to_date",
	"pico_raft_leader_id": "p_raft_id", "pico_raft_leader_uuid": "p_raft_uuid", "pico_instance_name": "p_name",
	"pico_replicaset_name": "p_replicaset", "pico_tier_name": "p_tier", "pico_instance_dir": "p_dir", "pico_config_file_path": "p_config",
	"pico_instance_health_status": "p_health", "_pico_bucket": "p_buckets", "string_agg": "group_concat", "row_number": "row_number",
	"last_value": "last_value", "count": "count", "group_concat": "group_concat",
}

func (a *analyzer) emitCall(x *grammar.FuncCall, sc *scope) string {
	name := x.Name.Name
	switch name {
	case "coalesce":
		if len(x.Args) == 1 {
			return a.emit(x.Args[0], sc)
		}
		return "coalesce(" + a.emitList(x.Args, sc) + ")"
	case "trim":
		if len(x.Args) == 1 {
			return "p_trim(" + a.emit(x.Args[0], sc) + ", ' ', '')"
		}
		return "p_trim(" + a.emit(x.Args[1], sc) + ", " + a.emit(x.Args[0], sc) + ", '')"
	case "abs":
		return "p_abs(" + a.emit(x.Args[0], sc) + ")"
	case "json_extract_path":
		text := a.emit(x.Args[0], sc)
		for _, k := range x.Args[1:] {
			text = "p_index(" + text + ", " + a.emit(k, sc) + ")"
		}
		return text
	case "pico_instance_uuid", "instance_uuid":
		return executor(sc)
	case "version":
		return "p_version(" + executor(sc) + ")"
	}
	if x.Star {
		return "count(*)"
	}
	distinct := ""
	if x.Distinct {
		distinct = "DISTINCT "
	}
	return a.aggregateText(name, x.Args, distinct, sc)
}

// aggregateText names the SQLite aggregate or function that works on the argument's type.
func (a *analyzer) aggregateText(name string, args []grammar.Expr, distinct string, sc *scope) string {
	list := a.emitList(args, sc)
	switch name {
	case "min", "max", "count", "last_value":
		if len(args) == 1 {
			list = compared(list, a.effective(args[0]))
		}
		return name + "(" + distinct + list + ")"
	case "sum", "avg", "total":
		fn := map[string]string{"sum": "dsum", "avg": "davg", "total": "ftotal"}[name]
		switch {
		case name != "avg":
		case !a.twoStages():
			fn = "eavg"
		case sc.core != nil && sc.core.distributed():
			fn = "favg"
		}
		return fn + "(" + distinct + list + ")"
	}
	return scalarNames[name] + "(" + distinct + list + ")"
}

// executor is the uuid of the instance that evaluates the expression: with a sharded table in FROM, the one that holds the row.
func executor(sc *scope) string {
	if src := sc.shardedSource(); src != nil {
		return quote(src.sqlName) + "." + quote(instanceColumn)
	}
	return "p_self()"
}

func (a *analyzer) emitWindow(x *grammar.WindowCall, sc *scope) string {
	name := x.Name.Name
	text := "count(*)"
	if !x.Star && !(name == "count" && len(x.Args) == 0) {
		text = a.aggregateText(name, x.Args, "", &scope{parent: sc, sources: sc.sources}) // a window works where its rows have met
	}
	if x.Filter != nil {
		text += " FILTER (WHERE " + a.emit(x.Filter, sc) + ")"
	}
	if x.OverName != nil {
		return text + " OVER " + quote(x.OverName.Name)
	}
	return text + " OVER (" + a.emitWindowSpec(x.Over, sc) + ")"
}

func (a *analyzer) emitWindowSpec(w *grammar.WindowSpec, sc *scope) string {
	var parts []string
	if len(w.PartitionBy) > 0 {
		list := make([]string, len(w.PartitionBy))
		for i, p := range w.PartitionBy {
			list[i] = compared(a.emit(p, sc), a.effective(p))
		}
		parts = append(parts, "PARTITION BY "+strings.Join(list, ", "))
	}
	if len(w.OrderBy) > 0 {
		list := make([]string, len(w.OrderBy))
		for i, o := range w.OrderBy {
			list[i] = compared(a.emit(o.Expr, sc), a.effective(o.Expr)) + orderSuffix(o)
		}
		parts = append(parts, "ORDER BY "+strings.Join(list, ", "))
	}
	if f := w.Frame; f != nil {
		unit := "ROWS"
		if f.Unit == grammar.FrameRange {
			unit = "RANGE"
		}
		if f.End == nil {
			parts = append(parts, unit+" "+a.emitBound(f.Start, sc))
		} else {
			parts = append(parts, fmt.Sprintf("%s BETWEEN %s AND %s", unit, a.emitBound(f.Start, sc), a.emitBound(*f.End, sc)))
		}
	}
	return strings.Join(parts, " ")
}

func (a *analyzer) emitBound(b grammar.FrameBound, sc *scope) string {
	switch b.Kind {
	case grammar.UnboundedPreceding:
		return "UNBOUNDED PRECEDING"
	case grammar.UnboundedFollowing:
		return "UNBOUNDED FOLLOWING"
	case grammar.OffsetPreceding:
		return a.emit(b.Offset, sc) + " PRECEDING"
	case grammar.OffsetFollowing:
		return a.emit(b.Offset, sc) + " FOLLOWING"
	}
	return "CURRENT ROW"
}

func orderSuffix(o grammar.OrderItem) string {
	s := ""
	switch o.Order {
	case grammar.Asc:
		s = " ASC"
	case grammar.Desc:
		s = " DESC"
	}
	switch o.Nulls {
	case grammar.NullsFirst:
		s += " NULLS FIRST"
	case grammar.NullsLast:
		s += " NULLS LAST"
	}
	return s
}
