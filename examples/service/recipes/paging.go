package recipes

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Messages is the table of the second recipe: the rows of a chat lie together, in the order of their ids.
const Messages = `CREATE TABLE messages (chat INTEGER NOT NULL, id INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (chat, id)) DISTRIBUTED BY (chat)`

// Message is one of its rows.
type Message struct {
	ID   int64
	Text string
}

// Page returns the messages of a chat after an id, oldest first, at most limit. The last one's id asks for the next page. There is no OFFSET, and LIMIT
// takes no parameter.
func Page(ctx context.Context, db *sql.DB, chat, after int64, limit uint) (list []Message, err error) {
	rows, err := db.QueryContext(ctx, fmt.Sprintf(`SELECT id, text FROM messages WHERE chat = $1 AND id > $2 ORDER BY id LIMIT %d`, limit), chat, after)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var m Message
		if err := rows.Scan(&m.ID, &m.Text); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, rows.Err()
}
