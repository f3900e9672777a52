package engine

// overload is a signature of an operator or function.
type overload struct {
	args   []sqlType
	result sqlType
}

func sig(result sqlType, args ...sqlType) overload { return overload{args, result} }

func numericOps(withInt bool) []overload {
	var out []overload
	if withInt {
		out = append(out, sig(typeInt, typeInt, typeInt))
	}
	return append(out, sig(typeDouble, typeDouble, typeDouble), sig(typeNumeric, typeNumeric, typeNumeric))
}

func concatOps() []overload {
	out := []overload{sig(typeText, typeText, typeText)}
	for _, t := range []sqlType{typeInt, typeDouble, typeNumeric, typeBool, typeDT, typeUUID, typeMap} {
		out = append(out, sig(typeText, t, typeText), sig(typeText, typeText, t))
	}
	return out
}

// operators are the signatures of operators other than comparisons, in the order in which ties are decided.
var operators = map[string][]overload{
	"+": numericOps(true), "-": numericOps(true), "*": numericOps(true), "/": numericOps(true),
	"%":   {sig(typeInt, typeInt, typeInt)},
	"or":  {sig(typeBool, typeBool, typeBool)},
	"and": {sig(typeBool, typeBool, typeBool)},
	"||":  concatOps(),
}

// function is a scalar function or aggregate.
type function struct {
	overloads []overload
	since     [2]int
	aggregate bool
	window    bool // may be called with OVER
	onlyOver  bool // only with OVER
	volatile  bool // refused in filters
}

func same(types ...sqlType) []overload {
	out := make([]overload, len(types))
	for i, t := range types {
		out[i] = sig(t, t)
	}
	return out
}

func counts(types ...sqlType) []overload {
	out := make([]overload, len(types))
	for i, t := range types {
		out[i] = sig(typeInt, t)
	}
	return out
}

var aboutInstance = function{overloads: []overload{sig(typeText, typeText)}, since: [2]int{25, 5}, volatile: true}

var functions = map[string]function{
	"lower":             {overloads: same(typeText)},
	"upper":             {overloads: same(typeText)},
	"abs":               {overloads: same(typeInt, typeDouble, typeNumeric)},
	"substr":            {overloads: []overload{sig(typeText, typeText, typeInt), sig(typeText, typeText, typeInt, typeInt)}},
	"substring":         {overloads: []overload{sig(typeText, typeText, typeInt), sig(typeText, typeText, typeInt, typeInt)}},
	"trim":              {overloads: []overload{sig(typeText, typeText), sig(typeText, typeText, typeText)}},
	"to_date":           {overloads: []overload{sig(typeDT, typeText, typeText)}},
	"to_char":           {overloads: []overload{sig(typeText, typeDT, typeText)}},
	"coalesce":          {},
	"json_extract_path": {since: [2]int{25, 5}},

	"count":        {aggregate: true, window: true, overloads: counts(typeInt, typeDouble, typeNumeric, typeText, typeBool, typeDT)},
	"max":          {aggregate: true, window: true, overloads: same(typeText, typeInt, typeDouble, typeNumeric, typeBool, typeDT)},
	"min":          {aggregate: true, window: true, overloads: same(typeText, typeInt, typeDouble, typeNumeric, typeBool, typeDT)},
	"sum":          {aggregate: true, window: true, overloads: []overload{sig(typeDouble, typeDouble), sig(typeNumeric, typeInt), sig(typeNumeric, typeNumeric)}},
	"avg":          {aggregate: true, window: true, overloads: []overload{sig(typeNumeric, typeInt), sig(typeDouble, typeDouble), sig(typeNumeric, typeNumeric)}},
	"total":        {aggregate: true, window: true, overloads: []overload{sig(typeDouble, typeInt), sig(typeDouble, typeDouble), sig(typeDouble, typeNumeric)}},
	"group_concat": {aggregate: true, window: true, overloads: []overload{sig(typeText, typeText), sig(typeText, typeText, typeText)}},
	"string_agg":   {aggregate: true, window: true, overloads: []overload{sig(typeText, typeText), sig(typeText, typeText, typeText)}},
	"row_number":   {window: true, onlyOver: true, overloads: []overload{sig(typeInt)}},
	"last_value":   {window: true, onlyOver: true, overloads: same(typeInt, typeDouble, typeNumeric, typeText, typeBool, typeDT)},

	"version":                     {overloads: []overload{sig(typeText)}, since: [2]int{25, 3}},
	"instance_uuid":               {overloads: []overload{sig(typeText)}, since: [2]int{25, 2}, volatile: true},
	"pico_instance_uuid":          {overloads: []overload{sig(typeText)}, since: [2]int{25, 3}, volatile: true},
	"pico_raft_leader_id":         {overloads: []overload{sig(typeInt)}, since: [2]int{25, 3}, volatile: true},
	"pico_raft_leader_uuid":       {overloads: []overload{sig(typeText)}, since: [2]int{25, 3}, volatile: true},
	"pico_instance_name":          aboutInstance,
	"pico_replicaset_name":        aboutInstance,
	"pico_tier_name":              aboutInstance,
	"pico_instance_dir":           aboutInstance,
	"pico_config_file_path":       aboutInstance,
	"pico_instance_health_status": {overloads: []overload{sig(typeMap, typeText)}, since: [2]int{26, 2}, volatile: true},
	"_pico_bucket":                {overloads: []overload{sig(typeArrAny, typeText)}, since: [2]int{25, 5}, volatile: true},
}

// functionNamed finds a function that a version has.
func functionNamed(name string, v Version) (function, bool) {
	f, ok := functions[name]
	return f, ok && v.AtLeast(f.since[0], f.since[1])
}
