package main

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed accepted.txt
var acceptedText string

// readAccepted reads pairs of lines, a mutant as String says it and, indented, why nothing could notice it. Lines that begin
// with # and empty ones are for people.
func readAccepted(text string) (map[string]string, error) {
	reasons := make(map[string]string)
	last := ""
	for i, line := range strings.Split(text, "\n") {
		words := strings.TrimSpace(line)
		switch {
		case words == "" || strings.HasPrefix(line, "#"):
		case line != strings.TrimLeft(line, " \t"):
			if last == "" {
				return nil, fmt.Errorf("accepted.txt:%d: a reason without a mutant", i+1)
			}
			reasons[last] = strings.TrimSpace(reasons[last] + " " + words)
		default:
			if last != "" && reasons[last] == "" {
				return nil, fmt.Errorf("accepted.txt:%d: the mutant before has no reason", i+1)
			}
			last = words
			reasons[last] = ""
		}
	}
	if last != "" && reasons[last] == "" {
		return nil, fmt.Errorf("accepted.txt: %q has no reason", last)
	}
	return reasons, nil
}
