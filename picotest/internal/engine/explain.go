package engine

// EXPLAIN's texts: the logical plan of 25.x and 26.x, buckets, forward analysis. (Being written by the author of package grammar:
// entry point func (a *analyzer) explain(…) []string over the analysed statement.)
