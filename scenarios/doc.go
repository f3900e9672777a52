// Package scenarios holds tests of the driver as a program sees it: database/sql above, a simulated cluster of
// picotest below, nothing of the driver's inside between. Each begins with a comment that says what it shows, after
// the ids under which it is known, if any; README.md is made of these comments.
package scenarios
