package main

import "github.com/spf13/cobra"

// newRoot is the command tree.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "pico",
		Short:         "The tool around the Picodata driver for Go",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newSim(), newRoute())
	return root
}
