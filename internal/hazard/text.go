package hazard

import (
	"fmt"

	"github.com/picodata/go-picodata/internal/sqltext"
)

// MaxNesting is how deep parentheses may stand inside each other where texts are checked: a server crashed at 60.
const MaxNesting = 40

// Slow are the numbers of operators in a row from which a server was seen to stop: 7 of ||, which is 8 operands, or 16 of arithmetic.
const (
	SlowConcat     = 7
	SlowArithmetic = 16
)

// TextFault says why a text should not be sent, "" if it may. most is the number of operators in a row that is still allowed.
func TextFault(sql string, most int) string {
	c := sqltext.ChainsOf(sql)
	if n := max(c.Concat, c.Arithmetic); n > most {
		return fmt.Sprintf("%d operators in a row, where %d are allowed: the time in which the server reads them doubles with each, and the whole cluster waits; compute the value in the program, or split the statement", n, most)
	}
	if c.Depth > MaxNesting {
		return fmt.Sprintf("parentheses nested %d deep: the server crashes at 60", c.Depth)
	}
	return ""
}

// SlowText says what in a text servers were seen to stop at or to spoil, "" if nothing: operators in a row, deep parentheses, and UUIDs that
// they can't read again.
func SlowText(sql string) string {
	c := sqltext.ChainsOf(sql)
	switch {
	case c.Concat >= SlowConcat:
		return fmt.Sprintf("%d operands of || in a row: from 8 on the whole cluster stops for seconds to minutes, twice as long for each more", c.Concat+1)
	case c.Arithmetic >= SlowArithmetic:
		return fmt.Sprintf("%d arithmetic operators in a row: from 16 on the whole cluster stops for seconds to minutes, twice as long for each more", c.Arithmetic)
	case c.Depth > MaxNesting:
		return fmt.Sprintf("parentheses nested %d deep: the server crashes at 60", c.Depth)
	}
	return ""
}

// CheckText is TextFault as an error.
func CheckText(sql string, most int) error {
	if why := TextFault(sql, most); why != "" {
		return &Error{Kind: Text, Why: why, Setting: "max_chained_operators=0"}
	}
	return nil
}
