package contract

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// SQL implements Database with a table of an SQL server that has two columns, k (the primary key) and v. The server
// must compare both byte by byte: bytea in PostgreSQL, VARBINARY in MySQL.
type SQL struct {
	DB    *sql.DB
	Table string
	// Dollar writes placeholders as $1, as PostgreSQL does, instead of ?.
	Dollar bool
	// Levels maps levels to those that the server offers instead: MySQL has no sql.LevelSnapshot, and PostgreSQL calls
	// it sql.LevelRepeatableRead.
	Levels map[sql.IsolationLevel]sql.IsolationLevel
}

// Begin implements Database. Each transaction uses its own connection.
func (s *SQL) Begin(level sql.IsolationLevel) (Tx, error) {
	if other, ok := s.Levels[level]; ok {
		level = other
	}
	tx, err := s.DB.BeginTx(context.Background(), &sql.TxOptions{Isolation: level})
	if err != nil {
		return nil, err
	}
	return &sqlTx{s, tx}, nil
}

type sqlTx struct {
	*SQL
	tx *sql.Tx
}

// text writes a statement for the server.
func (s *SQL) text(statement string) string {
	statement = strings.ReplaceAll(statement, "TABLE", s.Table)
	if s.Dollar {
		return statement
	}
	return strings.NewReplacer("$1", "?", "$2", "?").Replace(statement)
}

func (t *sqlTx) Get(key string) (string, bool, error) {
	var value []byte
	err := t.tx.QueryRow(t.text("SELECT v FROM TABLE WHERE k = $1"), []byte(key)).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	return string(value), err == nil, err
}

func (t *sqlTx) Keys(prefix string) (list []string, err error) {
	rows, err := t.tx.Query(t.text("SELECT k FROM TABLE WHERE k >= $1 ORDER BY k"), []byte(prefix))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key []byte
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		if strings.HasPrefix(string(key), prefix) {
			list = append(list, string(key))
		}
	}
	return list, rows.Err()
}

func (t *sqlTx) Put(key, value string) error {
	if _, found, err := t.Get(key); err != nil {
		return err
	} else if found {
		_, err := t.tx.Exec(t.text("UPDATE TABLE SET v = $1 WHERE k = $2"), []byte(value), []byte(key))
		return err
	}
	_, err := t.tx.Exec(t.text("INSERT INTO TABLE (k, v) VALUES ($1, $2)"), []byte(key), []byte(value))
	return err
}

func (t *sqlTx) Delete(key string) error {
	_, err := t.tx.Exec(t.text("DELETE FROM TABLE WHERE k = $1"), []byte(key))
	return err
}

func (t *sqlTx) Commit() error   { return t.tx.Commit() }
func (t *sqlTx) Rollback() error { return t.tx.Rollback() }
