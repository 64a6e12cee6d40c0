// Package jsonhttp has servers of the examples ask each other by HTTP and JSON.
package jsonhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ErrRefused is a proof that a request was not performed.
var ErrRefused = errors.New("refused")

// Post sends a question once: the library repeats no POST. The answer is decoded into reply, if there is one.
func Post(client *http.Client, url string, question, reply any) error {
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	resp, err := client.Post(url, "application/json", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusConflict:
		return fmt.Errorf("%w: %s", ErrRefused, bytes.TrimSpace(text))
	case resp.StatusCode >= 300:
		return fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(text))
	case len(text) == 0:
		return nil
	}
	return json.Unmarshal(text, reply)
}
