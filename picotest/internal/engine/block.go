package engine

import "github.com/picodata/go-picodata/picotest/internal/grammar"

func (s *Stmt) buildBlock(n *grammar.Block) *Error { return refuse("DO is not simulated yet") }
