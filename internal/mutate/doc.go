// Mutate puts small faults into the code of this repository, one at a time, and tells which of them no test notices.
//
//	go run ./internal/mutate ./balancer ./options        # every mutant of two packages
//	go run ./internal/mutate -sample 40 -seed 7 ./...    # forty of each package that is listed in targets.go
//	go run ./internal/mutate -list ./balancer            # what there is, without running anything
//
// A mutant is compiled over the file that it changes (go build -overlay), so nothing is copied and nothing of the tree is
// touched. It is tried against the short tests of its package, and if these let it pass, against the other tests that
// targets.go names. Statements that no test reaches are survivors without being tried. A mutant that changes nothing
// that could be seen belongs into accepted.txt, with the reason. The run fails if in a package fewer than -goal percent
// are caught. Nightly-sized: some seconds for each mutant, a package at a time.
//
// Gremlins (github.com/go-gremlins/gremlins) mutates operators only: it drops no call, mistakes no field, knows no tests of
// other packages and no accepted mutants, and copies the module for each worker.
package main
