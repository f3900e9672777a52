package main

// target is a package whose mutants are tried, with tests beside its own that know it: arguments of go test.
type target struct {
	pattern string
	others  []string
}

// targets is what ./... stands for.
var targets = []target{
	{pattern: "./balancer"},
	{pattern: "./options"},
	{pattern: "./internal/sqltext"},
	{pattern: "./internal/bucket"},
	{pattern: "./internal/route"},
	{pattern: "./metadata"},
	{pattern: "./internal/mirror", others: []string{"-run Mirror ./scenarios"}},
	{pattern: "./internal/wire", others: []string{"-run Idle|Surface|Failure|Lost|Scan|Prep|Sync|Server ./scenarios"}},
	{pattern: "./internal/pool", others: []string{"-run Overflow|Queue|Weights|Cap|Refused|Deadlock|Skew ./scenarios"}},
	{pattern: ".", others: []string{"./scenarios"}},
}
