//go:build !unix

package main

// outliveTheTerminal has nothing to do where there is no job control.
func outliveTheTerminal() {}
