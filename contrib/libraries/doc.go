// Package libraries holds a complete program for every library that the documents show with Picodata. Each folder is
// one program; its test runs it on a simulated cluster, and the test here holds the pages under docs to the files.
package libraries
