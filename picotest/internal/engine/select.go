package engine

import (
	"fmt"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// selectCore analyses one SELECT; sc is its own, empty scope.
func (a *analyzer) selectCore(n *grammar.SelectCore, sc *scope, want []sqlType) (code string, cols []sourceColumn, c *core, err *Error) {
	c = &core{node: n}
	sc.core = c
	from := ""
	if n.From != nil {
		src, text, err := a.source(n.From, sc)
		if err != nil {
			return "", nil, nil, err
		}
		sc.sources = append(sc.sources, src)
		from = " FROM " + text
		for _, j := range n.Joins {
			src, text, err := a.source(j.Source, sc)
			if err != nil {
				return "", nil, nil, err
			}
			sc.sources = append(sc.sources, src)
			if err := joinColumns(j.On, sc); err != nil {
				return "", nil, nil, err
			}
			on, err := a.filter(j.On, sc)
			if err != nil {
				return "", nil, nil, err
			}
			c.joinOn = append(c.joinOn, j.On)
			word := " JOIN "
			if j.Kind == grammar.LeftJoin {
				word = " LEFT JOIN "
			}
			from += word + text + " ON " + on
		}
	}
	c.sources = sc.sources
	c.windowed = hasWindow(n)
	where := ""
	if n.Where != nil {
		text, err := a.filter(n.Where, sc)
		if err != nil {
			return "", nil, nil, err
		}
		where = " WHERE " + text
	}
	windows, err := a.namedWindows(n, sc)
	if err != nil {
		return "", nil, nil, err
	}
	items, cols, err := a.items(n, sc, want)
	if err != nil {
		return "", nil, nil, err
	}
	group, err := a.grouping(n, sc, c)
	if err != nil {
		return "", nil, nil, err
	}
	if n.Distinct && n.From == nil {
		return "", nil, nil, refuse("invalid type: expected a Column in SelectWithoutScan, got Distinct.")
	}
	for _, col := range cols {
		if n.Distinct && col.typ == typeMap {
			a.doomed = "Failed to execute SQL statement: field type 'map' is not comparable"
		}
	}
	distinct := ""
	if n.Distinct {
		distinct = "DISTINCT "
	}
	return "SELECT " + distinct + items + from + where + group + windows, cols, c, nil
}

// joinColumns words what is wrong with the bare names of a join's condition.
func joinColumns(on grammar.Expr, sc *scope) *Error {
	var bad *Error
	grammar.Walk(on, func(n grammar.Node) bool {
		switch x := n.(type) {
		case *grammar.SubQuery, *grammar.Exists:
			return false
		case *grammar.ColumnRef:
			_, err := sc.resolve(x)
			switch {
			case err == nil || bad != nil:
			case strings.HasSuffix(err.Message, "is ambiguous"):
				bad = refuse("invalid column: column name '%s' is present in both join children", x.Column.Name)
			case x.Table == nil && strings.HasSuffix(err.Message, "not found"):
				bad = refuse("column '%s' in the join children not found", x.Column.Name)
			}
		}
		return bad == nil
	})
	return bad
}

func hasWindow(n *grammar.SelectCore) bool {
	found := false
	for _, it := range n.Items {
		grammar.Walk(it.Expr, func(x grammar.Node) bool {
			_, is := x.(*grammar.WindowCall)
			found = found || is
			return !found
		})
	}
	return found
}

// filter analyses WHERE and ON.
func (a *analyzer) filter(x grammar.Expr, sc *scope) (string, *Error) {
	sc.noAggregate = "WHERE"
	defer func() { sc.noAggregate = "" }()
	return a.having(x, sc)
}

// having analyses a condition that may have aggregates.
func (a *analyzer) having(x grammar.Expr, sc *scope) (string, *Error) {
	sc.filter = true
	defer func() { sc.filter = false }()
	t, err := a.typed(x, typeBool, sc)
	if err != nil {
		return "", err
	}
	if _, lit := unparen(x).(*grammar.Literal); lit && t != typeBool && t != typeUnknown {
		return "", refuse("invalid expression: filter expression is not a trivalent expression.")
	}
	if t != typeBool {
		return "", refuse("argument of WHERE must be type boolean, not type %s", t)
	}
	if err := a.checkLiterals(x); err != nil {
		return "", err
	}
	return a.emit(x, sc), nil
}

func (a *analyzer) namedWindows(n *grammar.SelectCore, sc *scope) (string, *Error) {
	if len(n.Windows) == 0 {
		return "", nil
	}
	parts := make([]string, len(n.Windows))
	for i, w := range n.Windows {
		if err := a.root(func() *Error { return a.inferWindowSpec(w.Window, sc) }); err != nil {
			return "", err
		}
		parts[i] = quote(w.Name.Name) + " AS (" + a.emitWindowSpec(w.Window, sc) + ")"
	}
	return " WINDOW " + strings.Join(parts, ", "), nil
}

// items analyses the projection. Columns without a name are called col_N; those with one aren't counted.
func (a *analyzer) items(n *grammar.SelectCore, sc *scope, want []sqlType) (string, []sourceColumn, *Error) {
	unnamed := 0
	var parts []string
	var cols []sourceColumn
	for _, it := range n.Items {
		if it.Star {
			if err := a.star(it, sc, &parts, &cols); err != nil {
				return "", nil, err
			}
			continue
		}
		w := typeUnknown
		if len(cols) < len(want) {
			w = want[len(cols)]
		}
		if _, isRow := unparen(it.Expr).(*grammar.Row); isRow {
			return "", nil, refuse("row value misused")
		}
		if _, err := a.typed(it.Expr, w, sc); err != nil {
			return "", nil, err
		}
		t := a.effective(it.Expr)
		if err := a.checkLiterals(it.Expr); err != nil {
			return "", nil, err
		}
		col := sourceColumn{typ: a.declared(it.Expr, sc.core.distributed())}
		if inner := a.declared(it.Expr, false); inner != col.typ {
			col.inner = &inner
		}
		col.misdeclared = a.misdeclared(it.Expr, sc.core.distributed())
		switch x := unparen(it.Expr).(type) {
		case *grammar.Binary:
			col.computed = numeric(col.typ)
		case *grammar.Case:
			t := a.stored(x)
			col.computed = numeric(t) && !(t == typeDouble && col.typ == typeInt) || t == typeAny && numeric(col.typ) && !a.holdsDouble(x)
		}
		switch ref, isRef := unparen(it.Expr).(*grammar.ColumnRef); {
		case it.Alias != nil:
			col.name = it.Alias.Name
		case isRef && a.columns[ref].source != nil:
			b := a.columns[ref]
			col.name, col.of = ref.Column.Name, b.source.columns[b.index].scan(b.source)
		default:
			unnamed++
			col.name = fmt.Sprintf("col_%d", unnamed)
		}
		col = a.distinctName(col, cols)
		cols = append(cols, col)
		text := a.emit(it.Expr, sc)
		if _, isCase := unparen(it.Expr).(*grammar.Case); isCase {
			text = a.chosen(it.Expr, text, false)
		}
		parts = append(parts, compared(text, t)+" AS "+quote(col.ref()))
	}
	return strings.Join(parts, ", "), cols, nil
}

// distinctName gives a column another name for SQLite if one before it is called the same.
func (a *analyzer) distinctName(c sourceColumn, before []sourceColumn) sourceColumn {
	for _, b := range before {
		if strings.EqualFold(b.name, c.name) {
			c.sql = a.unique()
		}
	}
	return c
}

// star writes out * or t.*, without hidden columns.
func (a *analyzer) star(it grammar.SelectItem, sc *scope, parts *[]string, cols *[]sourceColumn) *Error {
	found := false
	for _, src := range sc.sources {
		if it.StarTable != nil && src.name != it.StarTable.Name {
			continue
		}
		found = true
		for _, c := range src.columns {
			if c.hidden {
				continue
			}
			col := a.distinctName(sourceColumn{name: c.name, typ: c.typ, of: c.scan(src)}, *cols)
			*cols = append(*cols, col)
			*parts = append(*parts, quote(src.sqlName)+"."+quote(c.ref())+" AS "+quote(col.ref()))
		}
	}
	if !found && it.StarTable != nil {
		return refuse("table with name %q not found", it.StarTable.Name)
	}
	if !found {
		return refuse("invalid type: expected a Column in SelectWithoutScan, got Asterisk.")
	}
	return nil
}

// grouping analyses GROUP BY and HAVING and holds the projection against them.
func (a *analyzer) grouping(n *grammar.SelectCore, sc *scope, c *core) (string, *Error) {
	keys := map[string]bool{}
	var parts []string
	for _, g := range n.GroupBy {
		x, err := a.groupKey(g, n)
		if err != nil {
			return "", err
		}
		if ref, ok := unparen(x).(*grammar.ColumnRef); ok && ref.Table == nil {
			if _, bad := sc.resolve(ref); bad != nil && strings.HasSuffix(bad.Message, "not found") {
				return "", refuse("column with name %s in group by not found", ref.Column.Name)
			}
		}
		sc.noAggregate = "GROUP BY"
		_, err = a.typed(x, typeUnknown, sc)
		if sc.noAggregate = ""; err != nil {
			return "", err
		}
		keys[a.emitKind(unparen(x), sc)] = true
		parts = append(parts, compared(a.emit(x, sc), a.effective(x)))
	}
	having := ""
	if n.Having != nil {
		text, err := a.having(n.Having, sc)
		if err != nil {
			return "", err
		}
		having = " HAVING " + text
	}
	if len(n.GroupBy) == 0 && !c.aggregated {
		if having != "" {
			a.doomed = "Failed to compile SQL statement: Failed to execute SQL statement: HAVING argument must appear in the GROUP BY clause or be used in an aggregate function"
		}
		return having, nil
	}
	check := []grammar.Expr{n.Having}
	for _, it := range n.Items {
		if it.Star {
			for _, src := range sc.sources {
				for _, col := range src.columns {
					if !col.hidden && !keys[quote(src.sqlName)+"."+quote(col.ref())] {
						return "", refuse("invalid query: column %q is not found in grouping expressions!", col.name)
					}
				}
			}
			continue
		}
		check = append(check, it.Expr)
	}
	for _, x := range check {
		if x == nil {
			continue
		}
		if err := a.grouped(x, keys, sc); err != nil {
			return "", err
		}
	}
	if len(parts) == 0 {
		return having, nil
	}
	return " GROUP BY " + strings.Join(parts, ", ") + having, nil
}

// groupKey takes an alias or a position of the projection for what it stands for.
func (a *analyzer) groupKey(g grammar.Expr, n *grammar.SelectCore) (grammar.Expr, *Error) {
	switch k := unparen(g).(type) {
	case *grammar.Literal:
		if k.Kind == grammar.IntegerLiteral {
			i, ok := smallInt(k.Value)
			if !ok || i < 1 || i > len(n.Items) || n.Items[i-1].Star {
				return nil, refuse("invalid query: GROUP BY position %s is not in select list", k.Value)
			}
			return n.Items[i-1].Expr, nil
		}
	case *grammar.ColumnRef:
		if k.Table == nil {
			for _, it := range n.Items {
				if it.Alias != nil && it.Alias.Name == k.Column.Name {
					return it.Expr, nil
				}
			}
		}
	}
	return g, nil
}

// grouped refuses columns that stand outside aggregates and grouping expressions.
func (a *analyzer) grouped(x grammar.Expr, keys map[string]bool, sc *scope) *Error {
	var bad *Error
	grammar.Walk(x, func(n grammar.Node) bool {
		if bad != nil {
			return false
		}
		e, ok := n.(grammar.Expr)
		if !ok {
			return true
		}
		switch n := e.(type) {
		case *grammar.FuncCall:
			if f := functions[n.Name.Name]; f.aggregate {
				return false
			}
		case *grammar.SubQuery, *grammar.Exists:
			return false
		case *grammar.ColumnRef:
			b, ok := a.columns[n]
			if !ok || b.source == nil || keys[a.emitKind(n, sc)] {
				return false
			}
			bad = refuse("invalid query: column %q is not found in grouping expressions!", n.Column.Name)
			return false
		}
		return !keys[a.emitKind(unparen(e), sc)]
	})
	return bad
}

// checkLiterals reads the string literals of an expression as the types that were inferred for them.
func (a *analyzer) checkLiterals(x grammar.Expr) *Error {
	var bad *Error
	explicit := map[*grammar.Literal]bool{}
	grammar.Walk(x, func(n grammar.Node) bool {
		switch n := n.(type) {
		case *grammar.Cast:
			if l, ok := unparen(n.X).(*grammar.Literal); ok {
				explicit[l] = true
				a.castLiteral(l)
			}
		case *grammar.Literal:
			if explicit[n] || bad != nil {
				return false
			}
			t, ok := a.casts[n]
			if !ok {
				t = a.types[n]
			}
			_, bad = literal(n, t)
		}
		return bad == nil
	})
	return bad
}

// castLiteral undoes the inference for a literal that is cast explicitly: the cast itself reads it, when it runs.
func (a *analyzer) castLiteral(l *grammar.Literal) {
	if l.Kind == grammar.StringLiteral {
		delete(a.casts, l)
		a.types[l] = typeText
	}
}
