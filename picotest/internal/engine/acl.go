package engine

// Users, roles and privileges: what CREATE USER, GRANT and the like do to the catalog. (Being written by the author of package
// grammar: entry point func (c *catalog) acl(s grammar.Statement, by *user) (tag string, err *Error).)
