package engine

// DO blocks: analysis, one bucket, atomic run. (Being written by the author of package grammar, 01:20 UTC; it replaces the stub in
// block.go.)
