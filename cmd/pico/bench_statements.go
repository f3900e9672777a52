package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"

	"github.com/picodata/go-picodata/internal/sqltext"
)

// statement is one kind of statement of a run.
type statement struct {
	name   string
	sql    string
	weight int
	rows   bool // it returns rows
	args   []argument
}

// argument makes one argument of one execution.
type argument func(r *rand.Rand) any

// ownTable is the prefix of the tables that pico bench makes.
const ownTable = "pico_bench_"

// kinds are the default statements, on a table of the run's own. Keys go from 1 to the highest inserted.
func kinds(table string, last *atomic.Int64, payload int) map[string]statement {
	key := func(r *rand.Rand) any { return r.Int64N(max(1, last.Load())) + 1 }
	next := func(*rand.Rand) any { return last.Add(1) }
	text := func(r *rand.Rand) any { return randomText(r, payload) }
	number := func(r *rand.Rand) any { return r.Int64N(1000) }
	return map[string]statement{
		"insert": {sql: "INSERT INTO " + table + " VALUES ($1, $2, $3)", args: []argument{next, number, text}},
		"read":   {sql: "SELECT payload FROM " + table + " WHERE id = $1", rows: true, args: []argument{key}},
		"update": {sql: "UPDATE " + table + " SET payload = $1 WHERE id = $2", args: []argument{text, key}},
		"delete": {sql: "DELETE FROM " + table + " WHERE id = $1", args: []argument{key}},
		"count":  {sql: "SELECT count(*) FROM " + table, rows: true},
		"one":    {sql: "SELECT 1", rows: true},
	}
}

// mixed reads --mix: KIND=WEIGHT,….
func mixed(mix string, known map[string]statement) ([]statement, error) {
	bad := func(format string, args ...any) ([]statement, error) {
		return nil, &usageError{fmt.Errorf("--mix: %s", fmt.Sprintf(format, args...))}
	}
	var list []statement
	for item := range strings.SplitSeq(mix, ",") {
		name, weight, given := strings.Cut(strings.TrimSpace(item), "=")
		s, ok := known[name]
		n, err := strconv.Atoi(weight)
		switch {
		case !given:
			return bad("%q has no weight: want KIND=WEIGHT,… such as read=80,insert=20", item)
		case !ok:
			return bad("there is no kind %q; the kinds are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case err != nil || n < 0:
			return bad("the weight of %s is %q: want a whole number from 0 on", name, weight)
		case slices.ContainsFunc(list, func(o statement) bool { return o.name == name }):
			return bad("%s is there twice", name)
		}
		if s.name, s.weight = name, n; n > 0 {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return bad("no kind of %q has a weight above 0", mix)
	}
	return list, nil
}

// ownStatement is an item of a file of statements.
type ownStatement struct {
	Name   string   `yaml:"name"`
	Weight *int     `yaml:"weight"` // 1 if it isn't given
	SQL    string   `yaml:"sql"`
	Args   []string `yaml:"args"`
}

// readStatements reads a file of statements: YAML, or JSON, which is YAML too.
func readStatements(name string) ([]statement, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var items []ownStatement
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	if err := d.Decode(&items); err != nil {
		return nil, &usageError{fmt.Errorf("%s: %w; want a list of {name, weight, sql, args}", name, err)}
	}
	var list []statement
	for i, item := range items {
		s, err := item.statement()
		if err != nil {
			return nil, &usageError{fmt.Errorf("%s: statement %d: %w", name, i+1, err)}
		}
		if s.name == "" {
			s.name = "statement " + strconv.Itoa(i+1)
		}
		if slices.ContainsFunc(list, func(o statement) bool { return o.name == s.name }) {
			return nil, &usageError{fmt.Errorf("%s: two statements are called %q", name, s.name)}
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return nil, &usageError{fmt.Errorf("%s holds no statements", name)}
	}
	return list, nil
}

func (o *ownStatement) statement() (statement, error) {
	s := statement{name: o.Name, sql: strings.TrimSpace(o.SQL), weight: 1}
	if o.Weight != nil {
		s.weight = *o.Weight
	}
	info := sqltext.Analyze(s.sql)
	switch {
	case s.sql == "":
		return s, errors.New("no sql")
	case s.weight < 1:
		return s, fmt.Errorf("weight %d: want 1 or more", s.weight)
	case info.Params != len(o.Args) && info.Class != sqltext.Unknown:
		return s, fmt.Errorf("the text has %d parameters, and %d arguments are given", info.Params, len(o.Args))
	}
	s.rows = info.Class == sqltext.Read || info.Class == sqltext.Block || info.Class == sqltext.Unknown
	for _, text := range o.Args {
		a, err := generator(text)
		if err != nil {
			return s, err
		}
		s.args = append(s.args, a)
	}
	return s, nil
}

// plainRead tells that a statement can't change anything.
func (s *statement) plainRead() bool {
	info := sqltext.Analyze(s.sql)
	return info.PlainRead
}

// braces is a generator: {int 1..1000}.
var braces = regexp.MustCompile(`^\{(\w+)(?: +(.+?))?\}$`)

// generatorForms says how arguments of own statements are written.
const generatorForms = `{int LOW..HIGH} a random integer, {seq FIRST} one after the other, {text LENGTH} random
letters, {uuid}, {now}; anything else is a constant, written as for pico route`

// generator reads one argument of an own statement.
func generator(text string) (argument, error) {
	m := braces.FindStringSubmatch(text)
	if m == nil {
		v, err := parseArg(text)
		return func(*rand.Rand) any { return v }, err
	}
	bad := fmt.Errorf("argument %q: want %s", text, strings.ReplaceAll(generatorForms, "\n", " "))
	switch m[1] {
	case "int":
		low, high, ok := strings.Cut(m[2], "..")
		from, err1 := strconv.ParseInt(low, 10, 64)
		to, err2 := strconv.ParseInt(high, 10, 64)
		if !ok || err1 != nil || err2 != nil || to < from || to-from < 0 || to-from+1 <= 0 {
			return nil, bad
		}
		return func(r *rand.Rand) any { return from + r.Int64N(to-from+1) }, nil
	case "seq":
		first, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			return nil, bad
		}
		next := new(atomic.Int64)
		next.Store(first - 1)
		return func(*rand.Rand) any { return next.Add(1) }, nil
	case "text":
		n, err := strconv.Atoi(m[2])
		if err != nil || n < 0 || n > 1<<20 {
			return nil, bad
		}
		return func(r *rand.Rand) any { return randomText(r, n) }, nil
	case "uuid":
		return func(r *rand.Rand) any {
			var u uuid.UUID
			for i := range u {
				u[i] = byte(r.Uint32())
			}
			u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80 // version 4
			return u
		}, nil
	case "now":
		return func(*rand.Rand) any { return time.Now().UTC() }, nil
	}
	return nil, bad
}

func randomText(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(r.Uint32N(26))
	}
	return string(b)
}

// arguments makes the arguments of one execution.
func (s *statement) arguments(r *rand.Rand) []any {
	args := make([]any, len(s.args))
	for i, a := range s.args {
		args[i] = a(r)
	}
	return args
}

// choice picks statements by weight.
type choice struct {
	list  []statement
	total int
}

func newChoice(list []statement) *choice {
	c := &choice{list: list}
	for i := range list {
		c.total += list[i].weight
	}
	return c
}

func (c *choice) pick(r *rand.Rand) *statement {
	n := r.IntN(c.total)
	for i := range c.list {
		if n -= c.list[i].weight; n < 0 {
			return &c.list[i]
		}
	}
	return &c.list[len(c.list)-1]
}
