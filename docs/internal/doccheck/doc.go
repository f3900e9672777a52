// Package doccheck holds the documents to what they say. It consists of tests alone:
//
//   - links_test.go: every relative link and every heading that one points to exists; each page is in an index.
//   - architecture_test.go: architecture.md lists the files of the root, what each package imports, and what calls up.
//   - code_test.go: every Go code block compiles; one after a comment <!-- file: PATH --> is a part of that file.
//   - dsn_test.go: every DSN that is shown can be read.
//   - licences_test.go: licences.md lists what is linked.
//   - promises_test.go: what a page promises names the test that holds it.
//   - twins_test.go: a page and its Russian twin have the same headings and the same code.
//
// A Go code block is one of three things. With a package clause it is a program or a file and is checked as it is.
// If it declares something at its top level (a function, a type), it is checked together with the other blocks of
// its page, so that a later one may use what an earlier one declares. Anything else is the inside of
// a function in which prelude's names exist. The two latter kinds need no imports.
// The packages are found through go.work, for some blocks use modules of contrib.
package doccheck
