package sqltext

// Chains are the longest runs in a text of what a Picodata server reads in exponential time.
type Chains struct {
	Concat     int // || in a row within one expression: one less than the operands
	Arithmetic int // + - * / % in a row
	Depth      int // parentheses inside each other
}

// ChainsOf measures a text in one pass. A text that can't be read to its end is measured up to there.
func ChainsOf(sql string) Chains {
	var c Chains
	if len(sql) > maxText {
		return c
	}
	type level struct{ concat, arithmetic int }
	stack := []level{{}}
	l := lexer{s: sql}
	for {
		t := l.next()
		at := &stack[len(stack)-1]
		switch t.kind {
		case end, bad:
			return c
		case word:
			if t.key.reserved() {
				*at = level{}
			}
		case op:
			switch text := sql[t.start:t.end]; text {
			case "(":
				stack = append(stack, level{})
				c.Depth = max(c.Depth, len(stack)-1)
			case ")":
				if len(stack) > 1 {
					stack = stack[:len(stack)-1]
				}
			case "||":
				at.concat++
				c.Concat = max(c.Concat, at.concat)
			case "+", "-", "*", "/", "%":
				at.arithmetic++
				c.Arithmetic = max(c.Arithmetic, at.arithmetic)
			case ".", "::", "[", "]":
			default:
				*at = level{}
			}
		}
	}
}
