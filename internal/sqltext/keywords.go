package sqltext

// keyword tells the words apart that the reader knows. notKeyword is any other word.
type keyword uint8

const (
	notKeyword keyword = iota

	// Words that can't be an operand: reserved in Picodata's grammar.
	kwAll
	kwAnd
	kwArray
	kwAs
	kwAsc
	kwBegin
	kwBetween
	kwBy
	kwCase
	kwCast
	kwDesc
	kwDistinct
	kwElse
	kwExcept
	kwExists
	kwFilter
	kwFrom
	kwGroup
	kwHaving
	kwIn
	kwInner
	kwInto
	kwIs
	kwJoin
	kwLeft
	kwLimit
	kwNot
	kwOn
	kwOption
	kwOr
	kwOrder
	kwOuter
	kwOver
	kwPrimary
	kwSelect
	kwSet
	kwSimilar
	kwSubstring
	kwTable
	kwThen
	kwTo
	kwUnion
	kwUsing
	kwValues
	kwWhen
	kwWhere
	kwWindow
	kwWith

	lastReserved // what follows may be a name or an operand

	kwAlter
	kwAnalyze
	kwAudit
	kwBackup
	kwCall
	kwCommit
	kwConflict
	kwCreate
	kwCurrentDate
	kwCurrentTime
	kwCurrentTimestamp
	kwDeallocate
	kwDelete
	kwDo
	kwDrop
	kwEnd
	kwEscape
	kwExplain
	kwFalse
	kwFor
	kwGrant
	kwIlike
	kwIndexed
	kwInsert
	kwIntersect
	kwLike
	kwLocalTime
	kwLocalTimestamp
	kwMerge
	kwNull
	kwOffset
	kwPublic
	kwReturning
	kwRevoke
	kwRollback
	kwRow
	kwTrue
	kwTruncate
	kwUpdate
)

// reserved: the word can't be a name, and no operand ends with it.
func (k keyword) reserved() bool { return k > notKeyword && k < lastReserved }

// longestKeyword is the length of "current_timestamp".
const longestKeyword = 17

// keywordOf looks a word up, in any case, without allocating.
func keywordOf(w string) keyword {
	if len(w) < 2 || len(w) > longestKeyword {
		return notKeyword
	}
	var buf [longestKeyword]byte
	for i := 0; i < len(w); i++ {
		c := w[i]
		if c-'A' < 26 {
			c |= 0x20
		}
		buf[i] = c
	}
	switch string(buf[:len(w)]) {
	case "all":
		return kwAll
	case "alter":
		return kwAlter
	case "analyze", "analyse":
		return kwAnalyze
	case "and":
		return kwAnd
	case "array":
		return kwArray
	case "as":
		return kwAs
	case "asc":
		return kwAsc
	case "audit":
		return kwAudit
	case "backup":
		return kwBackup
	case "begin":
		return kwBegin
	case "between":
		return kwBetween
	case "by":
		return kwBy
	case "call":
		return kwCall
	case "case":
		return kwCase
	case "cast":
		return kwCast
	case "commit":
		return kwCommit
	case "conflict":
		return kwConflict
	case "create":
		return kwCreate
	case "current_date":
		return kwCurrentDate
	case "current_time":
		return kwCurrentTime
	case "current_timestamp":
		return kwCurrentTimestamp
	case "deallocate":
		return kwDeallocate
	case "delete":
		return kwDelete
	case "desc":
		return kwDesc
	case "distinct":
		return kwDistinct
	case "do":
		return kwDo
	case "drop":
		return kwDrop
	case "else":
		return kwElse
	case "end":
		return kwEnd
	case "escape":
		return kwEscape
	case "except":
		return kwExcept
	case "exists":
		return kwExists
	case "explain":
		return kwExplain
	case "false":
		return kwFalse
	case "filter":
		return kwFilter
	case "for":
		return kwFor
	case "from":
		return kwFrom
	case "grant":
		return kwGrant
	case "group":
		return kwGroup
	case "having":
		return kwHaving
	case "ilike":
		return kwIlike
	case "in":
		return kwIn
	case "indexed":
		return kwIndexed
	case "inner":
		return kwInner
	case "insert":
		return kwInsert
	case "intersect":
		return kwIntersect
	case "into":
		return kwInto
	case "is":
		return kwIs
	case "join":
		return kwJoin
	case "left":
		return kwLeft
	case "like":
		return kwLike
	case "limit":
		return kwLimit
	case "localtime":
		return kwLocalTime
	case "localtimestamp":
		return kwLocalTimestamp
	case "merge":
		return kwMerge
	case "not":
		return kwNot
	case "null":
		return kwNull
	case "offset":
		return kwOffset
	case "on":
		return kwOn
	case "option":
		return kwOption
	case "or":
		return kwOr
	case "order":
		return kwOrder
	case "outer":
		return kwOuter
	case "over":
		return kwOver
	case "primary":
		return kwPrimary
	case "public":
		return kwPublic
	case "returning":
		return kwReturning
	case "revoke":
		return kwRevoke
	case "rollback":
		return kwRollback
	case "row":
		return kwRow
	case "select":
		return kwSelect
	case "set":
		return kwSet
	case "similar":
		return kwSimilar
	case "substring":
		return kwSubstring
	case "table":
		return kwTable
	case "then":
		return kwThen
	case "to":
		return kwTo
	case "true":
		return kwTrue
	case "truncate":
		return kwTruncate
	case "union":
		return kwUnion
	case "update":
		return kwUpdate
	case "using":
		return kwUsing
	case "values":
		return kwValues
	case "when":
		return kwWhen
	case "where":
		return kwWhere
	case "window":
		return kwWindow
	case "with":
		return kwWith
	}
	return notKeyword
}
